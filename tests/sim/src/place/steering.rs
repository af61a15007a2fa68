//! Commands at a simulated place: cuts in job time, windows, gates.

use super::SimPlace;
use crate::agenda::Time;
use crate::history::Obeyed;
use crate::plant::Plant;
use crate::truth::{Cut, What};
use invivo_proto::control::tree::{Acks, Command, Verb};
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

impl SimPlace {
    /// Begins to do a command; what can be acknowledged already.
    pub fn obey(&mut self, now: Moment, command: &Command) -> Vec<Reply> {
        let times = if self.plant == Some(Plant::DoTwice) {
            2
        } else {
            1
        };

        for rank in &mut self.ranks {
            rank.obeyed.extend(std::iter::repeat_n(command.id, times));
        }
        let id = command.id;
        self.steering.commands += 1;
        let everybody = 0..self.ranks.len();
        match command.verb {
            Verb::Pause { lease_ns } => {
                self.close(everybody, now.local, lease_ns);
                vec![self.acted(id)]
            }
            Verb::Resume => {
                self.open();
                let released = self.holds_released(now.time);
                released.into_iter().chain([self.acted(id)]).collect()
            }
            Verb::Hold { lease_ns } => self.hold(now, id, lease_ns),
            // There are no buffers here: it is done as soon as it is heard.
            Verb::Strategy { .. } => vec![self.acted(id)],
            Verb::Shutdown => self.shut_down(now, id),
            Verb::Reset { at_ns } => self.await_cut(now, id, &[(Edge::Reset, at_ns)]),
            Verb::Record { on, epoch, at_ns } => {
                self.await_cut(now, id, &[(Edge::Record { on, epoch }, at_ns)])
            }
            Verb::Window {
                from_ns,
                to_ns,
                epoch,
            } => {
                if let Some(why) = self.busy() {
                    return vec![self.refused_all(id, &why)];
                }
                self.enter(epoch);
                self.steering.window = Some(Window {
                    command: id,
                    order: self.steering.commands,
                    obeyed: Obeyed::default(),
                });
                if !self.is_recording() {
                    self.switch(true, now.local);
                }
                self.await_cut(now, id, &[(Edge::From, from_ns), (Edge::To, to_ns)])
            }
        }
    }

    /// Recording is in this epoch from here on. Numbers grow in the order of commands, cuts may
    /// come in another.
    pub(super) fn enter(&mut self, epoch: u32) {
        self.steering.epoch = match self.plant {
            Some(Plant::OwnEpochs) => self.steering.epoch + u32::from(!self.is_recording()),
            _ => self.steering.epoch.max(epoch),
        };
    }

    pub(super) fn is_recording(&self) -> bool {
        let switch = self
            .steering
            .cuts
            .iter()
            .rev()
            .find(|cut| matches!(cut.what, What::On | What::Off));
        switch.is_none_or(|cut| cut.what == What::On)
    }

    /// Why no window or reset can be begun.
    pub(super) fn busy(&self) -> Option<String> {
        if self.steering.shut_down {
            return Some("the measurement was shut down".to_owned());
        }
        let window = self.steering.window.as_ref()?;
        Some(format!("command {} is recording a window", window.command))
    }

    pub(super) fn shut_down(&mut self, now: Moment, id: CommandId) -> Vec<Reply> {
        let mut replies = self.end_window(id);
        self.steering.shut_down = true;
        self.open();
        replies.extend(self.holds_released(now.time));
        if self.is_recording() {
            self.switch(false, now.local);
        }
        replies.extend(self.take_all(now, id, now.time));
        replies
    }
}
