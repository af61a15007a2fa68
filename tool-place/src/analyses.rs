//! The analyses of one place: each that is on gets every call of every rank, and queries read
//! their results.

mod answers;
mod between_ranks;
mod end_piece;
mod pieces;
mod regions;

use crate::over_time::{JobTime, OverTime, Span};
use crate::time_point::{Now, TimePoint};
use crate::traffic::Traffic;
use invivo_analysis::communicators::Communicators;
use invivo_analysis::functions::{Functions, bytes};
use invivo_analysis::groups::{self, Groups};
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::pauses::Pauses;
use invivo_analysis::regions::Regions;
use invivo_analysis::sites::{Counts, Sites};
use invivo_analysis::switches::{Share, Switches};
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::analyses::{AnalysesStatus, Analysis};
use invivo_proto::definition::{Definition, DefinitionError};
use invivo_proto::ids::{CommId, CommLocal, LocationId, Rank, WorldRank};
use invivo_proto::mpi::is_initialisation;
use invivo_proto::rank_set::RankSet;
use invivo_proto::record::{Call, Part};
use invivo_tbon::job_time::JobClock;
use invivo_tbon::layout::Layout;
use pieces::Pieces;

/// The analyses of one place.
pub struct Analyses {
    clock: NodeClock,
    /// Which of them are on.
    pub switches: Switches,
    /// How often matching has begun anew, see [`Switches::matching`].
    matchings: u64,
    /// Functions, sites and waits count in the piece of the run that is not over.
    pieces: Pieces,
    functions: Functions,
    sites: Sites,
    regions: Regions,
    /// Some rank has regions: others pay nothing for them.
    has_regions: bool,
    matrix: MatrixLeaf,
    traffic: Traffic,
    /// Groups that came since they were last sent up.
    groups: Groups,
    /// Ranks that the job has.
    job_ranks: u32,
    numbers: RankSet,
    ranks: Vec<OfRank>,
    /// Resets made so far.
    resets: u64,
    /// See [`Analyses::begun`].
    begun: Option<u64>,
    /// A point in time by both names: ticks, and job time in ns.
    anchor: (u64, u64),
    /// Since when job time is known, in ticks: what was before has no place on its axis.
    known_since: Option<u64>,
}

#[derive(Default)]
struct OfRank {
    pauses: Pauses,
    mpi_ns: u64,
    /// Its first call has come.
    begun: bool,
    over_time: OverTime,
}

impl Analyses {
    /// Of the place `me` in this layout.
    pub fn new(layout: Layout, me: WorldRank, clock: NodeClock) -> Analyses {
        let numbers = layout.ranks_at(me).unwrap_or(RankSet::from(0..0));
        Analyses {
            clock,
            switches: Switches::default(),
            matchings: 0,
            pieces: Pieces::new(numbers.len()),
            functions: Functions::default(),
            sites: Sites::default(),
            regions: Regions::default(),
            has_regions: false,
            matrix: MatrixLeaf::default(),
            traffic: Traffic::new(layout, me),
            groups: Groups::new(),
            job_ranks: layout.app(),
            ranks: numbers.iter().map(|_| OfRank::default()).collect(),
            numbers,
            resets: 0,
            begun: None,
            anchor: (0, 0),
            known_since: None,
        }
    }

    /// The node's clock.
    pub fn clock(&self) -> &NodeClock {
        &self.clock
    }

    /// The node's clock was measured again.
    pub fn set_clock(&mut self, clock: NodeClock) {
        self.clock = clock;
    }

    /// Time has passed; job time is known as well as it can be now.
    pub fn set_time(&mut self, now: Now, job: &JobClock) {
        let moment = TimePoint::new(now, &self.clock, job);
        self.traffic.set_time(&moment);
        self.anchor = (moment.ticks(), moment.job_ns());
        if moment.is_known() {
            // The root's own clock is job time: there it was known before the first call.
            let since = if moment.error_ns() == 0 {
                0
            } else {
                moment.ticks()
            };
            self.known_since.get_or_insert(since);
        }
    }

    /// Calls have a place on the axis of time from then on, in ticks.
    pub fn time_since(&mut self, ticks: u64) {
        self.known_since = Some(ticks);
    }

    /// Which analyses are on, of an answer whose sums begin at `from_ns` and that is made at
    /// `now_ns` (job time).
    pub fn status(&self, from_ns: u64, now_ns: u64) -> AnalysesStatus {
        self.switches
            .status(self.ranks.len() as u32, from_ns, now_ns)
    }

    /// Time has passed: switches may have taken effect.
    pub fn pass(&mut self, ticks: u64) {
        self.switches.pass(ticks);
        self.follow_waits();
        self.begin_matching();
    }

    /// These are on from the start.
    pub fn begin(&mut self, switches: Switches) {
        self.switches = switches;
        self.follow_waits();
    }

    fn follow_waits(&mut self) {
        let follows = self.switches.on().contains(Analysis::WaitStates);
        self.traffic.follow_waits(follows);
    }

    /// Begins to match messages, if that was switched on since they were last.
    #[inline]
    fn begin_matching(&mut self) {
        let (matchings, at) = self.switches.matching();
        if self.matchings != matchings {
            self.matchings = matchings;
            self.traffic.begin_anew(at, &self.clock);
            self.note_waiting();
        }
    }

    /// Takes in a batch of ends of messages from another place.
    ///
    /// # Errors
    /// Why it is not used, or not all of it.
    pub fn arrive(&mut self, from: WorldRank, bytes: &[u8]) -> Result<(), String> {
        let endpoints = Traffic::read(from, bytes)?;
        // They may be the first that is heard from behind a switch; to begin anew after they have
        // been taken in would give them up.
        let until_ns = endpoints.sends.iter().map(|send| send.end_ns).max();
        self.switches.pass_job_ns(until_ns.unwrap_or(0));
        self.begin_matching();
        let arrived = self.traffic.arrive(&endpoints);
        self.note_waiting();
        arrived
    }

    /// Messages on their way to other places.
    pub fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    /// Where the calls of a rank's thread go. The rank must be one of this place's.
    pub fn sink(&mut self, LocationId { rank, thread }: LocationId) -> OneSink<'_> {
        OneSink {
            rank,
            thread,
            index: self.index(rank),
            analyses: self,
        }
    }

    /// Forgets all calls, if a reset has taken effect that was not made here: the last one at
    /// `at_ns`, in job time. Definitions stay, and pauses.
    pub fn forget_to(&mut self, resets: u64, at_ns: u64) {
        if self.resets != resets {
            self.resets = resets;
            self.pieces.forget(at_ns);
            self.functions.reset();
            self.sites.reset();
            self.regions.reset();
            self.matrix.reset();
            self.traffic.reset(at_ns, resets);
            // `begun` stays: it is the job's beginning, not that of the recording.
            for of_rank in &mut self.ranks {
                of_rank.mpi_ns = 0;
                of_rank.over_time = OverTime::default();
            }
        }
    }

    /// A rank defined something.
    ///
    /// # Errors
    /// When the definition is malformed.
    pub fn define(
        &mut self,
        rank: Rank,
        definition: &Definition<'_>,
    ) -> Result<(), DefinitionError> {
        self.matrix.learn(rank, definition);
        self.sites.learn(rank, definition);
        self.regions.learn(rank, definition);
        // Sends that waited for a communicator's definition are looked through again.
        self.traffic.learn(definition);
        groups::learn(&mut self.groups, definition)
    }

    /// What the ranks defined of their communicators.
    pub fn communicators(&self) -> &Communicators {
        self.matrix.communicators()
    }

    /// A rank's pause begins, in ticks.
    pub fn pause(&mut self, rank: Rank, at: u64) {
        let index = self.index(rank);
        self.ranks[index].pauses.begin(at);
        self.traffic.pause(at, &self.clock);
    }

    /// All pauses in force end, in ticks.
    pub fn resume(&mut self, at: u64) {
        self.ranks
            .iter_mut()
            .for_each(|of_rank| of_rank.pauses.end(at));
        self.traffic.resume(at, &self.clock);
    }

    /// When the first rank had begun, in ticks: behind its initialisation, or where its first
    /// recorded call began. The place itself may be busy beginning then, so that ranks are some
    /// calls ahead when it sees them.
    pub fn begun(&self) -> Option<u64> {
        self.begun
    }

    /// Time in MPI of a rank so far, but for its initialisation, in ns.
    pub fn mpi_ns(&self, rank: Rank) -> u64 {
        self.ranks[self.index(rank)].mpi_ns
    }

    /// What a rank did over time, and its pauses.
    pub fn over_time(&self, rank: Rank) -> (&OverTime, &Pauses) {
        let of_rank = &self.ranks[self.index(rank)];
        (&of_rank.over_time, &of_rank.pauses)
    }

    /// Since when calls have a place on the axis of time, in ticks; nothing before job time is
    /// known, or the first call has come.
    pub fn timed_since(&self) -> Option<u64> {
        Some(self.begun?.max(self.known_since?))
    }

    /// The number here of a rank, which must be one of this place's.
    fn index(&self, rank: Rank) -> usize {
        // One of another place is beyond the ranks: a panic, and the guard gives the place up.
        self.numbers.index(rank).unwrap_or(usize::MAX)
    }

    /// Groups that were defined since the last call.
    pub fn take_groups(&mut self) -> Groups {
        std::mem::take(&mut self.groups)
    }

    /// Communicators with unknown members that are to be requested.
    pub fn wanted_groups(&mut self) -> Vec<CommId> {
        // The matrix has met them as well, where it is on.
        for (rank, comm, peer) in self.traffic.take_unresolved() {
            self.matrix.meet(rank, comm, peer);
        }
        self.matrix.wanted()
    }

    /// A peer was met: if nobody knows who it is, its group is wanted.
    pub fn meet(&mut self, rank: Rank, comm: CommLocal, peer: i32) {
        self.matrix.meet(rank, comm, peer);
    }

    /// Members of communicators, as reported by other places.
    pub fn learn_groups(&mut self, groups: Groups) {
        self.matrix.learn_groups(groups);
        self.traffic.define();
    }

    /// What waited for definitions goes on, if some came.
    pub fn resolve(&mut self) {
        self.traffic.resolve(self.matrix.communicators());
        self.note_waiting();
    }

    /// Records of a rank were lost before `at`, in ticks.
    pub fn lost(&mut self, rank: Rank, at: u64) {
        self.sites.interrupt_all(Some(rank));
        self.traffic
            .lost(rank, at, self.matrix.communicators(), &self.clock);
        self.note_waiting();
    }

    /// What ranks record has changed: iterations do not go across it.
    pub fn record_others(&mut self) {
        self.sites.interrupt_all(None);
    }

    /// A rank was in a call that sent so much.
    #[inline]
    fn spend(&mut self, index: usize, call: Span, bytes: u64) {
        if !self.ranks[index].over_time.add(call, bytes) {
            self.spend_elsewhere(index, call, bytes);
        }
    }

    #[cold]
    fn spend_elsewhere(&mut self, index: usize, mut call: Span, bytes: u64) {
        let Some(since) = self.known_since.filter(|&since| since <= call.end) else {
            return;
        };
        call.begin = call.begin.max(since);
        let (clock, anchor) = (&self.clock, self.anchor);
        let OfRank {
            over_time, pauses, ..
        } = &mut self.ranks[index];
        over_time.turn(call, bytes, pauses, &JobTime { anchor, clock });
    }
}

/// What a call and its parts sent, in bytes.
#[inline]
fn sent(call: &Call, parts: &[Part]) -> u64 {
    let of_parts = parts.iter().map(|part| bytes(&part.facts).0);
    of_parts.fold(bytes(&call.facts).0, u64::saturating_add)
}

/// Where one rank's calls go.
pub struct OneSink<'a> {
    rank: Rank,
    thread: u16,
    index: usize,
    analyses: &'a mut Analyses,
}

impl OneSink<'_> {
    /// The ticks of a time of `CLOCK_MONOTONIC` on this node.
    pub fn ticks_of(&self, monotonic_ns: u64) -> u64 {
        self.analyses.clock.at_ticks(monotonic_ns)
    }

    /// A call and its parts; `clipped` where that is only a part of the call.
    #[inline]
    pub fn call(&mut self, call: &Call, parts: &[Part], clipped: bool) {
        let location = self.location();
        let analyses = &mut *self.analyses;
        let begin = call.end.saturating_sub(call.duration);
        let of_rank = &mut analyses.ranks[self.index];
        // Without the time that the rank was paused by us.
        let net = of_rank.pauses.net(begin, call.end);
        let duration_ns = analyses.clock.duration_ns(net.ticks);
        let initialises = is_initialisation(call.facts.region);
        if !of_rank.begun {
            // Observed time begins behind the initialisation, or where a recording that was
            // switched on later begins.
            of_rank.begun = true;
            let begun = if initialises { call.end } else { begin };
            analyses.begun = Some(analyses.begun.map_or(begun, |earlier| earlier.min(begun)));
        }
        if !initialises {
            of_rank.mpi_ns = of_rank.mpi_ns.saturating_add(duration_ns);
        }
        let Some(on) = analyses.switches.plain(begin, call.end) else {
            return self.call_near_switch(call, parts, duration_ns, clipped);
        };
        if on.contains(Analysis::Functions) {
            analyses
                .functions
                .record(self.rank, call, parts, duration_ns, clipped);
        }
        if on.contains(Analysis::Sites) {
            let counts = Counts {
                duration_ns,
                ticks: net.ticks,
                clipped,
                since: analyses.switches.on_since(Analysis::Sites),
            };
            let pauses = &of_rank.pauses;
            let net = |from, to| pauses.net(from, to).ticks;
            analyses.sites.record(location, call, parts, &counts, net);
        }
        if on.contains(Analysis::Matrix) {
            analyses.matrix.record(self.rank, call, parts);
        }
        if on.contains(Analysis::Grid) {
            let end = call.end;
            // No time is observed before the end of the initialisation.
            let (begin, net) = if initialises {
                (end, 0)
            } else {
                (begin, net.ticks)
            };
            analyses.spend(self.index, Span { begin, end, net }, sent(call, parts));
        }
    }

    /// The same of a call that a switch may have cut: what lies before counts for nothing.
    #[cold]
    fn call_near_switch(&mut self, call: &Call, parts: &[Part], duration_ns: u64, clipped: bool) {
        let location = self.location();
        let analyses = &mut *self.analyses;
        let begin = call.end.saturating_sub(call.duration);
        let Share { on, from } = analyses.switches.judge(begin, call.end);
        let pauses = &analyses.ranks[self.index].pauses;
        let behind = |analysis: Analysis| {
            let from = from[analysis as usize];
            if from > begin {
                let behind = pauses.net(from, call.end);
                (analyses.clock.duration_ns(behind.ticks), true)
            } else {
                (duration_ns, clipped)
            }
        };
        if on.contains(Analysis::Functions) {
            let (duration_ns, clipped) = behind(Analysis::Functions);
            let functions = &mut analyses.functions;
            functions.record(self.rank, call, parts, duration_ns, clipped);
        }
        if on.contains(Analysis::Sites) {
            let (duration_ns, clipped) = behind(Analysis::Sites);
            let counts = Counts {
                duration_ns,
                ticks: pauses.net(begin, call.end).ticks,
                clipped,
                since: from[Analysis::Sites as usize],
            };
            let net = |from, to| pauses.net(from, to).ticks;
            analyses.sites.record(location, call, parts, &counts, net);
        }
        if on.contains(Analysis::Matrix) {
            analyses.matrix.record(self.rank, call, parts);
        }
        if on.contains(Analysis::Grid) {
            let end = call.end;
            let begin = match is_initialisation(call.facts.region) {
                true => end,
                false => begin.max(from[Analysis::Grid as usize]),
            };
            let net = analyses.ranks[self.index].pauses.net(begin, end).ticks;
            analyses.spend(self.index, Span { begin, end, net }, sent(call, parts));
        }
    }

    /// More parts of the call before, which was from `begin` to `end` (ticks).
    pub fn more(&mut self, begin: u64, end: u64, parts: &[Part]) {
        let share = self.analyses.switches.judge(begin, end);
        if share.on.contains(Analysis::Functions) {
            self.analyses.functions.record_more(self.rank, parts);
        }
        if share.on.contains(Analysis::Sites) {
            self.analyses.sites.record_more(self.rank, parts);
        }
        if share.on.contains(Analysis::Matrix) {
            self.analyses.matrix.record_more(self.rank, parts);
        }
        if share.on.contains(Analysis::Grid) {
            let sent = parts.iter().map(|part| bytes(&part.facts).0).sum();
            self.analyses.ranks[self.index].over_time.more(sent);
        }
    }

    /// As [`Analyses::forget_to`].
    pub fn forget_to(&mut self, resets: u64, at_ns: u64) {
        self.analyses.forget_to(resets, at_ns);
    }
}
