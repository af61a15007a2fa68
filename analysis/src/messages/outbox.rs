//! Collects sends whose receivers report to another place, until they are sent there.

use super::endpoint::{Channel, Endpoint};
use super::marks::{Marks, Side};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use invivo_proto::control::peer::{ENDPOINTS_MAX, SendEndpoint};
use invivo_proto::ids::Rank;

/// Sends that wait for the way to another place: some 5 MB, as long as that takes when it is not
/// stuck. Further ones are given up.
pub const OUTBOX_MAX: usize = 1 << 16;

/// By place, in order.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    by_place: BTreeMap<u32, VecDeque<(Channel, Endpoint)>>,
    len: usize,
}

impl Outbox {
    /// Puts a send behind the others to that place; false when there is no room.
    #[inline]
    pub fn push(&mut self, place: u32, channel: Channel, endpoint: &Endpoint) -> bool {
        if self.len >= OUTBOX_MAX {
            return false;
        }
        self.len += 1;
        self.by_place
            .entry(place)
            .or_default()
            .push_back((channel, *endpoint));
        true
    }

    /// All of them, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.by_place
            .values_mut()
            .flatten()
            .map(|(_, endpoint)| endpoint)
    }

    /// Sends that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Takes messages' worth of sends out, as long as `credit` says that their place takes one
    /// more.
    pub fn take(&mut self, mut credit: impl FnMut(u32) -> bool) -> Vec<(u32, Vec<SendEndpoint>)> {
        let mut taken = Vec::new();
        for (&place, sends) in &mut self.by_place {
            while !sends.is_empty() && credit(place) {
                let batch: Vec<SendEndpoint> = sends
                    .drain(..sends.len().min(ENDPOINTS_MAX))
                    .map(close)
                    .collect();
                self.len -= batch.len();
                taken.push((place, batch));
            }
        }

        // Places without sends leave no empty queue behind, so the map stays as small as the
        // traffic.
        self.by_place.retain(|_, sends| !sends.is_empty());
        taken
    }
}

/// A send as it goes to another place.
fn close((channel, endpoint): (Channel, Endpoint)) -> SendEndpoint {
    SendEndpoint {
        destination: channel.destination,
        sender: Rank(endpoint.who),
        comm: channel.comm,
        source: channel.source,
        tag: channel.tag,
        bytes: endpoint.bytes,
        begin_ns: endpoint.begin_ns,
        end_ns: endpoint.end_ns,
        posted: endpoint.posted,
        epoch: endpoint.epoch,
        region: endpoint.region,
        site: endpoint.marks.site(),
        clipping: endpoint.marks.clipping(),
    }
}

/// The channel and the endpoint that a send came as, from a place whose clock is off by so much.
pub fn open(send: &SendEndpoint, error_ns: u32) -> (Channel, Endpoint) {
    let channel = Channel {
        destination: send.destination,
        comm: send.comm,
        source: send.source,
        tag: send.tag,
    };

    let endpoint = Endpoint {
        begin_ns: send.begin_ns,
        // The message comes from another process: an end before the begin must not underflow later.
        end_ns: send.end_ns.max(send.begin_ns),
        bytes: send.bytes,
        epoch: send.epoch,
        error_ns,
        who: send.sender.0,
        posted: send.posted,
        region: send.region,
        marks: Marks::new(Side::Send, send.site, send.clipping),
    };

    (channel, endpoint)
}
