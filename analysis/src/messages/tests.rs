//! Whole jobs, in any order in which their places may hear of it, against the job's own knowledge
//! of its pairs.

mod job;
mod known;
mod late;
mod outside;
mod readings;
mod several;
mod ways;

use super::completing::completes_receive;
use super::*;
use crate::moments;
use crate::moments::tests::nearly_equal;
use crate::testing::{RANKS, all_groups, definitions};
use alloc::collections::{BTreeMap, VecDeque};
use invivo_proto::control::VERSION;
use invivo_proto::control::meetings::LatePost;
use invivo_proto::control::peer::{ENDPOINTS_MAX, Endpoints};
use invivo_proto::control::results::{Messages as Sums, Traffic};
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::WorldRank;
use job::{Job, Pair, Record, Span};
use proptest::prelude::*;

/// Ticks are no nanoseconds.
fn job_ns(ticks: u64) -> u64 {
    3 * ticks + 7
}

/// All of the job.
const ALWAYS: (u64, u64) = (0, u64::MAX);

/// What a window makes of a call.
fn clipping(begin_ns: u64, end_ns: u64, (from_ns, to_ns): (u64, u64)) -> Clipping {
    match (begin_ns.max(from_ns), end_ns.min(to_ns)) {
        (begin, end) if begin >= end => Clipping::Outside,
        inside if inside == (begin_ns, end_ns) => Clipping::Whole,
        _ => Clipping::Clipped,
    }
}

/// One place with what it knows of communicators, and what is on its way to it.
struct Place {
    messages: Messages,
    communicators: Communicators,
    arriving: VecDeque<Endpoints>,
}

/// Places that hold neighbouring ranks.
struct Places {
    places: Vec<Place>,
    of_rank: Vec<usize>,
    /// Late posts on their way to other places.
    posts: VecDeque<LatePost>,
}

impl Places {
    /// A new place begins where `begins` says so.
    fn new(begins: &[bool]) -> Places {
        let mut of_rank = Vec::from([0usize]);
        for begins in &begins[1..] {
            of_rank.push(of_rank[of_rank.len() - 1] + usize::from(*begins));
        }

        let count = of_rank[of_rank.len() - 1] + 1;
        let places = (0..count).map(|place| {
            let first = of_rank.iter().position(|p| *p == place).expect("a rank");
            let ranks = of_rank.iter().filter(|p| **p == place).count();
            let places: Vec<u32> = of_rank.iter().map(|p| *p as u32).collect();
            let place_of: PlaceOf = Box::new(move |rank| Some(places[rank.0 as usize]));
            Place {
                messages: Messages::new(first as u32..(first + ranks) as u32, RANKS, place_of),
                communicators: Communicators::default(),
                arriving: VecDeque::new(),
            }
        });
        Places {
            places: places.collect(),
            of_rank,
            posts: VecDeque::new(),
        }
    }

    fn define(&mut self, rank: usize) {
        let place = &mut self.places[self.of_rank[rank]];
        for definition in definitions(Rank(rank as u32)) {
            place.communicators.define(Rank(rank as u32), &definition);
        }
        place.messages.learn();
    }

    fn learn(&mut self) {
        for place in &mut self.places {
            place.communicators.learn(all_groups());
            place.messages.learn();
        }
    }

    /// Lets go on what waited for definitions: some time after they came.
    fn resolve(&mut self) {
        for place in &mut self.places {
            place.messages.resolve_waiting(&place.communicators);
        }
    }

    /// `window`: what is recorded, in job time.
    fn record(&mut self, rank: usize, (call, parts): &Record, epoch: u32, window: (u64, u64)) {
        let place = &mut self.places[self.of_rank[rank]];
        let of = Of {
            rank: Rank(rank as u32),
            epoch,
            begin: call.end - call.duration,
            end: call.end,
            clipping: clipping(job_ns(call.end - call.duration), job_ns(call.end), window),
            communicators: &place.communicators,
            job_ns,
        };
        // What does not fit into one record is told in two pieces. Of a call that waits for several
        // senders it would have to be told before they are matched.
        let receives = parts.iter().filter(|part| completes_receive(&part.facts));
        let at = if receives.count() < 2 { 2 } else { parts.len() };
        let (first, more) = parts.split_at(parts.len().min(at));
        place.messages.record(&of, call, first);
        place.messages.record_more(&of, more);
        self.take_posts();
    }

    /// What is known now of receives that were posted late, here or on its way.
    fn take_posts(&mut self) {
        for place in &mut self.places {
            place.messages.take_posts(|post| self.posts.push_back(post));
        }
    }

    /// Another place hears of some of them.
    fn hear_posts(&mut self, count: usize) {
        for post in self.posts.drain(..count.min(self.posts.len())) {
            let place = self.of_rank[post.rank.0 as usize];
            assert!(self.places[place].messages.late_post(post, 0));
        }
    }

    /// Sends of one place set out, as far as there is credit.
    fn set_out(&mut self, place: usize, mut credit: usize) {
        let from = WorldRank(place as u32 + 100);
        let batches = self.places[place].messages.take_batches(from, |_| {
            credit = credit.saturating_sub(1);
            credit != 0
        });
        for (to, endpoints) in batches {
            assert_eq!(endpoints.from, from);
            self.places[to as usize].arriving.push_back(endpoints);
        }
    }

    /// One message arrives. Those of one place overtake those of another: each has a queue of its
    /// own in reality.
    fn arrive(&mut self, place: usize, from: usize) {
        let place = &mut self.places[place];
        let from = WorldRank(from as u32 + 100);
        let next = place
            .arriving
            .iter()
            .position(|endpoints| endpoints.from == from);
        if let Some(endpoints) = next.and_then(|at| place.arriving.remove(at)) {
            place.messages.arrive(&endpoints).expect("usable");
        }
    }

    /// Everything reaches its end.
    fn settle(&mut self) {
        for place in 0..self.places.len() {
            self.set_out(place, usize::MAX);
        }
        for place in &mut self.places {
            for endpoints in place.arriving.drain(..) {
                place.messages.arrive(&endpoints).expect("usable");
            }
        }
        self.take_posts();
        self.hear_posts(usize::MAX);
    }

    fn sums(&self) -> Sums {
        let mut sums = EMPTY;
        for place in &self.places {
            merge(&mut sums, &place.messages.to_partial());
        }
        sums
    }
}

/// Feeds the job's records: any rank's next, groups and definitions at any time, messages between
/// places whenever.
fn feed(places: &mut Places, job: &Job, order: &[usize], late: bool, window: (u64, u64)) {
    if !late {
        (0..RANKS as usize).for_each(|rank| places.define(rank));
        places.learn();
    }

    let mut next: Vec<usize> = job.records.iter().map(|_| 0).collect();
    let mut picks = order.iter().copied().cycle();
    let mut pick = || picks.next().unwrap_or_default();
    while let Some(rank) = {
        let left: Vec<usize> = (0..next.len())
            .filter(|r| next[*r] < job.records[*r].len())
            .collect();
        left.get(pick() % left.len().max(1)).copied()
    } {
        places.record(rank, &job.records[rank][next[rank]], 0, window);
        next[rank] += 1;
        let count = places.places.len();
        match pick() % 9 {
            0..=2 => places.set_out(pick() % count, pick() % 4),
            3..=5 => places.arrive(pick() % count, pick() % count),
            6 if late => places.define(pick() % RANKS as usize),
            7 if pick() % 3 == 0 => places.resolve(),
            7 if late && pick() % 3 == 0 => places.learn(),
            8 => places.hear_posts(pick() % 4),
            _ => {}
        }
    }

    (0..RANKS as usize).for_each(|rank| places.define(rank));
    places.learn();
    places.resolve();
    places.settle();
}

/// The sums over the job's own pairs.
fn naive(job: &Job, from_ns: u64, to_ns: u64, pause: Option<(u64, u64)>) -> Sums {
    let mut sums = EMPTY;
    // By call: a call waits for the last of its senders, once.
    let mut late: BTreeMap<(Rank, u64), u64> = BTreeMap::new();
    let ns = |span: &Span| (job_ns(span.begin), job_ns(span.end));
    let counts = |span: &Span| ns(span).1 > from_ns && ns(span).0 < to_ns;
    let cut = |span: &Span| ns(span).0 < from_ns || ns(span).1 > to_ns;
    let add = |to: &mut Traffic, bytes: u64| {
        to.messages += 1;
        to.bytes += bytes;
    };

    for (span, bytes) in job.sends.iter().filter(|(span, _)| counts(span)) {
        let _ = span;
        add(&mut sums.sent, *bytes);
    }

    for Pair {
        send,
        receive,
        rank,
        ..
    } in &job.pairs
    {
        let (send, bytes) = &job.sends[*send];
        match (counts(send), counts(receive)) {
            (true, true) => add(&mut sums.matched, *bytes),
            (false, false) => continue,
            _ => sums.unmatched.cut += 1,
        }
        if counts(receive) {
            add(&mut sums.received, *bytes);
        }
        if !(counts(send) && counts(receive)) {
            continue;
        }
        let ((send_begin, _), (receive_begin, end)) = (ns(send), ns(receive));
        let begin = send_begin.min(receive_begin);
        let paused = pause.is_some_and(|(from, to)| (begin.max(from)..end.min(to)).count() != 0);
        if cut(send) || cut(receive) || paused {
            sums.untimed += 1;
            continue;
        }
        moments::insert(&mut sums.transfer, end - send_begin, *rank);
        if receive_begin < send_begin {
            let longest = late.entry((*rank, end)).or_default();
            *longest = (send_begin - receive_begin).max(*longest);
        }
    }
    for ((rank, _), ns) in late {
        moments::insert(&mut sums.late_sender, ns, rank);
    }

    sums
}

/// By sender and receiver: for how long senders waited until a receive was posted; and by sender
/// alone the same of those that completed a non-blocking send, for the last of the receivers.
type LateReceivers = (BTreeMap<(Rank, Rank), u64>, BTreeMap<Rank, u64>);

fn naive_late_receivers(job: &Job) -> LateReceivers {
    let mut late: BTreeMap<(Rank, Rank), u64> = BTreeMap::new();
    for pair in &job.pairs {
        let (send, _) = job.sends[pair.send];
        let (sender, may_wait) = job.senders[pair.send];
        if may_wait && send.begin < pair.posted && pair.posted < send.end {
            *late.entry((sender, pair.rank)).or_default() += 3 * (pair.posted - send.begin);
        }
    }
    let mut completing: BTreeMap<Rank, u64> = BTreeMap::new();
    for call in job.completions.iter().filter(|call| call.may_wait) {
        let pairs = job.pairs.iter();
        let of_call = pairs.filter(|pair| call.sends.contains(&pair.send));
        let late = of_call.filter(|pair| pair.posted > job.sends[pair.send].0.end);
        let inside =
            late.filter(|pair| (call.span.begin + 1..call.span.end).contains(&pair.posted));
        if let Some(last) = inside.map(|pair| pair.posted).max() {
            *completing.entry(call.rank).or_default() += 3 * (last - call.span.begin);
        }
    }
    (late, completing)
}

/// The same as the places have found it.
fn late_receivers(places: &mut Places) -> LateReceivers {
    let mut late: BTreeMap<(Rank, Rank), u64> = BTreeMap::new();
    let mut completing: BTreeMap<Rank, u64> = BTreeMap::new();
    let waitall = job::region("MPI_Waitall");
    for place in &mut places.places {
        place.messages.take_late(|one| {
            if one.state == WaitState::LateReceiver && one.region == waitall {
                *completing.entry(one.waiter).or_default() += one.ns;
            } else if one.state == WaitState::LateReceiver {
                *late.entry((one.waiter, one.causer)).or_default() += one.ns;
            }
        });
    }
    (late, completing)
}

/// By receiver: for how long it waited for late senders although a message that it received later
/// had been sent before.
fn naive_wrong_orders(job: &Job) -> BTreeMap<Rank, u64> {
    let sent = |pair: &Pair| job.sends[pair.send].0.begin;
    // By call: the last of the senders that it waited for.
    let mut late: BTreeMap<(Rank, u64, u64), u64> = BTreeMap::new();
    for pair in job
        .pairs
        .iter()
        .filter(|pair| sent(pair) > pair.receive.begin)
    {
        let call = (pair.rank, pair.receive.begin, pair.receive.end);
        let last = late.entry(call).or_default();
        *last = sent(pair).max(*last);
    }
    let mut wrong: BTreeMap<Rank, u64> = BTreeMap::new();
    for ((rank, begin, end), last) in late {
        let was_there =
            |pair: &Pair| pair.rank == rank && pair.receive.end > end && sent(pair) < last;
        if job.pairs.iter().any(was_there) {
            *wrong.entry(rank).or_default() += 3 * (last - begin);
        }
    }
    wrong
}

/// The same as the places have found it.
fn wrong_orders(places: &mut Places) -> BTreeMap<Rank, u64> {
    let mut wrong: BTreeMap<Rank, u64> = BTreeMap::new();
    for place in &mut places.places {
        place.messages.settle();
        place.messages.take_late(|one| {
            if one.state == WaitState::LateSenderWrongOrder {
                *wrong.entry(one.waiter).or_default() += one.ns;
            }
        });
    }
    wrong
}

fn same(a: &Sums, b: &Sums) -> bool {
    let exact = |s: &Sums| (s.sent, s.received, s.matched, s.unmatched, s.untimed);
    exact(a) == exact(b)
        && nearly_equal(&a.transfer, &b.transfer)
        && nearly_equal(&a.late_sender, &b.late_sender)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pairs_are_the_jobs_own(
        steps in job::steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        late: bool,
    ) {
        let job = job::run(&steps);
        let mut places = Places::new(&begins);
        feed(&mut places, &job, &order, late, ALWAYS);
        let (sums, expected) = (places.sums(), naive(&job, 0, u64::MAX, None));
        prop_assert!(same(&sums, &expected), "{sums:#?}\n{expected:#?}");
        prop_assert_eq!(late_receivers(&mut places), naive_late_receivers(&job));
    }

    #[test]
    fn wrong_orders_are_the_jobs_own(
        steps in job::steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
    ) {
        let job = job::run(&steps);
        let mut places = Places::new(&begins);
        feed(&mut places, &job, &order, false, ALWAYS);
        prop_assert_eq!(wrong_orders(&mut places), naive_wrong_orders(&job));
    }

    #[test]
    fn a_window_and_a_pause_leave_out_what_they_touch(
        steps in job::steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        (from, length, pause, paused) in (0u64..6000, 1u64..9000, 0u64..9000, 0u64..900),
    ) {
        let job = job::run(&steps);
        let mut places = Places::new(&begins);
        for place in &mut places.places {
            place.messages.reset(from);
            place.messages.pause(pause);
            place.messages.resume(pause + paused);
        }

        feed(&mut places, &job, &order, false, (from, from + length));
        let expected = naive(&job, from, from + length, Some((pause, pause + paused)));
        prop_assert!(same(&places.sums(), &expected), "{:#?}\n{expected:#?}", places.sums());
    }

    /// Whatever is lost, nothing is counted twice and nothing is counted that was not there.
    #[test]
    fn lost_records_cost_pairs_and_invent_none(
        steps in job::steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        keep in prop::collection::vec(prop::bool::weighted(0.9), 300),
    ) {
        let mut job = job::run(&steps);
        let mut keep = keep.iter().copied().cycle();
        for records in &mut job.records {
            records.retain(|_| keep.next().unwrap_or(true));
        }

        let mut places = Places::new(&begins);
        feed(&mut places, &job, &order, false, ALWAYS);
        let sums = places.sums();
        let endpoints = sums.sent.messages + sums.received.messages;
        let unmatched = sums.unmatched.missing + sums.unmatched.cut + sums.unmatched.limit;
        let (mut waiting, mut held) = (0, 0);
        for place in &places.places {
            waiting += place.messages.matcher.waiting().len() as u64;
            held += place.messages.ranks
                .iter()
                .map(|r| r.receives.held().count() as u64)
                .sum::<u64>();
        }

        prop_assert_eq!(endpoints, 2 * sums.matched.messages + unmatched + waiting + held);
        prop_assert_eq!(sums.transfer.count, sums.matched.messages);
    }
}
