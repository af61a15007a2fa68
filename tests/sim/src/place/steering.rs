//! What a simulated place knows of its commands: cuts in job time, windows, holds.

use crate::agenda::Time;
use crate::history::Obeyed;
use crate::plant::Plant;
use crate::truth::{Cut, What};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::tree::Acks;
use invivo_proto::ids::CommandId;
use invivo_proto::record::Call;

/// A moment at a place.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Simulated time.
    pub time: Time,
    /// What the host's clock shows.
    pub local: u64,
    /// Job time as the place knows it.
    pub job_ns: u64,
    /// How far that may be off; `u64::MAX` where nothing is known.
    pub error_ns: u64,
}

/// The acknowledgement of a command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Of this command.
    pub command: CommandId,
    /// How it went, for the checker.
    pub obeyed: Obeyed,
    /// How it went, as the place says it.
    pub acks: Acks,
    /// How long that takes from now on.
    pub after: Time,
}

/// A cut in the future.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub command: CommandId,
    pub edge: Edge,
    pub at_ns: u64,
    pub arrived: Time,
    /// Commands that had come before.
    pub order: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Reset,
    Record { on: bool, epoch: u32 },
    Analyses { these: AnalysisSet, on: bool },
    From,
    To,
}

/// Everything that was on its way is waited for: how many packets of each rank.
#[derive(Clone, Debug)]
pub(super) struct Taking {
    pub command: CommandId,
    pub arrived: Time,
    pub packets: Vec<u64>,
}

/// A window, from its command to its acknowledgement.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub command: CommandId,
    pub order: usize,
    pub obeyed: Obeyed,
}

/// Ranks that have not come to their gate yet.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub command: CommandId,
    pub arrived: Time,
    pub awaited: Vec<usize>,
    pub obeyed: Obeyed,
}

/// What a place has been told to do.
#[derive(Debug, Default)]
pub struct Steering {
    pub(super) cuts: Vec<Cut>,
    pub(super) due: Vec<Due>,
    pub(super) window: Option<Window>,
    pub(super) taking: Vec<Taking>,
    pub(super) holds: Vec<Hold>,
    pub(super) shut_down: bool,
    /// Commands that have come.
    pub(super) commands: usize,
    /// Of recording, as the root counts.
    pub(super) epoch: u32,
}

impl Steering {
    pub(super) fn note(&mut self, what: What, at: u64) {
        self.cuts.push(Cut { what, at });
    }

    pub(super) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What of a record is fed to the analyses, and whether that is only a part; nothing where it
    /// was forgotten.
    pub(super) fn admit(&self, call: &Call, plant: Option<Plant>) -> Option<(Call, bool)> {
        let (mut begin, mut end) = (call.end - call.duration, call.end);
        // The rank lets a call begin at the switch if it was entered before: a part is missing
        // then.
        let switched_on = |cut: &Cut| cut.what == What::On && cut.at == begin;
        let mut clipped = self.cuts.iter().any(switched_on);
        for cut in &self.cuts {
            match cut.what {
                What::Forget if plant == Some(Plant::TakeOld) => {}
                What::Forget if end <= cut.at => return None,
                What::Forget if begin < cut.at => (begin, clipped) = (cut.at, true),
                What::Close if plant == Some(Plant::RunOver) => {}
                What::Close if begin < cut.at && cut.at < end => (end, clipped) = (cut.at, true),
                _ => {}
            }
        }

        let duration = end - begin;
        Some((
            Call {
                end,
                duration,
                ..*call
            },
            clipped,
        ))
    }
}
