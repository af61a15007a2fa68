//! The ranks of a place with their supervisors, and the feed that their records go through.

use super::local_rank::{Life, LocalRank};
use crate::analyses::Analyses;
use crate::cuts::Cuts;
use crate::displaced::Displaced;
use crate::gates;
use crate::memory::Memory;
use crate::metric_series::MetricSeries;
use crate::notes::{Notes, Trouble};
use crate::rank::{Feed, RankRecords};
use crate::store::Budget;
use crate::supervisors::Supervisors;
use crate::time_point::{LATENCY_NS, Now, TimePoint};
use invivo_mpi_link::clock::{self, NodeClock};
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::regions::Unrecorded;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::{Rank, RegionId, WorldRank};
use invivo_proto::packet::Header;
use invivo_proto::rank_set::RankSet;
use invivo_proto::shm::{recording, region_loss};
use invivo_tbon::job_time::JobClock;
use invivo_tbon::layout::Layout;
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

/// The ranks of this place.
pub struct LocalRanks {
    pub layout: Layout,
    pub me: WorldRank,
    set: RankSet,
    pub ranks: Vec<LocalRank>,
    pub feed: Feed,
    pub supervisors: Option<Supervisors>,
    /// They had another place, which has died: what it left is taken, and nothing else.
    pub salvages: bool,
    /// When the first rank was seen.
    seen_ns: Option<u64>,
    /// What of the tools' time the ranks lacked; looked at when somebody asks.
    displaced: Cell<Displaced>,
}

impl LocalRanks {
    /// The ranks that the layout gives to the place `me`, none of which is there yet.
    pub fn new(
        layout: Layout,
        me: WorldRank,
        supervisors: Option<Supervisors>,
        clock: NodeClock,
    ) -> LocalRanks {
        let set = layout.ranks_at(me).unwrap_or(RankSet::from(0..0));
        let latency_ticks = clock.duration_ticks(LATENCY_NS);
        LocalRanks {
            layout,
            me,
            set,
            ranks: set.iter().map(LocalRank::new).collect(),
            feed: Feed {
                analyses: Analyses::new(layout, me, clock),
                cuts: Cuts::default(),
                budget: Budget::new(0, 0),
                notes: Notes::default(),
                latency_ticks,
                taps: None,
                is_lost: false,
            },
            supervisors,
            salvages: false,
            seen_ns: None,
            displaced: Cell::default(),
        }
    }

    /// The first rank was seen then, in ns of the node.
    pub fn seen_since(&mut self, seen_ns: u64) {
        self.seen_ns = Some(seen_ns);
    }

    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// The number here of a rank of the job; nothing where it is another place's.
    pub fn index(&self, rank: Rank) -> Option<usize> {
        self.set.index(rank)
    }

    /// All ranks by their numbers in the job.
    pub fn set(&self) -> RankSet {
        self.set
    }

    /// The number in the job of the rank with this number here, which must be one.
    pub fn rank(&self, index: usize) -> Rank {
        self.set.nth(index).unwrap_or(Rank(u32::MAX))
    }

    /// All ranks by their numbers in the job.
    pub fn numbers(&self) -> impl Iterator<Item = Rank> + use<> {
        self.set.iter()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Rank, &LocalRank)> {
        self.numbers().zip(&self.ranks)
    }

    pub fn memory(&self, rank: Rank) -> Option<&Memory> {
        self.ranks[self.index(rank)?].memory()
    }

    /// Whether the supervisor of a rank is there.
    pub fn has_supervisor(&self, rank: Rank) -> bool {
        let supervisors = self.supervisors.as_ref();
        supervisors.is_some_and(|supervisors| supervisors.has(rank))
    }

    /// Sends a message to the supervisor of a rank. False when it is not there or takes nothing.
    pub fn tell(&mut self, rank: Rank, message: &ToSupervisor) -> bool {
        self.supervisors
            .as_mut()
            .is_some_and(|supervisors| supervisors.tell(rank, message))
    }

    /// A point in time, with the node's clock and this of the job.
    pub fn time_point<'a>(&'a self, now: Now, job: &'a JobClock) -> TimePoint<'a> {
        TimePoint::new(now, self.feed.analyses.clock(), job)
    }

    /// Metrics count from this job time on.
    pub fn reset_metrics(&mut self, at_ns: u64) {
        for one in &mut self.ranks {
            one.metrics.reset(at_ns);
        }
    }

    /// The node's clock was measured again.
    pub fn refine_clock(&mut self) {
        let mut clock = self.feed.analyses.clock().clone();
        clock.refine(clock::read());
        self.feed.analyses.set_clock(clock);
    }

    /// A message that should be a packet came from `from`; nothing where MPI could not bring it
    /// whole.
    pub fn packet(&mut self, from: WorldRank, message: Option<&[u8]>) {
        // The header's rank must be MPI's sender: nobody writes into the records of another rank.
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

    /// Attaches a rank with the memory that its supervisor sent. Whether it was accepted.
    pub fn attach(&mut self, now: Now, rank: Rank, pid: u32, descriptor: &OwnedFd) -> bool {
        let Some(index) = self.index(rank) else {
            return false;
        };
        let said = |memory: &Memory| memory.page().rank.load(Ordering::Relaxed);
        let why = match Memory::map(descriptor) {
            // A rank attaches once: a second memory would hide the records left in the first.
            Ok(memory) if said(&memory) == rank.0 && self.ranks[index].life == Life::Absent => {
                match self.salvages {
                    true => self.ranks[index].salvage(memory),
                    false => self.ranks[index].attach(memory, pid),
                }
                self.say_what_is_wanted();
                self.seen_ns.get_or_insert(now.ns);
                self.displaced_ns(now.ns);
                return true;
            }
            Ok(memory) => format!(
                "its memory is refused; it says that it is of rank {}, or came twice",
                said(&memory)
            ),
            Err(error) => format!("{error}; not observed"),
        };
        self.feed
            .notes
            .add(Trouble::Memory, || format!("rank {rank}: {why}"));
        false
    }

    /// Tells the ranks whether somebody wants to know where calls are made, and of their regions.
    /// They note it from the moment at which it is planned, so that nothing behind a switch lacks
    /// it.
    pub fn say_what_is_wanted(&self) {
        let switches = &self.feed.analyses.switches;
        let without = |analysis| u32::from(!switches.wants(analysis));
        let (sites, regions) = (without(Analysis::Sites), without(Analysis::Regions));
        for memory in self.ranks.iter().filter_map(LocalRank::memory) {
            let control = &memory.page().control;
            control.without_sites.store(sites, Ordering::Relaxed);
            control.without_regions.store(regions, Ordering::Relaxed);
        }
    }

    /// Whether a rank does not record a region.
    pub fn is_off(&self, rank: Rank, region: RegionId) -> bool {
        let memory = self.memory(rank);
        memory.is_some_and(|memory| memory.page().control.off.has(region))
    }

    /// What ranks have not recorded of their regions, as they count it.
    pub fn unrecorded_regions(&self) -> Unrecorded {
        let mut all = Unrecorded::default();
        for memory in self.ranks.iter().filter_map(LocalRank::memory) {
            for status in memory.locations() {
                let of = |why: usize| status.region_losses[why].load(Ordering::Relaxed);
                all.dropped = all.dropped.saturating_add(of(region_loss::DROPPED));
                all.repaired = all.repaired.saturating_add(of(region_loss::REPAIRED));
                all.too_deep = all.too_deep.saturating_add(of(region_loss::TOO_DEEP));
            }
        }
        all
    }

    /// A rank's supervisor hung up: the rank counts as killed.
    pub fn supervisor_lost(&mut self, now: Now, rank: Rank, how: Ended) {
        let Some(index) = self.index(rank) else {
            return;
        };
        if self.ranks[index].life == Life::Alive {
            self.feed.notes.add(Trouble::Supervisor, || {
                format!(
                    "the supervisor of rank {rank} went away without a word: the rank counts as \
                     killed"
                )
            });
        }
        // The rank may live on for a moment, so its records are not yet complete.
        self.ranks[index].orphaned(now.ns);
        self.ranks[index].process_ended(how, false);
    }

    /// Nothing more comes from the ranks. Of one that has not come by the time that `is_late` says
    /// nothing ever does.
    pub fn are_through(&self, is_late: bool) -> bool {
        self.ranks
            .iter()
            .all(|one| one.life == Life::Finished || (one.life == Life::Absent && is_late))
    }

    /// Whether a rank that has ended otherwise than through `MPI_Finalize` is still on its way: in
    /// `MPI_Abort`, or its supervisor lingers. Tool processes that left the job before it would be
    /// what its launcher says of the end.
    pub fn has_leaving(&self) -> bool {
        let Some(supervisors) = &self.supervisors else {
            return false;
        };
        self.iter()
            .any(|(rank, one)| one.ended.is_some() && supervisors.has(rank))
    }

    /// Lets the supervisors of ended ranks leave.
    pub fn release(&mut self) {
        let Some(supervisors) = &mut self.supervisors else {
            return;
        };
        for (rank, one) in self.set.iter().zip(&mut self.ranks) {
            if one.life == Life::Finished && std::mem::take(&mut one.lingers) {
                supervisors.tell(rank, &ToSupervisor::Leave);
            }
        }
    }

    /// The end of the job was requested, and SIGKILL may follow: the socket's file is removed now
    /// where all ranks are attached.
    pub fn withdraw_socket(&mut self) {
        let all_are_here = self.ranks.iter().all(|one| one.life != Life::Absent);
        if let Some(supervisors) = self.supervisors.as_mut().filter(|_| all_are_here) {
            supervisors.withdraw();
        }
    }

    /// Forgets what lies before the last reset, if that has not been done by the records
    /// themselves.
    pub fn forget(&mut self) {
        let resets = self.feed.cuts.resets();
        self.feed
            .analyses
            .forget_to(resets, self.feed.cuts.reset_job_ns());
        // The records do this by themselves at their next call; idle threads have none.
        for one in &mut self.ranks {
            one.records.forget_to(resets);
        }
    }

    /// Gives up all that is held of the ranks, with a note why: what they recorded counts as
    /// dropped.
    pub fn lose_records(&mut self) {
        let clock = self.feed.analyses.clock().clone();
        // Notes and clock survive: they hold no records, and a status still needs them.
        let mut notes = std::mem::take(&mut self.feed.notes);
        notes.add(Trouble::Panic, || {
            format!(
                "tool place {} failed in itself: what it held of ranks {} is lost, and they run on \
                 unobserved",
                self.me, self.set
            )
        });
        for one in &mut self.ranks {
            one.metrics = MetricSeries::default();
        }
        self.feed = Feed {
            analyses: Analyses::new(self.layout, self.me, clock),
            cuts: Cuts::default(),
            budget: Budget::new(0, 0),
            notes,
            latency_ticks: self.feed.latency_ticks,
            taps: None,
            is_lost: true,
        };
    }

    /// Lets the ranks run on unobserved, with open gates.
    pub fn let_go(&mut self, now: Now) {
        for LocalRank { records, .. } in &mut self.ranks {
            *records = std::mem::replace(records, RankRecords::new(records.rank())).lost();
            if let Some(memory) = records.memory() {
                // The epoch only changes where recording begins, so it stays at the switch to off.
                let word = memory.page().control.recording.load(Ordering::Relaxed);
                gates::switch(memory, false, recording::epoch(word), now.ticks);
                gates::open(memory);
            }
        }
    }

    /// How complete an answer of this moment is.
    pub fn coverage(&self, now: Now) -> Coverage {
        let observer_cpu_ns = self.observer_cpu_ns();
        let mut coverage = Coverage {
            tool_cpu_ns: clock::cpu_ns().saturating_add(observer_cpu_ns),
            observer_cpu_ns,
            displaced_ns: self.displaced_ns(now.ns),
            ..Coverage::default()
        };
        for one in &self.ranks {
            let samples_ns = &mut coverage.overhead_samples_ns;
            *samples_ns = samples_ns.saturating_add(one.sampled_ns);
            coverage.overhead_ns = coverage.overhead_ns.saturating_add(one.sampled_ns);
            one.records.add_coverage(
                now.ticks,
                |ticks| self.feed.analyses.clock().duration_ns(ticks),
                &mut coverage,
            );
            invivo_tbon::coverage::add(&mut coverage.ledger, &one.records.ledger());
        }
        coverage
    }

    /// Time on processors of what samples and measures the ranks, in ns.
    fn observer_cpu_ns(&self) -> u64 {
        let spent = self.ranks.iter().map(|one| one.spent_ns);
        spent.fold(0, u64::saturating_add)
    }

    /// Looks at what the ranks lack of processors, if nobody has for a while.
    pub fn note_displaced(&self, now_ns: u64) {
        let is_seen = self.seen_ns.is_some();
        if is_seen && self.displaced.get().is_due(now_ns) {
            self.displaced_ns(now_ns);
        }
    }

    /// What of our time on processors the ranks lacked, in ns.
    fn displaced_ns(&self, now_ns: u64) -> u64 {
        let mut displaced = self.displaced.get();
        let running = self.ranks.iter().filter(|one| one.life == Life::Alive);
        let pids = running.filter_map(|one| one.pid);
        let displaced_ns = displaced.until(now_ns, self.observer_cpu_ns(), pids);
        self.displaced.set(displaced);
        displaced_ns
    }

    /// Time since the first rank was seen, or since the first call that it was ahead with by then,
    /// in ns.
    pub fn observed_ns(&self, now: Now) -> u64 {
        let seen = self
            .seen_ns
            .map_or(0, |seen_ns| now.ns.saturating_sub(seen_ns));
        let analyses = &self.feed.analyses;
        let begun = analyses.begun().map_or(0, |ticks| {
            analyses
                .clock()
                .duration_ns(now.ticks.saturating_sub(ticks))
        });
        seen.max(begun)
    }
}
