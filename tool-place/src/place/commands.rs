//! Executes commands on the place's ranks: closes gates, switches recording, answers the root.
//!
//! Which gate closes when and what a command is answered with is decided by [`Pauses`] and
//! [`Recording`]; what they decide is done here, in the ranks' memory and by their supervisors.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use super::selecting::Selecting;
use crate::gates;
use crate::pause::{PauseAction, Pauses};
use crate::recording::{Look, Recording, RecordingAction, Seen};
use crate::time_point::{Now, TimePoint};
use invivo_proto::control::local::{Outcome, ToSupervisor};
use invivo_proto::control::tree::{Acks, Command, FAILURES_MAX, JobInfo, Up};
use invivo_proto::ids::Rank;
use invivo_proto::rank_set::RankSet;
use invivo_tbon::job_time::JobClock;
use std::collections::VecDeque;

/// The pauses, the recording and the selection of one place. Every function gives the answers for
/// the root.
pub struct Commands {
    pub pauses: Pauses,
    pub recording: Recording,
    pub selecting: Selecting,
    /// Reads the clocks where the time of the present turn is not exact enough.
    read_now: Option<fn() -> Now>,
}

impl Commands {
    /// Of a place with these ranks.
    pub fn new(ranks: RankSet) -> Commands {
        Commands {
            pauses: Pauses::new(ranks),
            recording: Recording::new(ranks),
            selecting: Selecting::default(),
            read_now: None,
        }
    }

    /// How to read the clocks between two steps: without it no time passes there.
    pub fn read_time_by(&mut self, read: fn() -> Now) {
        self.read_now = Some(read);
    }

    /// The present time, where this process may have been descheduled since the clocks were read,
    /// and may have taken records from behind that time.
    fn present(&self, now: Now) -> Now {
        self.read_now.map_or(now, |read| read())
    }

    pub fn is_paused(&self, now: Now) -> bool {
        self.pauses.status(now.ns).is_some()
    }

    /// The job begins: held or not, recorded or not.
    pub fn begin(
        &mut self,
        now: Now,
        job: &JobInfo,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        let actions = self.pauses.begin(now.ns, job.hold_lease_ns);
        let mut answers = self.apply_pause(now, actions, local);
        let time_point = TimePoint::new(now, local.feed.analyses.clock(), clock);
        let actions = self
            .recording
            .begin(&time_point, &mut local.feed.cuts, job.recording);
        answers.extend(self.apply_recording(now, actions, clock, local));
        answers
    }

    /// A command about recording.
    pub fn record(
        &mut self,
        now: Now,
        command: &Command,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        let time_point = TimePoint::new(now, local.feed.analyses.clock(), clock);
        let actions = self
            .recording
            .command(&time_point, &mut local.feed.cuts, command);
        self.apply_recording(now, actions, clock, local)
    }

    /// A command about pauses and holds.
    pub fn pause(&mut self, now: Now, command: &Command, local: &mut LocalRanks) -> Vec<Up> {
        let actions = self.pauses.command(now.ns, command);
        self.apply_pause(now, actions, local)
    }

    /// What a command is answered with once the measurement is over.
    pub fn refusal(&self, local: &LocalRanks) -> Acks {
        let why = match local.feed.is_lost {
            true => "its tool place failed in itself, and it runs on unobserved",
            false => "the measurement has been shut down",
        };
        let failures = local.numbers().take(FAILURES_MAX);
        Acks {
            targets: local.len() as u32,
            failures: failures.map(|rank| (rank, why.to_owned())).collect(),
            ..Acks::default()
        }
    }

    /// The root is alive.
    pub fn heartbeat(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        let actions = self.pauses.heartbeat(now.ns);
        self.apply_pause(now, actions, local)
    }

    /// Opens all gates and continues all ranks.
    pub fn end_pauses(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        let actions = self.pauses.end_all();
        self.apply_pause(now, actions, local)
    }

    /// A rank attached: sets whether it records, and closes its gate where a pause or hold wants
    /// it.
    pub fn attached(&mut self, now: Now, rank: Rank, local: &mut LocalRanks) -> Vec<Up> {
        // Before its gate opens: what it records next is in the right epoch.
        if let Some((on, epoch)) = self.recording.told()
            && let Some(memory) = local.memory(rank)
        {
            gates::switch(memory, on, epoch, now.ticks);
        }
        let actions = self.pauses.attached(now.ns, rank);
        self.apply_pause(now, actions, local)
    }

    /// A rank needs no pause any more.
    pub fn finished(&mut self, now: Now, rank: Rank, local: &mut LocalRanks) -> Vec<Up> {
        let actions = self.pauses.finished(now.ns, rank);
        self.apply_pause(now, actions, local)
    }

    /// A supervisor has stopped its rank or let it go on.
    pub fn acted(
        &mut self,
        now: Now,
        rank: Rank,
        generation: u32,
        outcome: &Outcome,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        let actions = self.pauses.acted(now.ns, rank, generation, outcome);
        self.apply_pause(now, actions, local)
    }

    /// Ends leases that have run out, and notes ranks that have reached the end of `MPI_Init`.
    pub fn tick_pauses(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        let actions = self.pauses.tick(now.ns);
        let mut answers = self.apply_pause(now, actions, local);
        for rank in self.pauses.awaited() {
            if let Some(index) = local.index(rank) {
                let stand = local.ranks[index].records.stand(true);
                let actions = self.pauses.stood(now.ns, rank, stand);
                answers.extend(self.apply_pause(now, actions, local));
            }
        }
        answers
    }

    /// Lets cuts pass, looks at ranks behind them, and answers what is done. Whether there was
    /// something to do.
    pub fn tick_recording(
        &mut self,
        now: Now,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> (bool, Vec<Up>) {
        let time_point = TimePoint::new(now, local.feed.analyses.clock(), clock);
        let mut actions = self.recording.step(&time_point, &mut local.feed.cuts);
        for look in self.recording.looks(&time_point) {
            for &rank in &look.ranks {
                self.look_behind(now, &look, rank, clock, local);
            }
        }
        // A command is done as soon as its last rank has been looked at, without another turn.
        let time_point = TimePoint::new(now, local.feed.analyses.clock(), clock);
        actions.extend(self.recording.conclude(&time_point));
        let worked = !actions.is_empty();
        (worked, self.apply_recording(now, actions, clock, local))
    }

    /// All that was held of the ranks is lost: the measurement is over for them.
    pub fn lose(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        self.recording = Recording::over(local.set());
        self.end_pauses(now, local)
    }

    fn look_behind(
        &mut self,
        now: Now,
        look: &Look,
        rank: Rank,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) {
        let Some(index) = local.index(rank) else {
            return;
        };
        let one = &mut local.ranks[index];
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
                    .look(look.at, &look.cuts, now.ns, now.ticks, &mut local.feed)
            }
        };
        let time_point = TimePoint::new(now, local.feed.analyses.clock(), clock);
        self.recording.seen(&time_point, look.command, rank, seen);
    }

    /// Carries out the recording's actions.
    fn apply_recording(
        &mut self,
        now: Now,
        actions: Vec<RecordingAction>,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        // A reset may have passed in the cuts; a rank without new calls has not noticed.
        let mut answers = Vec::new();
        local.forget();
        if self.recording.is_shut_down() {
            answers.extend(self.end_pauses(now, local));
        }
        for action in actions {
            match action {
                RecordingAction::Switch { on, epoch } => self.switch(now, on, epoch, clock, local),
                RecordingAction::Ack { command, acks } => answers.push(Up::Ack { command, acks }),
            }
        }
        answers
    }

    /// Switches the ranks' recording on or off.
    fn switch(&mut self, now: Now, on: bool, epoch: u32, clock: &JobClock, local: &mut LocalRanks) {
        for memory in local.ranks.iter().filter_map(|one| one.memory()) {
            gates::switch(memory, on, epoch, now.ticks);
        }
        if !on {
            return;
        }

        // The ranks record since the present time at the latest.
        let behind = self.present(now);
        let time_point = TimePoint::new(behind, local.feed.analyses.clock(), clock);
        let begins_epoch = self.recording.switched(&time_point, &mut local.feed.cuts);
        local.feed.analyses.set_time(behind, clock);

        // Places do not switch at the same moment: a message that reached one of our ranks before
        // it recorded may be recorded by its sender, and would be matched with a later receive.
        let ranks = if begins_epoch { local.len() } else { 0 };
        for rank in local.numbers().take(ranks) {
            local.feed.analyses.lost(rank, behind.ticks);
        }
    }

    /// Carries out the actions of pauses and holds.
    fn apply_pause(
        &mut self,
        now: Now,
        actions: Vec<PauseAction>,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        let mut answers = Vec::new();
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                PauseAction::Close {
                    ranks,
                    generation,
                    until_ns,
                } => actions.extend(self.close(now, &ranks, generation, until_ns, local)),
                PauseAction::Hold {
                    ranks,
                    generation,
                    until_ns,
                } => actions.extend(self.close_for_hold(now, &ranks, generation, until_ns, local)),
                PauseAction::Push { ranks, until_ns } => {
                    for memory in ranks.iter().filter_map(|rank| local.memory(*rank)) {
                        gates::push(memory, until_ns);
                    }
                }
                PauseAction::Open { generation, keep } => {
                    open(self.present(now), generation, &keep, local);
                }
                PauseAction::Free { ranks } => {
                    for memory in ranks.iter().filter_map(|rank| local.memory(*rank)) {
                        gates::open(memory);
                    }
                }
                PauseAction::Ack { command, acks } => answers.push(Up::Ack { command, acks }),
            }
        }
        answers
    }

    /// Closes gates for a pause, and has the ranks stopped.
    fn close(
        &mut self,
        now: Now,
        ranks: &[Rank],
        generation: u32,
        until_ns: u64,
        local: &mut LocalRanks,
    ) -> Vec<PauseAction> {
        // Calls that are counted already ended before: their time is of no pause.
        let begins = self.present(now).ticks;
        for &rank in ranks {
            if let Some(memory) = local.memory(rank) {
                gates::close(memory, generation, until_ns);
                local.feed.analyses.pause(rank, begins);
            }
        }
        // Before any rank is stopped: after this barrier a thread that has read its gate as open
        // has its flag "in MPI" visible, and its supervisor must not stop it there.
        gates::seen_by_all();
        let mut actions = Vec::new();
        for &rank in ranks {
            // Without a supervisor no process stops the rank: note that at once, not after a
            // time-out.
            if !local.tell(rank, &ToSupervisor::Stop { generation }) {
                let outcome = &Outcome::Running;
                actions.extend(self.pauses.acted(now.ns, rank, generation, outcome));
            }
        }
        actions
    }

    /// Closes gates for a hold, and notes where the ranks are.
    fn close_for_hold(
        &mut self,
        now: Now,
        ranks: &[Rank],
        generation: u32,
        until_ns: u64,
        local: &mut LocalRanks,
    ) -> Vec<PauseAction> {
        let mut closed = Vec::new();
        for &rank in ranks {
            if let Some(memory) = local.memory(rank) {
                // Asked before we close it: only a gate that was closed all along has held its
                // rank.
                closed.push((rank, gates::is_closed(memory, now.ns)));
                gates::close(memory, generation, until_ns);
            }
        }
        // Else a rank could pass its gate and be seen as still before it.
        gates::seen_by_all();
        let mut actions = Vec::new();
        for (rank, was_closed) in closed {
            if let Some(index) = local.index(rank) {
                let stand = local.ranks[index].records.stand(was_closed);
                actions.extend(self.pauses.stood(now.ns, rank, stand));
            }
        }
        actions
    }
}

/// Opens all gates but those in `keep`, and has the ranks continued.
fn open(now: Now, generation: u32, keep: &[Rank], local: &mut LocalRanks) {
    for rank in local.numbers() {
        if let Some(memory) = local.memory(rank).filter(|_| !keep.contains(&rank)) {
            gates::open(memory);
        }
        // Also to held ranks, whose gates stay closed: they were stopped as well. A rank without a
        // supervisor reads its gate by itself.
        local.tell(rank, &ToSupervisor::Continue { generation });
    }
    local.feed.analyses.resume(now.ticks);
}
