//! The place: what comes from its ranks, its parent and its ranks' supervisors, brought together.
//! Knows no MPI: `main` carries messages to and fro and tells the time.

mod answers;
mod kept;
mod last;
mod lost;
mod recorded;
mod stacks;
mod supervised;
mod tree;
mod waits;

use crate::analyses::{Analyses, MergeFn};
use crate::cuts::Cuts;
use crate::notes::{Notes, Trouble};
use crate::pause::Pauses;
use crate::process::Process;
use crate::rank::{Eagerness, Feed, LATENCY_NS, RankRecords};
use crate::recording::Recording;
use crate::store::Budget;
use crate::supervisors::Supervisors;
use crate::time_point::{Now, TimePoint};
use invivo_mpi_link::clock::{self, NodeClock};
use invivo_mpi_link::runtime::Exit;
use invivo_proto::control::decode;
use invivo_proto::control::tree::{Down, Ended, RankEnded, Up};
use invivo_proto::ids::{Rank, WorldRank};
use invivo_proto::packet::Header;
use invivo_proto::shm::phase;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::{Input, Node, Position};
use rustix::event::PollFd;
use std::sync::atomic::Ordering;

/// Between two looks at all packets of all ranks: a tenth of the latency bound.
const LOOK_NS: u64 = LATENCY_NS / 10;
/// A rank whose supervisor has not attached by then has none that could: the supervisor attaches as
/// soon as the rank is through `MPI_Init`, which is when the place starts. The job's end does not
/// wait for such a rank.
const ATTACH_NS: u64 = 30_000_000_000;
/// Between two measurements of the clock's rate.
const MEASURE_NS: u64 = 1_000_000_000;
/// Between two questions for members of communicators: until the first is answered, their traffic
/// is not resolved, and a screen shows that for no longer than this.
const WANT_GROUPS_NS: u64 = 250_000_000;
/// The same when its ranks are through and only the last questions are to come.
const WANT_LAST_GROUPS_NS: u64 = 20_000_000;
/// How long a place whose ranks are through waits for other places to take the last messages of its
/// ranks: they take them at once unless they are stuck or gone.
const PEERS_NS: u64 = 500_000_000;
/// How long it waits for those of them to go that have not ended by `MPI_Finalize`: behind the
/// result, which takes a second, they go at once.
const LEAVING_NS: u64 = 5_000_000_000;
/// How long a place whose ranks are through waits for a lost root to come back.
const WITHOUT_ROOT_NS: u64 = 1_000_000_000;

/// Where a rank is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// Its memory is not here.
    Absent,
    /// It may record.
    Alive,
    /// It has drained, ended or gone silent: what it left is being taken.
    Ending,
    /// All is taken.
    Finished,
}

struct OneRank {
    records: RankRecords,
    life: Life,
    /// How it ended, otherwise than through `MPI_Finalize`.
    ended: Option<Ended>,
    /// Its supervisor holds the job's end back.
    lingers: bool,
    process: Process,
    /// The kernel kills it with its supervisor, which is gone, but only a moment later: no longer
    /// than until then.
    orphan_until_ns: u64,
}

impl OneRank {
    fn new(rank: Rank) -> OneRank {
        OneRank {
            records: RankRecords::new(rank),
            life: Life::Absent,
            ended: None,
            lingers: false,
            process: Process::default(),
            orphan_until_ns: 0,
        }
    }
}

/// See the module's head.
pub struct Place {
    layout: Layout,
    me: WorldRank,
    first: u32,
    ranks: Vec<OneRank>,
    feed: Feed,
    looks: waits::Looks,
    walks: stacks::Walks,
    pauses: Pauses,
    recording: Recording,
    node: Node<MergeFn>,
    /// What time it is now, where that matters more than what it was when something came.
    read_now: Option<fn() -> Now>,
    supervisors: Option<Supervisors>,
    up: Vec<Up>,
    exit: Option<Exit>,
    ready: bool,
    started_ns: u64,
    seen_ns: Option<u64>,
    looked_ns: u64,
    measured_ns: u64,
    wanted_ns: u64,
    recycled_ns: u64,
    /// Groups were wanted then.
    wants_groups: bool,
    drained: bool,
    through_ns: u64,
    abnormal: bool,
    root_lost_ns: Option<u64>,
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
        let ranks = layout.ranks_of(me);
        let latency_ticks = clock.duration_ticks(LATENCY_NS);
        let mut place = Place {
            layout,
            me,
            first: ranks.start,
            ranks: ranks.clone().map(|rank| OneRank::new(Rank(rank))).collect(),
            feed: Feed {
                analyses: Analyses::new(layout, me, clock),
                cuts: Cuts::default(),
                budget: Budget::new(0, 0),
                notes: Notes::default(),
                latency_ticks,
                taps: None,
                is_lost: false,
            },
            looks: waits::Looks::default(),
            walks: stacks::Walks::default(),
            pauses: Pauses::new(ranks.clone()),
            recording: Recording::new(ranks),
            node: Node::new(now.ns, position, invivo_analysis::merge::merge as MergeFn),
            read_now: None,
            supervisors,
            up: Vec::new(),
            exit: None,
            ready: false,
            started_ns: now.ns,
            seen_ns: None,
            looked_ns: now.ns,
            measured_ns: now.ns,
            wanted_ns: 0,
            recycled_ns: 0,
            wants_groups: false,
            drained: false,
            through_ns: now.ns,
            abnormal: false,
            root_lost_ns: None,
        };
        let ranks = place.ranks.len() as u32;
        place.run(now, Input::Local(Up::Hello { ranks }));
        Some(place)
    }

    #[cfg(any(test, feature = "test-hooks"))]
    /// Every location makes samples up, one for so many calls; see [`crate::generator`].
    pub fn make_samples(&mut self, every: std::num::NonZeroU64) {
        self.feed.budget.make_samples(every);
        self.feed.notes.add(Trouble::Samples, || {
            format!("INVIVO_SAMPLES is set: buffers hold samples that are made up, one for {every} calls; for tests alone")
        });
    }

    #[cfg(any(test, feature = "test-hooks"))]
    /// Writes all that it takes to this directory as well; see [`crate::tap`].
    pub fn tap(&mut self, directory: std::path::PathBuf) {
        let taps = crate::tap::Taps::new(directory);
        taps.note(&mut self.feed.notes);
        self.feed.taps = Some(taps);
    }

    /// How to read the clocks between two steps: without it no time passes there.
    pub fn read_time_by(&mut self, read: fn() -> Now) {
        self.read_now = Some(read);
    }

    /// Whether packets may come: the root has said how much memory there is for them.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// How to leave, once it is time.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Whether the measurement has ended and nothing is left to do before the job's end.
    pub fn is_over(&self) -> bool {
        self.recording.is_over()
    }

    /// What the supervisors' sockets are to be waited for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        self.supervisors
            .as_ref()
            .map(Supervisors::poll_fds)
            .unwrap_or_default()
    }

    /// What is to be sent to the parent.
    pub fn take_up(&mut self) -> Vec<Up> {
        std::mem::take(&mut self.up)
    }

    /// A message that should be a packet came from `from`; nothing where MPI could not bring it
    /// whole.
    pub fn packet(&mut self, from: WorldRank, message: Option<&[u8]>) {
        if self.recording.is_over() {
            return;
        }
        let index = self.layout.rank_of(from).and_then(|rank| self.index(rank));
        let said = |header: &Header| self.layout.rank_of(from) == Some(header.location.rank);
        let why = match (message.map(Header::decode), index) {
            (Some(Ok((header, payload))), Some(index)) if said(&header) => {
                return self.ranks[index]
                    .records
                    .packet(&header, payload, &mut self.feed);
            }
            (Some(Ok((header, _))), _) => {
                format!("it says that it is of rank {}", header.location.rank)
            }
            (Some(Err(error)), _) => error.to_string(),
            (None, _) => "it is longer than a packet".to_owned(),
        };
        if let Some(index) = index {
            self.ranks[index].records.refuse();
        }
        self.feed.notes.add(Trouble::Packet, || {
            format!("process {from} sent no packet: {why}; refused")
        });
    }

    /// The parent says something.
    pub fn down(&mut self, now: Now, bytes: &[u8]) {
        match decode::<Down>(bytes) {
            Ok(message) => {
                // What the parent says for itself does not tell that the root lives.
                if !matches!(message, Down::Time { .. } | Down::Groups(_)) {
                    self.root_lost_ns = None;
                }
                self.run(now, Input::Down(message));
            }
            Err(error) => self.feed.notes.add(Trouble::Control, || {
                format!("from the parent: {error}; ignored")
            }),
        }
    }

    /// Whether other places may say something.
    pub fn hears_peers(&mut self) -> bool {
        self.feed.is_lost || self.feed.analyses.traffic().is_ready()
    }

    /// Another process says something that should be for a place.
    pub fn peer(&mut self, from: WorldRank, bytes: &[u8]) {
        let used = match self.layout.height(from) {
            _ if self.feed.is_lost => Ok(()),
            Some(1) => self.feed.analyses.traffic().arrive(from, bytes),
            _ => Err("it is no place".to_owned()),
        };
        if let Err(why) = used {
            self.feed.notes.add(Trouble::Control, || {
                format!("from process {from}, to this place: {why}; ignored")
            });
        }
    }

    /// What is to be sent to other places; `credit` says whether one takes another message.
    pub fn take_peers(
        &mut self,
        now: Now,
        credit: impl FnMut(WorldRank) -> bool,
    ) -> Vec<(WorldRank, Vec<u8>)> {
        self.feed.analyses.traffic().take(now.ns, credit)
    }

    /// Looks after the supervisors; to be called when something came from them. Whether something
    /// had.
    pub fn poll_supervisors(&mut self, now: Now) -> bool {
        let events = self
            .supervisors
            .as_mut()
            .map(Supervisors::poll)
            .unwrap_or_default();
        let worked = !events.is_empty();
        for event in events {
            self.supervisor(now, event);
        }
        worked
    }

    /// Looks after everything that time brings. Whether there was something to do.
    pub fn step(&mut self, now: Now) -> bool {
        if now.ns.saturating_sub(self.measured_ns) > MEASURE_NS {
            self.measured_ns = now.ns;
            let mut clock = self.feed.analyses.clock().clone();
            clock.refine(clock::read());
            self.feed.analyses.set_clock(clock);
        }
        self.run(now, Input::Tick);
        self.feed.analyses.set_time(now, self.node.clock());
        let actions = self.pauses.tick(now.ns);
        self.act(now, actions);
        self.look_for_held(now);
        self.answer_looks(now);
        self.answer_walks(now);
        let mut worked = self.record(now);
        if self.ready {
            let look = now.ns.saturating_sub(self.looked_ns) >= LOOK_NS;
            if look {
                self.looked_ns = now.ns;
            }
            for index in 0..self.ranks.len() {
                worked |= self.look_at(now, index, look);
            }
            self.exchange_groups(now);
            self.recycle(now);
            self.conclude(now);
        }
        worked
    }

    fn index(&self, rank: Rank) -> Option<usize> {
        let index = rank.0.checked_sub(self.first)? as usize;
        (index < self.ranks.len()).then_some(index)
    }

    /// Looks after one rank.
    fn look_at(&mut self, now: Now, index: usize, look: bool) -> bool {
        let one = &mut self.ranks[index];
        if one.life == Life::Alive {
            one.records.prepare(&mut self.feed);
        }
        let Some(memory) = one.records.memory() else {
            return false;
        };
        if one.life == Life::Alive {
            let in_phase = memory.page().phase.load(Ordering::Acquire);
            if in_phase == phase::SILENT {
                let rank = self.first + index as u32;
                self.feed.notes.add(Trouble::Silent, || {
                    format!(
                        "rank {rank} is not observed: the preloaded library gave up (see its line on stderr)"
                    )
                });
            }
            if matches!(in_phase, phase::DRAINED | phase::SILENT) {
                one.life = Life::Ending;
            }
        }
        if self.recording.is_over() {
            // What was open when the measurement ended belongs to no answer: those that are made
            // now, one after the other, are of one moment. Definitions must not fill their channel.
            if look {
                one.records.define(&mut self.feed);
            }
            if one.life == Life::Ending {
                self.finish(now, index);
            }
            return false;
        }
        match one.life {
            Life::Absent | Life::Finished => false,
            Life::Alive if look || one.records.has_left_packets() => {
                one.records
                    .peek(now.ns, now.ticks, Eagerness::Late, &mut self.feed)
            }
            Life::Alive => false,
            Life::Ending => {
                let is_still = now.ns >= one.orphan_until_ns || one.process.is_gone();
                let took = one
                    .records
                    .peek(now.ns, now.ticks, Eagerness::All, &mut self.feed);
                if is_still && one.records.is_taken() {
                    self.finish(now, index);
                }
                took
            }
        }
    }

    /// All that a rank recorded is taken.
    fn finish(&mut self, now: Now, index: usize) {
        let rank = Rank(self.first + index as u32);
        let one = &mut self.ranks[index];
        one.life = Life::Finished;
        let ended = one.ended.map(|how| RankEnded {
            rank,
            how,
            inside: one.records.inside(),
        });
        let actions = self.pauses.finished(now.ns, rank);
        self.act(now, actions);
        if let Some(ended) = ended {
            self.abnormal = true;
            self.run(now, Input::Local(Up::RankEnded(ended)));
        }
    }

    /// Nothing more comes from the ranks.
    fn is_through(&self, now: Now) -> bool {
        let late = now.ns.saturating_sub(self.started_ns) > ATTACH_NS;
        let through =
            |one: &OneRank| one.life == Life::Finished || (one.life == Life::Absent && late);
        self.ranks.iter().all(through)
    }

    /// Whether a rank that has ended otherwise than through `MPI_Finalize` is still on its way: in
    /// `MPI_Abort`, or its supervisor lingers. Tool processes that left the job before it would be
    /// what its launcher says of the end.
    fn has_leaving(&self) -> bool {
        let Some(supervisors) = &self.supervisors else {
            return false;
        };
        let mut ranks = (self.first..).map(Rank).zip(&self.ranks);
        ranks.any(|(rank, one)| one.ended.is_some() && supervisors.has(rank))
    }

    /// Says so when all ranks are through, and leaves when nobody is left to say so to.
    fn conclude(&mut self, now: Now) {
        if !self.is_through(now) {
            self.through_ns = now.ns;
            return;
        }
        // What the ranks sent is known where it is matched, and everybody by name, before the last
        // questions are asked.
        let waits = self.feed.analyses.traffic().is_waiting() || self.wants_groups;
        let since_ns = now.ns.saturating_sub(self.through_ns);
        let stays = (waits && since_ns < PEERS_NS) || (self.has_leaving() && since_ns < LEAVING_NS);
        if !self.drained && !stays {
            self.drained = true;
            self.run(now, Input::Local(Up::Drained));
        }
        if let Some(since) = self.root_lost_ns {
            self.release();
            if now.ns.saturating_sub(since) > WITHOUT_ROOT_NS {
                self.exit.get_or_insert(Exit::RootLost);
            }
        }
    }
}

#[cfg(test)]
mod tests;
