//! The tool place: takes the records of its ranks, runs commands on them and answers queries.
//!
//! ```text
//! packets ---------> LocalRanks (records, buffers, analyses)
//! shared memory ---^    ^  ^  ^
//!                       |  |  +-- Commands: gates and switches of the ranks
//! parent -- TreeSide ---+  +----- Queries: answers, and questions to supervisors for them
//! ```
//!
//! Knows no MPI and no clock: its role carries messages to and fro and passes the time.

mod analysis_switches;
mod answers;
mod buffer_keeping;
mod code_queries;
mod commands;
mod grid;
mod group_exchange;
mod hang_queries;
mod held_queries;
mod interval_timer;
mod job_end;
mod kept_profile;
mod local_rank;
mod local_ranks;
mod measuring;
mod metric_queries;
pub mod observed;
mod peers;
mod pressure;
mod profile_queries;
mod queries;
mod questions;
mod rank_counts;
mod region_names;
mod rest;
mod sampling;
mod saving;
mod selecting;
mod stack_names;
mod stack_queries;
mod supervisor_messages;
mod supervisor_orders;
mod timeline;
mod tree_side;

use crate::notes::Trouble;
use crate::supervisors::Supervisors;
use crate::time_point::{LATENCY_NS, Now};
use analysis_switches::AnalysisSwitches;
use buffer_keeping::Recycling;
use commands::Commands;
use group_exchange::GroupExchange;
use interval_timer::Every;
use invivo_mpi_link::clock::NodeClock;
use invivo_mpi_link::runtime::Exit;
use invivo_proto::control::decode;
use invivo_proto::control::fault::RankFaulted;
use invivo_proto::control::tree::{Command, Down, JobInfo, RankEnded, Up, Verb};
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::{Input, Position};
use job_end::JobEnd;
use local_rank::Life;
use local_ranks::LocalRanks;
use measuring::Measuring;
use queries::Queries;
use rustix::event::PollFd;
use sampling::Sampling;
use std::collections::VecDeque;
use tree_side::{FromTree, TreeSide};

/// Period of the scan of all packets in shared memory: a tenth of the latency bound.
const LOOK_NS: u64 = LATENCY_NS / 10;
/// The same while nobody watches: in time for a status that says how far records lag behind.
const CALM_LOOK_NS: u64 = 5 * LATENCY_NS;
/// Period of the measurements of the clock's rate.
const MEASURE_NS: u64 = 1_000_000_000;

/// A tool place, without its transport.
pub struct Place {
    local: LocalRanks,
    commands: Commands,
    switches: AnalysisSwitches,
    sampling: Sampling,
    measuring: Measuring,
    queries: Queries,
    groups: GroupExchange,
    recycling: Recycling,
    tree: TreeSide,
    end: JobEnd,
    /// The root has said how much memory there is for records.
    is_ready: bool,
    looks: Every,
    calm_looks: Every,
    measurements: Every,
}

impl Place {
    /// The place of this number in the job, whose supervisors arrive at this socket (without one,
    /// its ranks are only heard over MPI). Nothing where the layout has no such place.
    pub fn new(
        layout: Layout,
        me: WorldRank,
        supervisors: Option<Supervisors>,
        clock: NodeClock,
        now: Now,
    ) -> Option<Place> {
        let position = Position::of(&layout, me).filter(|position| position.local.is_some())?;
        let local = LocalRanks::new(layout, me, supervisors, clock);
        let set = local.set();
        let ranks = local.len() as u32;
        let mut place = Place {
            local,
            commands: Commands::new(set),
            switches: AnalysisSwitches::default(),
            sampling: Sampling::default(),
            measuring: Measuring::default(),
            queries: Queries::default(),
            groups: GroupExchange::default(),
            recycling: Recycling::default(),
            tree: TreeSide::new(now, position),
            end: JobEnd::new(now.ns),
            is_ready: false,
            looks: Every::new(LOOK_NS, now.ns),
            calm_looks: Every::new(CALM_LOOK_NS, now.ns),
            measurements: Every::new(MEASURE_NS, now.ns),
        };
        place.run(now, Input::Local(Up::Hello { ranks }));
        Some(place)
    }

    /// In the stead of a place that has died: it takes what that left in its ranks' memory, and
    /// changes nothing of how they run.
    #[must_use]
    pub fn salvaging(mut self) -> Place {
        self.local.salvages = true;
        self
    }

    /// Writes all that it takes to this directory as well; see [`crate::tap`].
    #[cfg(any(test, feature = "test-hooks"))]
    pub fn tap(&mut self, directory: std::path::PathBuf) {
        let taps = crate::tap::Taps::new(directory);
        taps.note(&mut self.local.feed.notes);
        self.local.feed.taps = Some(taps);
    }

    /// How to read the clocks between two steps: without it no time passes there.
    pub fn read_time_by(&mut self, read: fn() -> Now) {
        self.commands.read_time_by(read);
    }

    /// Whether packets may come: the root has said how much memory there is for them.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// How to leave, once it is time.
    pub fn exit(&self) -> Option<Exit> {
        self.end.exit()
    }

    /// Whether the measurement has ended and nothing is left to do before the job's end.
    pub fn is_over(&self) -> bool {
        self.commands.recording.is_over()
    }

    /// What the supervisors' sockets are to be waited for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        self.local
            .supervisors
            .as_ref()
            .map(Supervisors::poll_fds)
            .unwrap_or_default()
    }

    /// What is to be sent to the parent.
    pub fn take_up(&mut self) -> Vec<Up> {
        self.tree.take_up()
    }

    /// A message that should be a packet came from `from`; nothing where MPI could not bring it
    /// whole.
    pub fn packet(&mut self, from: WorldRank, message: Option<&[u8]>) {
        if !self.is_over() {
            self.local.packet(from, message);
        }
    }

    /// A message of the parent.
    pub fn down(&mut self, now: Now, bytes: &[u8]) {
        match decode::<Down>(bytes) {
            Ok(message) => {
                // These come from the parent itself, so they do not show that the root is alive.
                if !matches!(message, Down::Time { .. } | Down::Groups(_)) {
                    self.end.root_is_back();
                }
                self.run(now, Input::Down(message));
            }
            Err(error) => self.local.feed.notes.add(Trouble::Control, || {
                format!("from the parent: {error}; ignored")
            }),
        }
    }

    /// Takes what came on the supervisors' sockets. Whether anything had.
    pub fn poll_supervisors(&mut self, now: Now) -> bool {
        let supervisors = self.local.supervisors.as_mut();
        let events = supervisors.map(Supervisors::poll).unwrap_or_default();
        let worked = !events.is_empty();
        for event in events {
            self.supervisor(now, event);
        }
        worked
    }

    /// Does what is due by time: leases, cuts, scans of shared memory, the end. Whether there was
    /// work.
    pub fn step(&mut self, now: Now) -> bool {
        if self.measurements.is_due(now.ns) {
            self.local.refine_clock();
        }
        self.run(now, Input::Tick);
        // Job time before commands: cuts and message times are derived from it.
        self.local.feed.analyses.set_time(now, self.tree.clock());
        let answers = self.switches.step(now, self.tree.clock(), &mut self.local);
        self.answer(now, answers);
        self.sampling.end_of_ranks(now, &mut self.local);
        let mut answers = self.sampling.orders.due(now);
        answers.extend(self.measuring.orders.due(now));
        self.answer(now, answers);
        let (names, clock) = (&mut self.queries.code, self.tree.clock());
        let answers = self
            .commands
            .selecting
            .step(now, clock, names, &mut self.local);
        self.answer(now, answers);
        let answers = self.commands.tick_pauses(now, &mut self.local);
        self.answer(now, answers);
        self.answer_due_queries(now);
        let (mut worked, answers) =
            self.commands
                .tick_recording(now, self.tree.clock(), &mut self.local);
        self.answer(now, answers);
        worked |= self.queries.kept_profile.is_busy();

        if self.is_ready {
            self.local.note_displaced(now.ns);
            let look = self.is_time_to_look(now);
            for index in 0..self.local.len() {
                worked |= self.look_at(now, index, look);
            }
            self.end_piece(now);
            self.exchange_groups(now);
            self.recycling.recycle(now, &mut self.local);
            self.conclude(now);
        }
        worked
    }

    /// The end of the job was requested by a signal; SIGKILL may follow.
    pub fn end_asked(&mut self) {
        self.local.withdraw_socket();
    }

    /// Gives up what it holds, which may be wrong. A pause ends, for nobody may know of it any
    /// more; commands are refused as behind the end of the measurement; what the ranks recorded
    /// counts as dropped. The place stays a member of the tree that knows how its ranks end.
    pub fn lose(&mut self, now: Now) {
        if self.local.feed.is_lost {
            return;
        }
        self.queries.saving.give_up(&mut self.local);
        self.local.lose_records();
        self.queries = Queries::default();
        // Packets are read on, and dropped, so that no sender waits for a buffer.
        self.is_ready = true;
        let answers = self.commands.lose(now, &mut self.local);
        self.answer(now, answers);
        let refusal = self.commands.refusal(&self.local);
        let mut answers = self.switches.refuse(&refusal);
        answers.extend(self.sampling.orders.refuse(&refusal));
        answers.extend(self.measuring.orders.refuse(&refusal));
        answers.extend(self.commands.selecting.refuse(&refusal));
        self.sampling.end(&mut self.local);
        self.measuring.end(&mut self.local);
        self.answer(now, answers);
        self.local.let_go(now);
    }

    /// Feeds an input to the tree's node, and carries out what it delivers to this place.
    fn run(&mut self, now: Now, input: Input) {
        let mut todo = VecDeque::from(self.tree.step(now, input));
        while let Some(event) = todo.pop_front() {
            let answers = match event {
                FromTree::Message(message) => self.parent_message(now, message),
                FromTree::RootLost => {
                    self.end.root_lost(now.ns);
                    // Without a root the memory budget never comes: analyse calls, keep none.
                    self.is_ready = true;
                    self.commands.end_pauses(now, &mut self.local)
                }
            };
            for answer in answers {
                todo.extend(self.tree.step(now, Input::Local(answer)));
            }
        }
    }

    /// Gives answers to the tree.
    fn answer(&mut self, now: Now, answers: impl IntoIterator<Item = Up>) {
        for answer in answers {
            self.run(now, Input::Local(answer));
        }
    }

    /// Handles a message of the parent or the root; gives the answers that are ready at once.
    fn parent_message(&mut self, now: Now, message: Down) -> Vec<Up> {
        match message {
            Down::Analyses(on) => {
                AnalysisSwitches::begin(on, &mut self.local);
                Vec::new()
            }
            Down::Job(job) => self.begin(now, &job),
            Down::Command(command) => {
                self.catch_up(now);
                self.command(now, &command)
            }
            Down::Query { wave, query } => self.query(now, wave, query),
            Down::Heartbeat => self.commands.heartbeat(now, &mut self.local),
            Down::Groups(groups) => {
                let analyses = &mut self.local.feed.analyses;
                analyses.learn_groups(groups);
                self.groups.learned(analyses);
                Vec::new()
            }
            Down::Release => {
                self.end.rank_died();
                self.local.release();
                Vec::new()
            }
            Down::Shutdown => {
                self.local.release();
                self.end.leave();
                Vec::new()
            }
            // Handled by the tree's node already.
            Down::Time { .. } => Vec::new(),
        }
    }

    /// The root has said which job this is.
    fn begin(&mut self, now: Now, job: &JobInfo) -> Vec<Up> {
        let budget = &mut self.local.feed.budget;
        budget.begin(job.buffer_bytes, job.budget_bytes);
        buffer_keeping::begin(*job.strategy, &mut self.local);
        self.is_ready = true;
        if self.local.salvages {
            return Vec::new();
        }
        self.sampling.begin(now, job.sampling, &mut self.local);
        self.measuring.begin(*job.metrics, &mut self.local);
        self.commands.selecting.begin(&job.selection, &self.local);
        self.commands
            .begin(now, job, self.tree.clock(), &mut self.local)
    }

    /// A command, which is acknowledged at once only where it is refused.
    fn command(&mut self, now: Now, command: &Command) -> Vec<Up> {
        let ack = |acks| Up::Ack {
            command: command.id,
            acks,
        };
        match command.verb {
            Verb::Reset { .. } | Verb::Record { .. } | Verb::Window { .. } | Verb::Shutdown => {
                match command.verb {
                    Verb::Reset { at_ns } => self.local.reset_metrics(at_ns),
                    Verb::Shutdown => {
                        self.sampling.end(&mut self.local);
                        self.measuring.end(&mut self.local);
                    }
                    _ => {}
                }
                let clock = self.tree.clock();
                self.commands.record(now, command, clock, &mut self.local)
            }
            // After the end of the measurement. Recording commands above are refused by
            // `Recording`.
            _ if self.commands.recording.is_shut_down() => {
                vec![ack(self.commands.refusal(&self.local))]
            }
            Verb::Analyses { .. } => {
                let clock = self.tree.clock();
                self.switches.command(now, command, clock, &mut self.local)
            }
            Verb::Select { .. } => {
                let (names, clock) = (&mut self.queries.code, self.tree.clock());
                self.commands
                    .selecting
                    .command(now, command, clock, names, &mut self.local)
            }
            Verb::Sampling(sampling) => {
                self.sampling
                    .command(now, command.id, sampling, &mut self.local)
            }
            Verb::Metrics(measured) => {
                self.measuring
                    .command(now, command.id, measured, &mut self.local)
            }
            Verb::Strategy { strategy } => {
                vec![ack(buffer_keeping::keep(strategy, &mut self.local))]
            }
            Verb::Pause { .. } | Verb::Resume | Verb::Hold { .. } => {
                self.commands.pause(now, command, &mut self.local)
            }
        }
    }

    /// Takes what one rank recorded, if it is time. Whether there was work.
    fn look_at(&mut self, now: Now, index: usize, look: bool) -> bool {
        let is_over = self.is_over();
        let looked = self.local.ranks[index].look(now, look, is_over, &mut self.local.feed);
        if looked.is_through {
            self.finish(now, index);
        }
        looked.worked
    }

    /// All that a rank recorded is taken.
    fn finish(&mut self, now: Now, index: usize) {
        let rank = self.local.rank(index);
        let one = &mut self.local.ranks[index];
        one.life = Life::Finished;
        let ended = one.ended.map(|how| RankEnded {
            rank,
            how,
            inside: one.records.inside(),
        });
        let fault = one.fault.take();
        let answers = self.commands.finished(now, rank, &mut self.local);
        self.answer(now, answers);
        if let Some(ended) = ended {
            self.end.rank_died();
            let faulted = fault.map(|fault| Box::new(RankFaulted { rank, fault }));
            self.answer(now, faulted.map(Up::RankFaulted));
            self.answer(now, [Up::RankEnded(ended)]);
        }
    }

    /// Reports the groups that the ranks defined, and requests those that they use without members.
    fn exchange_groups(&mut self, now: Now) {
        let defined = self.groups.defined(&mut self.local.feed.analyses);
        self.answer(now, defined);
        let is_through = self.local.are_through(self.end.is_late(now.ns));
        let through_ns = is_through.then_some(self.end.through_ns());
        let analyses = &mut self.local.feed.analyses;
        let wanted = self.groups.wanted(now.ns, through_ns, analyses);
        self.answer(now, wanted);
    }

    /// Reports it when all ranks are through, and leaves when there is no root to report it to.
    fn conclude(&mut self, now: Now) {
        if !self.local.are_through(self.end.is_late(now.ns)) {
            return self.end.not_through(now.ns);
        }
        // The last queries follow: by then, sends must have reached the place that matches them,
        // and communicators must have their members.
        let waits = self.local.feed.analyses.traffic().is_waiting() || self.groups.is_wanting();
        if self.end.drain(now.ns, waits, self.local.has_leaving()) {
            self.answer(now, [Up::Drained]);
        }
        if self.end.is_without_root(now.ns) {
            self.local.release();
        }
    }
}

#[cfg(test)]
mod tests;
