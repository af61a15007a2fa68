//! The place and its ranks' recording: commands on their way to the cuts, the ranks' switches, and the looks behind a cut.

use super::{Life, Moment, Now, Place};
use crate::gates;
use crate::recording::{Action, Seen};
use invivo_proto::control::tree::{Command, Up};
use invivo_proto::ids::{CommandId, Rank};
use invivo_tbon::node::Input;

impl Place {
    pub(super) fn moment(&self, now: Now) -> Moment<'_> {
        Moment::new(now, self.feed.analyses.clock(), self.node.clock())
    }

    /// The job begins, recorded or not.
    pub(super) fn begin_recording(&mut self, now: Now, on: bool) {
        let moment = Moment::new(now, self.feed.analyses.clock(), self.node.clock());
        let actions = self.recording.begin(&moment, &mut self.feed.cuts, on);
        self.act_recording(now, actions);
    }

    /// A command about recording.
    pub(super) fn command_recording(&mut self, now: Now, command: &Command) {
        let moment = Moment::new(now, self.feed.analyses.clock(), self.node.clock());
        let actions = self.recording.command(&moment, &mut self.feed.cuts, command);
        if self.recording.is_shut_down() {
            let pause_actions = self.pauses.end_all();
            self.act(now, pause_actions);
        }
        self.act_recording(now, actions);
    }

    /// Lets cuts pass, looks at ranks behind them, and answers what is done. Whether there was something to do.
    pub(super) fn record(&mut self, now: Now) -> bool {
        let moment = Moment::new(now, self.feed.analyses.clock(), self.node.clock());
        let mut actions = self.recording.step(&moment, &mut self.feed.cuts);
        for look in self.recording.looks(&moment) {
            for rank in look.ranks {
                self.look_behind(now, look.command, rank, look.at);
            }
        }
        let moment = Moment::new(now, self.feed.analyses.clock(), self.node.clock());
        actions.extend(self.recording.conclude(&moment, &self.feed.cuts));
        let worked = !actions.is_empty();
        self.act_recording(now, actions);
        worked
    }

    fn look_behind(&mut self, now: Now, command: CommandId, rank: Rank, at: u64) {
        let Some(index) = self.index(rank) else { return };
        let one = &mut self.ranks[index];
        let seen = match one.life {
            // What a rank left is taken before it is finished, and what it was in when it died stays open for ever.
            Life::Finished | Life::Absent => Seen {
                all_taken: true,
                open: 0,
            },
            Life::Alive | Life::Ending => one.records.look(at, now.ns, now.ticks, &mut self.feed),
        };
        let moment = Moment::new(now, self.feed.analyses.clock(), self.node.clock());
        self.recording.seen(&moment, command, rank, seen);
    }

    fn act_recording(&mut self, now: Now, actions: Vec<Action>) {
        self.forget();
        for action in actions {
            match action {
                Action::Switch { on, epoch } => {
                    for memory in self.ranks.iter().filter_map(|one| one.records.memory()) {
                        gates::switch(memory, on, epoch, now.ticks);
                    }
                }
                Action::Ack { command, acks } => self.run(now, Input::Local(Up::Ack { command, acks })),
            }
        }
    }

    /// Forgets what lies before the last reset, if that has not been done by the records themselves.
    fn forget(&mut self) {
        let resets = self.feed.cuts.resets();
        self.feed
            .analyses
            .forget_to(resets, self.feed.cuts.reset_job_ns());
        for one in &mut self.ranks {
            one.records.forget_to(resets);
        }
    }
}
