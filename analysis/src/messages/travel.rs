//! Hands sends to the places of their receivers, and takes in those of other places.

use super::marks::Side;
use super::{Messages, Refused, outbox, short};
use alloc::vec::Vec;
use invivo_proto::control::VERSION;
use invivo_proto::control::peer::{ENDPOINTS_MAX, Endpoints};
use invivo_proto::ids::WorldRank;

impl Messages {
    /// Messages to other places, in order. `credit` is asked before each whether that place takes
    /// one more.
    pub fn take_batches(
        &mut self,
        from: WorldRank,
        credit: impl FnMut(u32) -> bool,
    ) -> Vec<(u32, Endpoints)> {
        let error_ns = self.clock_error_ns.saturating_add(self.reading_error_ns);
        let batches = self.outbox.take(credit).into_iter();
        batches
            .map(|(place, sends)| (place, Endpoints::new(from, error_ns, sends)))
            .collect()
    }

    /// Takes in what another place hands over.
    ///
    /// # Errors
    /// What of it was not used.
    pub fn arrive(&mut self, endpoints: &Endpoints) -> Result<(), Refused> {
        if endpoints.version != VERSION {
            return Err(Refused::Version(endpoints.version));
        }
        if endpoints.sends.len() > ENDPOINTS_MAX {
            return Err(Refused::Long(endpoints.sends.len()));
        }
        let sent_ns = endpoints.clock_error_ns;
        let error_ns = short(sent_ns.saturating_add(self.reading_error_ns));
        let mut foreign = 0;
        for send in &endpoints.sends {
            let is_one = send.sender.0 < self.job_ranks;
            if is_one && self.numbers.index(send.destination).is_some() {
                let (channel, endpoint) = outbox::open(send, error_ns);
                let queue = self.matcher.number(&channel);
                self.meet(queue, Side::Send, &endpoint);
            } else {
                foreign += 1;
            }
        }
        if foreign == 0 {
            Ok(())
        } else {
            Err(Refused::Foreign(foreign))
        }
    }

    /// How far times of this place may be off from those that another place tells by the same
    /// clock, in ns: each reads it by itself. Times of one place have no such error.
    pub fn set_reading_error(&mut self, error_ns: u64) {
        self.reading_error_ns = error_ns;
    }
}
