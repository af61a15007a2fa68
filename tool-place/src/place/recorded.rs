//! The place and its ranks' recording: commands on their way to the cuts, the ranks' switches, and
//! the looks behind a cut.

use super::{Life, Now, Place, TimePoint};
use crate::gates;
use crate::recording::{Action, Look, Seen};
use invivo_proto::control::tree::{Command, Up};
use invivo_proto::ids::Rank;
use invivo_tbon::node::Input;

impl Place {
    pub(super) fn moment(&self, now: Now) -> TimePoint<'_> {
        TimePoint::new(now, self.feed.analyses.clock(), self.node.clock())
    }

    /// The job begins, recorded or not.
    pub(super) fn begin_recording(&mut self, now: Now, on: bool) {
        let moment = TimePoint::new(now, self.feed.analyses.clock(), self.node.clock());
        let actions = self.recording.begin(&moment, &mut self.feed.cuts, on);
        self.act_recording(now, actions);
    }

    /// A command about recording.
    pub(super) fn command_recording(&mut self, now: Now, command: &Command) {
        let moment = TimePoint::new(now, self.feed.analyses.clock(), self.node.clock());
        let actions = self
            .recording
            .command(&moment, &mut self.feed.cuts, command);
        self.act_recording(now, actions);
    }

    /// Lets cuts pass, looks at ranks behind them, and answers what is done. Whether there was
    /// something to do.
    pub(super) fn record(&mut self, now: Now) -> bool {
        let moment = TimePoint::new(now, self.feed.analyses.clock(), self.node.clock());
        let mut actions = self.recording.step(&moment, &mut self.feed.cuts);
        for look in self.recording.looks(&moment) {
            for &rank in &look.ranks {
                self.look_behind(now, &look, rank);
            }
        }
        let moment = TimePoint::new(now, self.feed.analyses.clock(), self.node.clock());
        actions.extend(self.recording.conclude(&moment));
        let worked = !actions.is_empty();
        self.act_recording(now, actions);
        worked
    }

    fn look_behind(&mut self, now: Now, look: &Look, rank: Rank) {
        let Some(index) = self.index(rank) else {
            return;
        };
        let one = &mut self.ranks[index];
        let seen = match one.life {
            // What a rank left is taken before it is finished, and what it was in when it died
            // stays open for ever.
            Life::Finished | Life::Absent => Seen {
                all_taken: true,
                open: 0,
                clipped: one.records.clipped_by(&look.cuts),
            },
            Life::Alive | Life::Ending => {
                one.records
                    .look(look.at, &look.cuts, now.ns, now.ticks, &mut self.feed)
            }
        };
        let moment = TimePoint::new(now, self.feed.analyses.clock(), self.node.clock());
        self.recording.seen(&moment, look.command, rank, seen);
    }

    fn act_recording(&mut self, now: Now, actions: Vec<Action>) {
        self.forget();
        if self.recording.is_shut_down() {
            // Nobody is to stand still any more.
            let pause_actions = self.pauses.end_all();
            self.act(now, pause_actions);
        }
        for action in actions {
            match action {
                Action::Switch { on, epoch } => self.switch(now, on, epoch),
                Action::Ack { command, acks } => {
                    self.run(now, Input::Local(Up::Ack { command, acks }))
                }
            }
        }
    }

    /// Tells the ranks whether to record.
    fn switch(&mut self, now: Now, on: bool, epoch: u32) {
        for memory in self.ranks.iter().filter_map(|one| one.records.memory()) {
            gates::switch(memory, on, epoch, now.ticks);
        }
        if !on {
            return;
        }
        // We may have stood still between the command, or the last look at the clock, and the last
        // rank.
        let behind = self.read_now.as_ref().map_or(now, |read| read());
        let moment = TimePoint::new(behind, self.feed.analyses.clock(), self.node.clock());
        let begins_epoch = self.recording.switched(&moment, &mut self.feed.cuts);
        self.feed.analyses.set_time(behind, self.node.clock());
        // Places do not switch at the same time: what reached a rank of ours before it recorded was
        // sent by one that did already, and would be put together with what comes next.
        let ranks = if begins_epoch { self.ranks.len() } else { 0 };
        for rank in (self.first..).map(Rank).take(ranks) {
            self.feed.analyses.lost(rank, behind.ticks);
        }
    }

    /// Forgets what lies before the last reset, if that has not been done by the records
    /// themselves.
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
