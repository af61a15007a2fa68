//! Exchanges ends of messages with other places, where sends and receives are matched.
//!
//! Job time and definitions are added here; batches to other places are encoded and theirs decoded.

use crate::over_time::JobTime;
use crate::time_point::TimePoint;
use invivo_analysis::communicators::Communicators;
use invivo_analysis::messages::{Messages, Of, PlaceOf};
use invivo_analysis::waits::{Sums, Waiting, Waits};
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::peer::{Clipping, ENDPOINTS_MAX, Endpoints, PEER_BYTES_MAX};
use invivo_proto::control::places::Places;
use invivo_proto::control::{decode, encode, results};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommLocal, Rank, WorldRank};
use invivo_proto::rank_set::RankSet;
use invivo_proto::record::{Call, Part};
use invivo_tbon::directory::Directory;
use invivo_tbon::layout::Layout;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sends wait no longer than this for others to go with them. A tenth of the latency bound of
/// records.
const BATCH_NS: u64 = crate::time_point::LATENCY_NS / 10;

/// How well job time must be known before it is put to messages, in ns: what a question to the
/// parent takes on a busy machine. Until then they have the node's own time, and those to other
/// places wait.
const ERROR_NS_MAX: u64 = 1_000_000;
/// If it does not come to that within so long, it is taken as it is.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Messages of this place's ranks, and of other places to them.
pub struct Traffic {
    me: WorldRank,
    /// Where the layout does not say which place a rank reports to.
    directory: Option<Arc<Mutex<Directory>>>,
    messages: Messages,
    waits: Waits,
    /// Whether waits for late senders count.
    follows_waits: bool,
    /// A point in time by both names: ticks, and job time in ns.
    anchor: (u64, u64),
    /// Job time is known well enough, and put to messages.
    is_known: bool,
    /// Since when it is known at all, by the node's own clock.
    known_ns: Option<u64>,
    /// How far it may be off, in ns.
    error_ns: u64,
    /// Definitions came since waiting messages were looked through.
    defined: bool,
    batched_ns: u64,
    /// In the turn before, sends went before what is told of collectives.
    sends_go_first: bool,
}

/// When a call was, in ticks, and what became of it. Given on by reference: a copy is read in whole
/// words right after its fields were written one by one, for which a processor stalls.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Entered.
    pub begin: u64,
    /// Left.
    pub end: u64,
    /// The epoch of recording.
    pub epoch: u32,
    /// Whether it counts.
    pub clipping: Clipping,
}

impl When {
    /// The same of a rank, with what is known here.
    #[inline]
    fn of<'a>(
        &self,
        rank: Rank,
        anchor: (u64, u64),
        communicators: &'a Communicators,
        clock: &'a NodeClock,
    ) -> Of<'a, impl Fn(u64) -> u64 + 'a> {
        Of {
            rank,
            epoch: self.epoch,
            begin: self.begin,
            end: self.end,
            clipping: self.clipping,
            communicators,
            job_ns: move |ticks| job_ns(anchor, clock, ticks),
        }
    }
}

impl Traffic {
    /// Of the place `me` in this layout.
    pub fn new(layout: Layout, me: WorldRank) -> Traffic {
        let directory = Directory::new(layout, me).map(|one| Arc::new(Mutex::new(one)));
        let place_of = || -> PlaceOf {
            match directory.clone() {
                None => Box::new(move |rank| Some(layout.known_place_of(rank)?.0)),
                Some(directory) => Box::new(move |rank| Some(locked(&directory).place_of(rank)?.0)),
            }
        };
        let places = u64::from(layout.places().max(1));
        let home_of = Box::new(move |number: u64| layout.place((number % places) as u32).0);
        let ranks = layout.ranks_at(me).unwrap_or(RankSet::from(0..0));
        Traffic {
            me,
            directory: directory.clone(),
            messages: Messages::new(ranks, layout.app(), place_of()),
            waits: Waits::new(ranks, layout.app(), me.0, home_of, place_of()),
            follows_waits: true,
            anchor: (0, 0),
            is_known: false,
            known_ns: None,
            error_ns: 0,
            defined: false,
            batched_ns: 0,
            sends_go_first: false,
        }
    }

    /// Time has passed; job time is known as well as it can be now.
    pub fn set_time(&mut self, moment: &TimePoint<'_>) {
        if !self.is_known {
            let since_ns = moment
                .is_known()
                .then(|| *self.known_ns.get_or_insert(moment.ns()));
            let waited = since_ns
                .is_some_and(|since_ns| moment.ns().saturating_sub(since_ns) >= PATIENCE_NS);
            self.is_known = waited || moment.error_ns() <= ERROR_NS_MAX;
            if !self.is_known {
                // Node time for the present, with an unbounded error so that no order is claimed by
                // it.
                self.anchor = (moment.ticks(), moment.ns());
                self.messages.set_clock_error(u64::MAX);
                return;
            }
            // What was recorded so far has the node's time: it is shifted, once, by the offset
            // known now.
            let offset_ns = moment.job_ns().wrapping_sub(moment.ns()).cast_signed();
            self.messages.learn_time(offset_ns, moment.error_ns());
            self.waits.learn_time(offset_ns);
        }
        self.anchor = (moment.ticks(), moment.job_ns());
        self.set_clock_error(moment.error_ns());
        self.messages.set_reading_error(moment.reading_error_ns());
    }

    /// How far job time may be off, where that was measured elsewhere.
    pub fn set_clock_error(&mut self, error_ns: u64) {
        self.error_ns = error_ns;
        self.messages.set_clock_error(error_ns);
        self.waits.set_clock_error(error_ns);
    }

    /// A call of a rank and its parts, or more parts of it. Until job time is known they have the
    /// node's own time, and those for other places wait.
    #[inline]
    pub fn record(
        &mut self,
        rank: Rank,
        when: &When,
        call: Option<&Call>,
        parts: &[Part],
        communicators: &Communicators,
        clock: &NodeClock,
    ) {
        let of = when.of(rank, self.anchor, communicators, clock);
        match call {
            Some(call) => self.messages.record(&of, call, parts),
            None => self.messages.record_more(&of, parts),
        }
        self.take_late();
    }

    /// A collective of a rank, or a call that completes some, or more parts of it; whether or not
    /// it counts: others wait for it.
    #[inline]
    pub fn collective(
        &mut self,
        rank: Rank,
        when: &When,
        call: Option<&Call>,
        parts: &[Part],
        communicators: &Communicators,
        clock: &NodeClock,
    ) {
        let of = when.of(rank, self.anchor, communicators, clock);
        self.waits.record(&of, call, parts);
    }

    /// Whether waits for late senders count from now on.
    pub fn follow_waits(&mut self, follows: bool) {
        // What was not told is the whole of no part.
        if follows != self.follows_waits {
            self.settle();
            self.messages.follow_orders(follows);
        }
        self.follows_waits = follows;
    }

    /// All that is known of messages is told of waits; to be asked before these are.
    pub fn settle(&mut self) {
        self.messages.settle();
        self.take_late();
    }

    /// Waits for late senders that matching has found.
    #[inline]
    fn take_late(&mut self) {
        if !self.messages.has_found() {
            return;
        }
        let Traffic {
            messages,
            waits,
            follows_waits,
            ..
        } = self;
        messages.take_posts(|post| {
            if *follows_waits {
                waits.late_post(post);
            }
        });
        waits.lose_posts(messages.take_lost_posts());
        messages.take_late(|late| {
            if *follows_waits {
                waits.late(late);
            }
        });
    }

    /// Late receivers of this place's senders that another place tells of.
    fn late_posts(&mut self, endpoints: &Endpoints) -> Result<(), &'static str> {
        let told = &endpoints.meetings;
        // Those of before a reset that has been made here are forgotten.
        if told.late_posts.is_empty() || told.resets < self.waits.resets() {
            return Ok(());
        }
        let mut refused = Ok(());
        for post in &told.late_posts {
            if !self.messages.late_post(*post, endpoints.clock_error_ns) {
                refused = Err("a late receive of ranks that are not here, or not in the job");
            }
        }
        self.take_late();
        refused
    }

    /// Waits for others since this was asked last; to be asked after everything that may find some.
    #[inline]
    pub fn take_waiting(&mut self, each: impl FnMut(&Waiting)) {
        self.waits.take_waiting(each);
    }

    /// Records of a rank were lost before `at` (ticks).
    pub fn lost(&mut self, rank: Rank, at: u64, communicators: &Communicators, clock: &NodeClock) {
        let at_ns = job_ns(self.anchor, clock, at);
        self.messages.lost(rank, at_ns, communicators);
        self.take_late();
    }

    /// A rank defined something.
    pub fn learn(&mut self, definition: &Definition<'_>) {
        self.waits.define(definition);
        if let Definition::Communicator { .. }
        | Definition::Outside { .. }
        | Definition::Group { .. } = definition
        {
            self.define();
        }
    }

    /// A communicator was defined, or its members became known.
    pub fn define(&mut self) {
        self.defined = true;
        self.messages.learn();
    }

    /// What waited for definitions goes on, if some came.
    pub fn resolve(&mut self, communicators: &Communicators) {
        if std::mem::take(&mut self.defined) {
            self.messages.resolve_waiting(communicators);
            self.waits.resolve_waiting(communicators);
            self.take_late();
        }
    }

    /// The application's pause begins, in ticks.
    pub fn pause(&mut self, at: u64, clock: &NodeClock) {
        let at_ns = job_ns(self.anchor, clock, at);
        self.messages.pause(at_ns);
        self.waits.pause(at_ns);
    }

    /// The application's pause ends, in ticks.
    pub fn resume(&mut self, at: u64, clock: &NodeClock) {
        let at_ns = job_ns(self.anchor, clock, at);
        self.messages.resume(at_ns);
        self.waits.resume(at_ns);
    }

    /// Forgets the sums, for the `resets`-th time; what ended before `at_ns` (job time) does not
    /// count.
    pub fn reset(&mut self, at_ns: u64, resets: u64) {
        self.messages.reset(at_ns);
        self.waits.reset(at_ns, resets);
    }

    /// Messages are matched from `at` (ticks) on, and were not before.
    pub fn begin_anew(&mut self, at: u64, clock: &NodeClock) {
        // Before job time is known, all times are of this node's clock.
        let error_ns = if self.is_known { self.error_ns } else { 0 };
        // A sender's clock and ours: what seems to begin a little behind may have begun before.
        let at_ns = job_ns(self.anchor, clock, at).saturating_add(error_ns.saturating_mul(2));
        // What was collected is told before it is forgotten.
        self.messages.settle();
        self.messages.begin_anew(at_ns);
        self.take_late();
    }

    /// Peers whose ranks endpoints wait for, since this was asked last.
    pub fn take_unresolved(&mut self) -> Vec<(Rank, CommLocal, i32)> {
        self.messages.take_unresolved()
    }

    /// Whether endpoints of other places may be received: they are in job time, and cannot be
    /// compared with ours before that is known.
    pub fn is_ready(&self) -> bool {
        self.is_known
    }

    /// Reads a batch of process `from`, another place.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn read(from: WorldRank, bytes: &[u8]) -> Result<Endpoints, String> {
        let read = if bytes.len() > PEER_BYTES_MAX {
            Err(format!(
                "{} bytes, at most {PEER_BYTES_MAX} are allowed",
                bytes.len()
            ))
        } else {
            decode::<Endpoints>(bytes).map_err(|error| error.to_string())
        };
        // The sender's own word must agree with MPI's: matching keeps accounts by place.
        read.and_then(|endpoints| match endpoints.from == from {
            true => Ok(endpoints),
            false => Err(format!("it says that it is of process {}", endpoints.from)),
        })
    }

    /// Takes in a batch that was read.
    ///
    /// # Errors
    /// What of it is not used.
    pub fn arrive(&mut self, endpoints: &Endpoints) -> Result<(), String> {
        let arrived = self.messages.arrive(endpoints);
        self.take_late();
        arrived.map_err(|error| error.to_string())?;
        let met = self.waits.arrive(endpoints.from.0, &endpoints.meetings);
        met.and_then(|()| self.late_posts(endpoints))
            .map_err(str::to_owned)
    }

    /// Messages to other places that are due; `credit` says whether one takes another.
    pub fn take(
        &mut self,
        now_ns: u64,
        credit: impl FnMut(WorldRank) -> bool,
    ) -> Vec<(WorldRank, Vec<u8>)> {
        let waited = now_ns.saturating_sub(self.batched_ns) >= BATCH_NS;
        // By a clock that is not known no other place could use them.
        if !self.is_known || !(waited || self.messages.outgoing() >= ENDPOINTS_MAX) {
            return Vec::new();
        }
        self.batched_ns = now_ns;
        let mut credit = credit;
        // One message for each place and turn is what it has said that it takes: sends and
        // collectives go first in turns, so that many of the ones do not hold up the others.
        self.sends_go_first = !self.sends_go_first;
        let mut taken = BTreeSet::new();
        let mut all = Vec::new();
        for sends in [self.sends_go_first, !self.sends_go_first] {
            let free = |place: u32| !taken.contains(&place) && credit(WorldRank(place));
            let batches = match sends {
                true => self.messages.take_batches(self.me, free),
                false => {
                    let of = |(place, meetings)| {
                        let of = Endpoints::of_meetings(self.me, self.error_ns, meetings);
                        (place, of)
                    };
                    let meetings = self.waits.take_batches(free);
                    meetings.into_iter().map(of).collect()
                }
            };
            taken.extend(batches.iter().map(|(place, _)| *place));
            all.extend(batches);
        }
        let encoded = all.into_iter().map(|(place, endpoints)| {
            let bytes = encode(&endpoints);
            bytes.map(|bytes| (WorldRank(place), bytes))
        });
        // A batch has a bounded size, so that each can be encoded.
        encoded.flatten().collect()
    }

    /// Whether the layout leaves open which place a rank reports to.
    pub fn has_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// A message of another place about who reports where.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn learn_places(&mut self, from: WorldRank, bytes: &[u8]) -> Result<(), String> {
        let places = decode::<Places>(bytes).map_err(|error| error.to_string())?;
        let Some(directory) = &self.directory else {
            return Err("this job has no directory".to_owned());
        };
        // Sends that waited for it are looked through again.
        self.defined |= locked(directory).receive(from, places)?;
        Ok(())
    }

    /// Messages to other places about who reports where.
    pub fn take_places(&mut self) -> Vec<(WorldRank, Vec<u8>)> {
        let Some(directory) = &self.directory else {
            return Vec::new();
        };
        let taken: Vec<_> = locked(directory).take().collect();
        let encoded = taken
            .into_iter()
            .map(|(to, places)| Some((to, encode(&places).ok()?)));
        // Each is no longer than a slice of the job, so that it can be encoded.
        encoded.flatten().collect()
    }

    /// Whether sends still wait for the way to another place.
    pub fn is_waiting(&self) -> bool {
        self.messages.outgoing() != 0 || self.waits.outgoing() != 0
    }

    /// What came of messages.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Waiting.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The sums of both so far; from now on they count anew.
    pub fn take_sums(&mut self) -> (results::Messages, Sums) {
        (self.messages.take_sums(), self.waits.take_sums())
    }
}

/// The directory. A panic in it gives up the place, not the process: what it holds is as it was.
fn locked(directory: &Mutex<Directory>) -> MutexGuard<'_, Directory> {
    directory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Job time of a tick, counted from a point that both clocks know.
#[inline]
fn job_ns(anchor: (u64, u64), clock: &NodeClock, at: u64) -> u64 {
    JobTime { anchor, clock }.ns(at)
}
