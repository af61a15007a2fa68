//! A simulated rank: it calls MPI, records its calls, loses some, ships packets, and ends.

use crate::agenda::{MS, Time};
use fastrand::Rng;
use invivo_proto::ids::{CommLocal, CommandId, Rank, RegionId};
use invivo_proto::record::{Call, Facts, Kind};

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It runs.
    Running,
    /// It went through `MPI_Finalize`.
    Drained,
    /// It ended otherwise.
    Ended,
}

/// What a rank has just done.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// It entered or left a call, or was held.
    Nothing,
    /// It sent its packet.
    Shipped(Vec<Call>),
    /// It is done; its packet is left in shared memory.
    Finished,
}

/// The rank and its memory.
#[derive(Debug)]
pub struct SimRank {
    /// Its number.
    pub rank: Rank,
    rng: Rng,
    ranks: u32,
    calls_left: u32,
    crashes: bool,
    inside: Option<(Facts, Time)>,
    /// How far it has come.
    pub phase: Phase,
    /// Calls entered, counted apart from everything else.
    pub entered: u64,
    /// Records dropped, by reason.
    pub dropped: [u64; 3],
    /// Calls left and not shipped.
    pub packet: Vec<Call>,
    /// It does nothing before this time.
    pub held_until: Time,
    /// Commands done on it, in order.
    pub done: Vec<CommandId>,
}

impl SimRank {
    /// A rank of `ranks` that will make `calls` calls.
    pub fn new(mut rng: Rng, rank: Rank, ranks: u32, calls: u32) -> SimRank {
        SimRank {
            rank,
            ranks,
            calls_left: calls,
            crashes: rng.u32(..16) == 0,
            rng,
            inside: None,
            phase: Phase::Running,
            entered: 0,
            dropped: [0; 3],
            packet: Vec::new(),
            held_until: 0,
            done: Vec::new(),
        }
    }

    /// Calls entered and not left.
    pub fn open(&self) -> u64 {
        u64::from(self.inside.is_some())
    }

    /// Does the next thing; what that was, and when to go on.
    pub fn act(&mut self, now: Time) -> (Deed, Time) {
        if now < self.held_until {
            return (Deed::Nothing, self.held_until);
        }
        let next = now + self.rng.u64(..40 * MS);
        let deed = match self.inside {
            Some(_) if self.crashes && self.calls_left == 0 => self.finish(Phase::Ended),
            Some((facts, since)) => {
                self.inside = None;
                self.record(Call {
                    facts,
                    end: now,
                    duration: now - since,
                    ordinal: 0,
                    request: 0,
                });
                Deed::Nothing
            }
            None if self.rng.u32(..4) == 0 && !self.packet.is_empty() => {
                Deed::Shipped(std::mem::take(&mut self.packet))
            }
            None if self.calls_left == 0 => self.finish(Phase::Drained),
            None => {
                self.calls_left -= 1;
                self.entered += 1;
                self.inside = Some((self.facts(), now));
                Deed::Nothing
            }
        };
        (deed, next)
    }

    fn finish(&mut self, phase: Phase) -> Deed {
        self.phase = phase;
        Deed::Finished
    }

    /// One call in ten finds no room.
    fn record(&mut self, call: Call) {
        if self.rng.u32(..10) == 0 {
            self.dropped[self.rng.usize(..3)] += 1;
        } else {
            self.packet.push(call);
        }
    }

    fn facts(&mut self) -> Facts {
        let kind = [Kind::Plain, Kind::Send, Kind::Recv, Kind::Collective][self.rng.usize(..4)];
        let message = matches!(kind, Kind::Send | Kind::Recv);
        let bytes = self.rng.u64(..1 << 20);
        Facts {
            kind,
            region: RegionId(self.rng.u16(1..=5)),
            comm: CommLocal(0),
            peer: if message {
                self.rng.u32(..self.ranks) as i32
            } else {
                invivo_proto::mpi::peer::NONE
            },
            tag: if message { self.rng.i32(..4) } else { 0 },
            bytes_out: if matches!(kind, Kind::Send | Kind::Collective) {
                bytes
            } else {
                0
            },
            bytes_in: if matches!(kind, Kind::Recv | Kind::Collective) {
                bytes
            } else {
                0
            },
        }
    }
}
