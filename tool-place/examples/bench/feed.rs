//! Packets of all locations in the order in which they come: each when it is full.

use crate::streams::{Packets, Recorded};
use anyhow::Result;
use invivo_proto::packet::HEADER_BYTES;

/// A packet as it comes over MPI.
#[derive(Default)]
pub struct Message {
    /// Whose it is.
    pub location: usize,
    /// Header and payload.
    pub bytes: Vec<u8>,
    /// Calls in it.
    pub calls: u64,
}

/// The packets, in their order.
pub struct Feed {
    locations: Vec<Packets>,
    /// Location and packet, in the order of one turn.
    order: Vec<(usize, usize)>,
    period: u64,
    turns: u64,
    /// Packets that have gone out.
    gone: u64,
}

impl Feed {
    /// The recorded run, so many times, on so many locations.
    pub fn new(recorded: &Recorded, locations: u32, turns: u64) -> Result<Feed> {
        let mut all = Vec::new();
        for location in 0..locations {
            let (calls, peer) = recorded.source(location, locations);
            // Ranks that have nothing to do with each other do not fill their packets at the same
            // time.
            let later = 1_000_003 * u64::from(location / crate::streams::RANKS as u32);
            all.push(Packets::new(location, calls, peer, later)?);
        }
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (location, packets) in all.iter().enumerate() {
            order.extend((0..packets.packets.len()).map(|packet| (location, packet)));
        }
        order.sort_by_key(|&(location, packet)| all[location].packets[packet].header.last_time);
        Ok(Feed {
            locations: all,
            order,
            period: recorded.period,
            turns,
            gone: 0,
        })
    }

    fn all(&self) -> u64 {
        self.turns * self.order.len() as u64
    }

    /// Whether half of all packets have gone out.
    pub fn is_past_half(&self) -> bool {
        self.gone > self.all() / 2
    }

    /// Payload bytes of all turns.
    pub fn payload_bytes(&self) -> u64 {
        let packets = self.locations.iter().flat_map(|location| &location.packets);
        self.turns
            * packets
                .map(|packet| packet.payload.len() as u64)
                .sum::<u64>()
    }

    /// Puts the next packets into `out`, so many at most; false when there are none left.
    pub fn next_batch(&mut self, count: usize, out: &mut Vec<Message>) -> bool {
        let count = (count as u64).min(self.all() - self.gone) as usize;
        out.resize_with(count, Message::default);
        for message in out {
            let length = self.order.len() as u64;
            let (turn, at) = (self.gone / length, self.gone % length);
            self.fill(turn, self.order[at as usize], message);
            self.gone += 1;
        }
        count != 0
    }

    /// A later turn's packet has the same payload: what is in it counts from what its header says.
    fn fill(&self, turn: u64, (location, index): (usize, usize), message: &mut Message) {
        let of = &self.locations[location];
        let packet = &of.packets[index];
        let mut header = packet.header;
        header.sequence += turn * of.packets.len() as u64;
        header.first_time += turn * self.period;
        header.last_time += turn * self.period;
        header.next_request += turn * of.requests;
        header.losses.entered += turn * of.calls;
        let mut head = [0; HEADER_BYTES];
        header.encode(&packet.payload, &mut head);
        message.location = location;
        message.calls = u64::from(header.records);
        message.bytes.clear();
        message.bytes.extend_from_slice(&head);
        message.bytes.extend_from_slice(&packet.payload);
    }
}
