//! Carries out the commands of recording at a simulated place: cuts in job time, windows, the end.

use super::SimPlace;
use super::steering::{Edge, Moment, Reply, Window};
use crate::history::Obeyed;
use crate::plant::Plant;
use crate::truth::What;
use invivo_proto::control::tree::{Command, Verb};
use invivo_proto::ids::CommandId;

impl SimPlace {
    /// Begins to do a command; what can be acknowledged already.
    pub fn obey(&mut self, now: Moment, command: &Command) -> Vec<Reply> {
        let times = if self.plant == Some(Plant::DoTwice) {
            2
        } else {
            1
        };

        for rank in &mut self.ranks {
            // The checker compares this with the order in which the root gave its commands.
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
            // There are no buffers and no regions here: it is done as soon as it is heard.
            Verb::Strategy { .. }
            | Verb::Sampling { .. }
            | Verb::Select { .. }
            | Verb::Metrics(_) => {
                vec![self.acted(id)]
            }
            Verb::Analyses { .. } if self.steering.shut_down => {
                vec![self.refused_all(id, "the measurement was shut down")]
            }
            Verb::Analyses { these, on, at_ns } => {
                self.await_cut(now, id, &[(Edge::Analyses { these, on }, at_ns)])
            }
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
            // An order that was overtaken must not bring an old epoch back.
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
