//! A simulated rank: it calls MPI, records its calls as the shim would, loses some, ships packets,
//! and ends. What it really did stands in a log of its own, which no tool process sees.

use crate::agenda::{MS, Time};
use crate::groups;
use fastrand::Rng;
use invivo_proto::ids::{CommLocal, CommandId, Rank, RegionId};
use invivo_proto::record::{Call, Facts, RecordKind};

/// The longest between two deeds of a rank: so slow that most of them still run when the last
/// command comes.
const PACE_NS_MAX: Time = 80 * MS;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the end of its `MPI_Init`.
    Starting,
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
    /// It entered or left a call.
    Nothing,
    /// It came to a closed gate; it goes on when the gate opens.
    Stood,
    /// It sent its packet.
    Shipped(Vec<Call>),
    /// It is done; its packet is left in shared memory.
    Finished,
}

/// What the place tells the rank through shared memory, in its host's time.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Calls are recorded.
    pub recording: bool,
    /// When that was switched on last.
    pub recording_since: u64,
    /// The gate is closed until then.
    pub gate_until: u64,
}

/// A call as it really was, in the host's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it was entered.
    pub begin: u64,
    /// When it was left.
    pub end: u64,
    /// The rank had no room for its record.
    pub dropped: bool,
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
    /// The call that it is in: its facts, when it was entered, and whether it was recorded then.
    inside: Option<(Facts, u64, bool)>,
    /// How far it has come.
    pub phase: Phase,
    /// Its side of the shared memory.
    pub control: Control,
    /// It stands at the gate, since then (simulated time).
    pub standing: Option<Time>,
    /// Calls entered while they were recorded, counted apart from everything else.
    pub entered: u64,
    /// Records dropped, by reason.
    pub dropped: [u64; 3],
    /// Calls left and not shipped; `ordinal` is the number in the log.
    pub packet: Vec<Call>,
    /// Packets sent.
    pub shipped: u64,
    /// All that it called and left.
    pub log: Vec<Done>,
    /// Commands done on it, in order.
    pub obeyed: Vec<CommandId>,
}

impl SimRank {
    /// A rank of `ranks` that will make `calls` calls.
    pub fn new(mut rng: Rng, rank: Rank, ranks: u32, calls: u32, control: Control) -> SimRank {
        SimRank {
            rank,
            ranks,
            calls_left: calls,
            // One rank in sixteen ends by a signal, as the ledger must balance then, too.
            crashes: rng.u32(..16) == 0,
            rng,
            inside: None,
            phase: Phase::Starting,
            control,
            standing: None,
            entered: 0,
            dropped: [0; 3],
            packet: Vec::new(),
            shipped: 0,
            log: Vec::new(),
            obeyed: Vec::new(),
        }
    }

    /// Calls entered and not left, of those that are recorded.
    pub fn open(&self) -> u64 {
        u64::from(matches!(self.inside, Some((.., true))))
    }

    /// Whether it is in a call that was entered before `local` and whose record there will be.
    pub fn straddles(&self, local: u64) -> bool {
        matches!(self.inside, Some((_, since, true)) if since < local)
    }

    /// Whether it is in a call.
    pub fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Whether it has called anything behind its `MPI_Init`.
    pub fn has_called(&self) -> bool {
        self.inside.is_some() || !self.log.is_empty()
    }

    /// Does the next thing at `now`, when its host's clock shows `local`; what that was, and when
    /// to go on.
    pub fn act(&mut self, now: Time, local: u64) -> (Deed, Time) {
        // MPI_Init ends where the gate is looked at: a held rank stands there.
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
        }

        // Looked at before each enter and leave, as the wrappers do.
        if local < self.control.gate_until {
            self.standing = Some(now);
            return (Deed::Stood, now);
        }

        let next = now + self.rng.u64(1..PACE_NS_MAX);
        let deed = match self.inside {
            // Dies inside a call: that call stays open in the ledger.
            Some(_) if self.crashes && self.calls_left == 0 => self.finish(Phase::Ended),
            Some((facts, since, recorded)) => {
                self.inside = None;
                self.leave(facts, since, local, recorded);
                Deed::Nothing
            }
            None if self.rng.u32(..4) == 0 && !self.packet.is_empty() => {
                self.shipped += 1;
                Deed::Shipped(std::mem::take(&mut self.packet))
            }
            None if self.calls_left == 0 => self.finish(Phase::Drained),
            None => {
                self.calls_left -= 1;
                self.entered += u64::from(self.control.recording);
                self.inside = Some((self.facts(), local, self.control.recording));
                Deed::Nothing
            }
        };

        (deed, next)
    }

    fn finish(&mut self, phase: Phase) -> Deed {
        self.phase = phase;
        Deed::Finished
    }

    /// A call entered while nothing was recorded begins where recording was switched on; one left
    /// while nothing is recorded any more is complete. One record in ten finds no room.
    fn leave(&mut self, facts: Facts, since: u64, local: u64, recorded: bool) {
        // A call entered before recording was switched on begins at the switch for the tool.
        let begin = if recorded {
            since
        } else {
            self.control.recording_since
        };

        let ordinal = self.log.len() as u64;
        let is_recorded = recorded || self.control.recording;
        let dropped = is_recorded && self.rng.u32(..10) == 0;
        self.log.push(Done {
            begin: since,
            end: local,
            dropped,
        });
        // Counted at the leave if it was not counted at the enter.
        self.entered += u64::from(is_recorded && !recorded);
        if dropped {
            // The third reason, a switch of recording, drops nothing any more.
            self.dropped[self.rng.usize(..2)] += 1;
        } else if is_recorded {
            self.packet.push(Call {
                facts,
                end: local,
                duration: local - begin,
                ordinal,
                request: 0,
            });
        }
    }

    fn facts(&mut self) -> Facts {
        let kind = [
            RecordKind::Plain,
            RecordKind::Send,
            RecordKind::Recv,
            RecordKind::Collective,
        ][self.rng.usize(..4)];
        let message = matches!(kind, RecordKind::Send | RecordKind::Recv);
        let bytes = self.rng.u64(..1 << 20);
        let comm = CommLocal([0, groups::OWN.0, groups::BEFORE.0][self.rng.usize(..3)]);
        let peers = if comm == CommLocal::WORLD {
            self.ranks
        } else {
            groups::size(self.ranks)
        };

        Facts {
            kind,
            region: RegionId(self.rng.u16(1..=5)),
            comm,
            peer: if message {
                self.rng.u32(..peers) as i32
            } else {
                invivo_proto::mpi::peer::NONE
            },
            tag: if message { self.rng.i32(..4) } else { 0 },
            bytes_out: if matches!(kind, RecordKind::Send | RecordKind::Collective) {
                bytes
            } else {
                0
            },
            bytes_in: if matches!(kind, RecordKind::Recv | RecordKind::Collective) {
                bytes
            } else {
                0
            },
            ..Facts::default()
        }
    }
}
