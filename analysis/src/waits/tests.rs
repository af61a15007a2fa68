//! Whole jobs, in any order in which their places may hear of it, against sums over the job's own
//! collectives.

mod job;
mod known;
mod naive;
mod posted;
mod told;

use super::*;
use crate::communicators::Communicators;
use crate::messages::Of;
use crate::testing::{RANKS, definitions};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use invivo_proto::control::meetings::{Caused, Met};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::record::Facts;
use invivo_proto::record::{Call, Part, RecordKind};
use job::{Collected, Event, Member, events, job_ns, region, run, steps};
use naive::naive;
use proptest::prelude::*;

/// One place, and what is on its way to it.
struct Place {
    waits: Waits,
    communicators: Communicators,
    arriving: VecDeque<(u32, Meetings)>,
}

/// Places that hold neighbouring ranks.
struct Places {
    places: Vec<Place>,
    of_rank: Vec<usize>,
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
            let first = of_rank.iter().position(|p| *p == place).expect("a rank") as u32;
            let ranks = of_rank.iter().filter(|p| **p == place).count() as u32;
            let of: Vec<u32> = of_rank.iter().map(|p| *p as u32).collect();
            let home_of: HomeOf = Box::new(move |number| (number % count as u64) as u32);
            let place_of: PlaceOf = Box::new(move |rank| Some(of[rank.0 as usize]));
            let me = place as u32;
            let mut waits = Waits::new(first..first + ranks, RANKS, me, home_of, place_of);
            waits.learn_time(0);
            Place {
                waits,
                communicators: Communicators::default(),
                arriving: VecDeque::new(),
            }
        });
        Places {
            places: places.collect(),
            of_rank,
        }
    }

    fn define(&mut self, rank: usize) {
        let place = &mut self.places[self.of_rank[rank]];
        for definition in definitions(Rank(rank as u32)) {
            place.communicators.define(Rank(rank as u32), &definition);
            place.waits.define(&definition);
        }
        place.waits.resolve_waiting(&place.communicators);
    }

    fn define_all(&mut self) {
        (0..RANKS as usize).for_each(|rank| self.define(rank));
    }

    fn record(&mut self, event: &Event) {
        self.record_parts(event, Some(&event.call), &event.parts);
    }

    /// Records a call with the first of its parts, and then the others.
    fn record_in_two(&mut self, event: &Event, first: usize) {
        let (head, more) = event.parts.split_at(first);
        self.record_parts(event, Some(&event.call), head);
        self.record_parts(event, None, more);
    }

    fn record_parts(&mut self, event: &Event, call: Option<&Call>, parts: &[Part]) {
        let place = &mut self.places[self.of_rank[event.rank.0 as usize]];
        let of = Of {
            rank: event.rank,
            epoch: 0,
            begin: event.call.end - event.call.duration,
            end: event.call.end,
            clipping: event.clipping,
            communicators: &place.communicators,
            job_ns,
        };
        place.waits.record(&of, call, parts);
    }

    fn set_out(&mut self, place: usize, mut credit: usize) {
        let batches = self.places[place].waits.take_batches(|_| {
            let has_credit = credit != 0;
            credit = credit.saturating_sub(1);
            has_credit
        });
        for (to, meetings) in batches {
            assert!(to as usize != place && meetings.len() <= MEETINGS_MAX);
            let to = &mut self.places[to as usize];
            to.arriving.push_back((place as u32, meetings));
        }
    }

    fn arrive(&mut self, place: usize) {
        let place = &mut self.places[place];
        if let Some((from, meetings)) = place.arriving.pop_front() {
            place.waits.arrive(from, &meetings).expect("usable");
        }
    }

    /// Everything reaches its end: home, back, and to the causers.
    fn settle(&mut self) {
        let count = self.places.len();
        for place in (0..4).flat_map(|_| 0..count) {
            self.set_out(place, usize::MAX);
            for to in 0..count {
                while !self.places[to].arriving.is_empty() {
                    self.arrive(to);
                }
            }
        }
    }

    fn sums(&self, ranks_max: u32) -> WaitStates {
        let mut sums = WaitStates::default();
        for place in &self.places {
            merge(&mut sums, place.waits.to_partial(ranks_max));
        }
        sums
    }
}

/// Feeds calls: any rank's next, definitions at any time, messages between places whenever.
fn feed(places: &mut Places, all: &[Collected], order: &[usize], late: bool) {
    if !late {
        places.define_all();
    }
    let mut calls = events(all.iter().flat_map(|one| &one.members));
    let mut picks = order.iter().copied().cycle();
    let mut pick = || picks.next().unwrap_or_default();
    while calls.iter().any(|calls| !calls.is_empty()) {
        let left: Vec<usize> = (0..calls.len())
            .filter(|rank| !calls[*rank].is_empty())
            .collect();
        let rank = left[pick() % left.len()];
        // Some at once, as packets have them.
        for _ in 0..pick() % 7 + 1 {
            if let Some(event) = calls[rank].pop_front() {
                places.record(&event);
            }
        }
        let count = places.places.len();
        match pick() % 8 {
            0..=2 => places.set_out(pick() % count, pick() % 4),
            3..=5 => places.arrive(pick() % count),
            6 if late => {
                // Each defines its communicators once.
                let rank = pick() % RANKS as usize;
                let of = Rank(rank as u32);
                let place = &places.places[places.of_rank[rank]];
                if place.communicators.membership(of, CommLocal(2)).is_none() {
                    places.define(rank);
                }
            }
            _ => {}
        }
    }
    for rank in 0..RANKS as usize {
        let place = &places.places[places.of_rank[rank]];
        if place
            .communicators
            .membership(Rank(rank as u32), CommLocal(2))
            .is_none()
        {
            places.define(rank);
        }
    }
    places.settle();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn waits_are_the_jobs_own(
        steps in steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        late: bool,
    ) {
        let all = run(&steps);
        let mut places = Places::new(&begins);
        feed(&mut places, &all, &order, late);
        let (expected, caused) = naive(&all, 0);
        let sums = places.sums(1000);
        prop_assert_eq!(&sums, &expected);
        // Whoever waits, waits for somebody, but for completion.
        let waited: u64 = expected.kinds.iter().filter(|((state, _), _)| {
            !matches!(state, WaitState::NxNCompletion | WaitState::BarrierCompletion)
        }).map(|(_, waited)| waited.ns).sum();
        prop_assert_eq!(caused.values().sum::<u64>(), waited);
        // When that was is told of each wait.
        let mut told = 0;
        for place in &mut places.places {
            place.waits.take_waiting(|of| told += of.ns);
        }
        prop_assert_eq!(told, waited);
        // Nothing is left anywhere.
        for place in &places.places {
            prop_assert_eq!(place.waits.outgoing() + place.waits.open.len(), 0);
        }
    }

    /// Sums that are taken now and then are together those of the whole.
    #[test]
    fn pieces_of_the_run_make_the_whole(
        steps in steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        cut in 0.0f64..1.0,
    ) {
        // Halves of the job cannot share a call.
        let steps: Vec<_> = steps.into_iter().map(|step| step.one_by_one()).collect();
        let all = run(&steps);
        let (first, second) = all.split_at((all.len() as f64 * cut) as usize);
        let mut places = Places::new(&begins);
        feed(&mut places, first, &order, false);
        let taken = places.places.iter_mut().map(|place| place.waits.take_sums());
        let taken: Vec<Sums> = taken.collect();
        feed(&mut places, second, &order, true);
        let (mut whole, mut by_site) = (WaitStates::default(), 0);
        for (place, mut piece) in places.places.iter().zip(taken) {
            piece.add(place.waits.sums());
            let at = piece.ranks().flat_map(|rank| piece.at_sites(rank));
            by_site += at.map(|(_, _, of)| of.waited.ns).sum::<u64>();
            merge(&mut whole, piece.to_partial(1000));
        }
        let expected = naive(&all, 0).0;
        prop_assert_eq!(by_site, expected.kinds.values().map(|of| of.ns).sum::<u64>());
        prop_assert_eq!(whole, expected);
    }

    #[test]
    fn cuts_leave_out_what_they_touch(
        steps in steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        clipped in prop::collection::vec(prop::bool::weighted(0.1), 1..40),
        reset in 0u64..6000,
    ) {
        let mut all = run(&steps);
        let mut clipped = clipped.iter().copied().cycle();
        let mut of_calls = BTreeMap::new();
        for member in all.iter_mut().flat_map(|one| &mut one.members) {
            let is_clipped = of_calls.entry(member.waits_at()).or_insert_with(|| clipped.next());
            if *is_clipped == Some(true) {
                member.clipping = Clipping::Clipped;
            }
        }
        let mut places = Places::new(&begins);
        for place in &mut places.places {
            place.waits.reset(reset, 1);
        }
        feed(&mut places, &all, &order, false);
        prop_assert_eq!(places.sums(1000), naive(&all, reset).0);
    }

    /// A collective of which a member's record is lost has no waits, and shifts no other.
    #[test]
    fn lost_members_cost_their_collective_alone(
        steps in steps(),
        begins in any::<[bool; RANKS as usize]>(),
        order in prop::collection::vec(0usize..1000, 1..200),
        keep in prop::collection::vec(prop::bool::weighted(0.95), 1..300),
    ) {
        let mut all = run(&steps);
        let mut keep = keep.iter().copied().cycle();
        let mut whole: Vec<Collected> = Vec::new();
        let mut held_back = BTreeSet::new();
        let mut open = 0;
        for one in &mut all {
            let members = one.members.len();
            let complete = one.clone();
            one.members.retain(|_| keep.next().unwrap_or(true));
            let follows = one.function != "MPI_Alltoallv";
            if one.members.len() == members {
                whole.push(complete);
            } else if follows {
                open += one.members.len() as u64;
                let posted = one.members.iter().filter(|member| member.is_posted());
                held_back.extend(posted.map(Member::waits_at));
            }
        }
        // A call that completes one of these and others is not told of before that is given up.
        for member in whole.iter_mut().flat_map(|one| &mut one.members) {
            if member.is_posted() && held_back.contains(&member.waits_at()) {
                member.waits_in = region("MPI_Testall");
            }
        }
        let mut places = Places::new(&begins);
        feed(&mut places, &all, &order, false);
        let mut expected = naive(&whole, 0).0;
        expected.calls.open = open;
        prop_assert_eq!(places.sums(1000), expected);
    }

    /// Places joined in any order, with few rows: the worst ranks of all.
    #[test]
    fn any_tree_gives_the_worst_ranks(
        steps in steps(),
        order in prop::collection::vec(0usize..1000, 1..200),
        ranks_max in 1u32..5,
        shuffle in prop::collection::vec(0usize..1000, RANKS as usize),
    ) {
        let all = run(&steps);
        let mut places = Places::new(&[true; RANKS as usize]);
        feed(&mut places, &all, &order, false);
        let mut partials: Vec<WaitStates> = places
            .places
            .iter()
            .map(|place| place.waits.to_partial(ranks_max))
            .collect();
        let mut flat = naive(&all, 0).0;
        flat.ranks_max = ranks_max;
        // Merging nobody cuts.
        merge(&mut flat, WaitStates::default());
        for pick in shuffle {
            if partials.len() < 2 {
                break;
            }
            let from = partials.swap_remove(pick % partials.len());
            let into = pick / 7 % partials.len();
            merge(&mut partials[into], from);
        }
        let mut joined = WaitStates::default();
        partials.into_iter().for_each(|from| merge(&mut joined, from));
        prop_assert_eq!(joined, flat);
    }
}
