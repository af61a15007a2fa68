//! Single cases of which the answer is known beforehand.

use super::*;
use invivo_proto::control::meetings::LateReceiver;
use invivo_proto::ids::SiteId;

/// Two ranks, each below a place of its own, or both below one.
pub fn two(apart: bool) -> Places {
    let mut begins = [true; RANKS as usize];
    begins[1] = apart;
    let mut places = Places::new(&begins);
    places.define_all();
    places
}

/// A call of rank 0 or 1 on a communicator of these two: the world has others.
pub fn member(rank: u32, function: &str, ordinal: u64, begin: u64, end: u64) -> Event {
    Event {
        rank: Rank(rank),
        call: Call {
            facts: Facts {
                kind: RecordKind::Collective,
                region: region(function),
                comm: CommLocal(0),
                peer: 0,
                bytes_out: 8,
                bytes_in: 8,
                ..Facts::default()
            },
            end,
            duration: end - begin,
            ordinal,
            request: 0,
        },
        parts: Vec::new(),
        clipping: Clipping::Whole,
    }
}

/// All ranks in one collective: rank 0 from 1000 on, the others from 100 on; all leave at 1010.
fn late_first(places: &mut Places, function: &str, ordinal: u64) {
    for rank in 0..RANKS {
        let begin = if rank == 0 { 1000 } else { 100 };
        places.record(&member(rank, function, ordinal, begin, 1010));
    }
    places.settle();
}

pub fn caused(sums: &WaitStates, rank: u32) -> u64 {
    sums.ranks.get(&Rank(rank)).map_or(0, |of| totals(of).1)
}

#[test]
fn who_comes_last_made_the_others_wait() {
    for apart in [false, true] {
        let mut places = two(apart);
        late_first(&mut places, "MPI_Allreduce", 0);
        late_first(&mut places, "MPI_Bcast", 1);
        let sums = places.sums(10);
        let others = u64::from(RANKS - 1);
        let kind = |state, name| sums.kinds[&(state, region(name))];
        let allreduce = kind(WaitState::WaitAtNxN, "MPI_Allreduce");
        assert_eq!((allreduce.waits, allreduce.ns), (others, others * 3 * 900));
        assert_eq!((allreduce.max_ns, allreduce.max_rank), (3 * 900, Rank(1)));
        let bcast = kind(WaitState::LateBroadcast, "MPI_Bcast");
        assert_eq!(bcast.ns, others * 3 * 900);
        assert_eq!(caused(&sums, 0), 2 * others * 3 * 900);
        assert_eq!(sums.calls.met, 2 * u64::from(RANKS));
        assert_eq!(sums.calls.open + sums.calls.limit, 0);
    }
}

#[test]
fn what_the_clocks_cannot_tell_is_not_claimed() {
    for (error_ns, waits) in [(1349, 1), (1350, 0)] {
        let mut places = two(true);
        for place in &mut places.places {
            place.waits.set_clock_error(error_ns);
        }
        late_first(&mut places, "MPI_Allreduce", 0);
        let sums = places.sums(10);
        // 2,700 ns, by two clocks.
        assert_eq!(sums.kinds.len(), waits, "{sums:?}");
        assert_eq!(sums.clock_error_ns, error_ns);
    }
}

#[test]
fn a_pause_makes_nobody_wait() {
    let mut places = two(true);
    for place in &mut places.places {
        place.waits.pause(job_ns(500));
        place.waits.resume(job_ns(600));
    }
    late_first(&mut places, "MPI_Barrier", 0);
    let sums = places.sums(10);
    // Rank 0 came behind it.
    assert_eq!(
        (sums.calls.untimed, sums.calls.met),
        (u64::from(RANKS) - 1, 1)
    );
    assert!(sums.kinds.is_empty());
}

#[test]
fn calls_before_job_time_was_known_get_it_later() {
    let mut places = two(true);
    for place in &mut places.places {
        place.waits.is_known = false;
    }
    late_first(&mut places, "MPI_Allreduce", 0);
    assert_eq!(places.sums(10).calls.open, u64::from(RANKS));
    // Each by a clock of its own, by which rank 0 came first.
    for (at, place) in places.places.iter_mut().enumerate() {
        place
            .waits
            .learn_time(if at == 0 { 1_000_000 } else { 1_010_000 });
    }
    places.settle();
    let sums = places.sums(10);
    assert_eq!((caused(&sums, 0), sums.calls.met), (0, u64::from(RANKS)));
    assert!(caused(&sums, 1) > 0, "{sums:?}");
}

#[test]
fn what_waits_is_bounded_and_the_rest_is_counted() {
    let mut places = two(true);
    let total = WAITING_MAX as u64 + 1000;
    for at in 0..total {
        places.record(&member(0, "MPI_Barrier", at, 10 * at, 10 * at + 5));
    }
    let calls = places.sums(10).calls;
    assert!(
        calls.limit > 0 && calls.open <= WAITING_MAX as u64,
        "{calls:?}"
    );
    assert_eq!(calls.limit + calls.open, total);
}

#[test]
fn late_senders_are_told_of_their_causer() {
    for (sender, expected) in [(1, 500), (5, 400)] {
        let mut places = two(false);
        let late = |ns| Late {
            state: WaitState::LateSender,
            waiter: Rank(0),
            causer: Rank(sender),
            comm: CommId::WORLD,
            region: region("MPI_Recv"),
            site: SiteId(9),
            from_ns: 1_000,
            before_ns: 0,
            ns,
            // Of no meaning below one place.
            error_ns: 100,
        };
        places.places[0].waits.late(&late(100));
        places.places[0].waits.late(&late(400));
        places.settle();
        let sums = places.sums(10);
        let kind = (WaitState::LateSender, region("MPI_Recv"));
        assert_eq!(sums.kinds[&kind].ns, expected);
        assert_eq!(caused(&sums, sender), expected);
        let mut at = places.places[0].waits.sums().at_sites(Rank(0));
        let ((_, site), state, of) = at.next().expect("a row");
        assert_eq!((site, state), (SiteId(9), WaitState::LateSender));
        assert_eq!(of.waited.ns, expected);
        let causers: Vec<_> = of.causers.iter().map(|of| (of.rank.0, of.ns)).collect();
        assert_eq!(causers, [(sender, expected)]);
    }
}

/// Its time is in the wait that it is a part of: it blames nobody, and is in no sum.
#[test]
fn a_part_of_a_wait_counts_once() {
    let mut places = two(false);
    let whole = Late {
        state: WaitState::LateSender,
        waiter: Rank(0),
        causer: Rank(1),
        comm: CommId::WORLD,
        region: region("MPI_Recv"),
        site: SiteId(9),
        from_ns: 1_000,
        before_ns: 0,
        ns: 400,
        error_ns: 0,
    };
    let part = Late {
        state: WaitState::LateSenderWrongOrder,
        ..whole
    };
    let waits = &mut places.places[0].waits;
    waits.late(&whole);
    waits.late(&part);
    let mut waiting = 0;
    waits.take_waiting(|of| waiting += of.ns);
    assert_eq!(waiting, 400);
    places.settle();
    let sums = places.sums(10);
    for state in [whole.state, part.state] {
        assert_eq!(sums.kinds[&(state, whole.region)].ns, 400);
        assert_eq!(sums.communicators[&CommId::WORLD][&state].ns, 400);
    }
    assert_eq!(totals(&sums.ranks[&Rank(0)]), (400, 0));
    assert_eq!(caused(&sums, 1), 400);
    let at = places.places[0].waits.sums().at_sites(Rank(0));
    assert_eq!(at.filter(|(_, _, of)| of.waited.ns == 400).count(), 2);
}

/// What a sender waited for is told at its place, however far that is.
#[test]
fn late_receivers_are_told_to_their_senders() {
    for (sender, apart) in [(1, false), (1, true)] {
        let mut places = two(apart);
        let late = |ns| Late {
            state: WaitState::LateReceiver,
            waiter: Rank(sender),
            causer: Rank(0),
            comm: CommId::WORLD,
            region: region("MPI_Send"),
            site: SiteId(9),
            from_ns: 1_000,
            before_ns: 0,
            ns,
            error_ns: 100,
        };
        places.places[0].waits.late(&late(300));
        places.places[0].waits.late(&late(400));
        places.settle();
        let sums = places.sums(10);
        let of = sums.kinds[&(WaitState::LateReceiver, region("MPI_Send"))];
        assert_eq!(
            (of.waits, of.ns, of.max_ns, of.max_rank.0),
            (2, 700, 400, 1)
        );
        assert_eq!(caused(&sums, 0), 700);
        let place = &places.places[places.of_rank[sender as usize]];
        let mut at = place.waits.sums().at_sites(Rank(sender));
        let ((_, site), _, of) = at.next().expect("a row");
        let of = of.clone();
        drop(at);
        let causers: Vec<_> = of.causers.iter().map(|of| (of.rank.0, of.ns)).collect();
        assert_eq!((site, causers), (SiteId(9), Vec::from([(0, 700)])));
        // What is told of before a reset does not count behind it, whoever hears of that first.
        if apart {
            places.places[0].waits.late(&late(600));
            places.set_out(0, usize::MAX);
            places.places[1].waits.reset(1, 1);
            places.arrive(1);
            let at = places.places[1].waits.sums().at_sites(Rank(sender)).count();
            assert_eq!(at, 0);
        }
        // A reset forgets what is on its way as well.
        places.places[0].waits.late(&late(500));
        places
            .places
            .iter_mut()
            .for_each(|place| place.waits.reset(1, 1));
        places.settle();
        assert_eq!(
            places
                .sums(10)
                .kinds
                .get(&(WaitState::LateReceiver, region("MPI_Send"))),
            None
        );
    }
}

/// Whatever comes from another process: it is refused, or harms nobody.
#[test]
fn what_cannot_be_is_refused() {
    let of = Collective::default();
    let arrived = |arrivals, size| Meetings {
        arrived: Vec::from([Arrived {
            of,
            size,
            meeting: Meeting {
                arrivals,
                ..Meeting::default()
            },
        }]),
        ..Meetings::default()
    };
    let mut places = Places::new(&[false; RANKS as usize]);
    let waits = &mut places.places[0].waits;
    for (arrivals, size) in [(0, 2), (3, 2), (2, RANKS + 1)] {
        assert!(waits.arrive(1, &arrived(arrivals, size)).is_err());
    }
    let caused = |rank, region| Meetings {
        caused: Vec::from([Caused {
            rank: Rank(rank),
            state: WaitState::LateSender,
            region: RegionId(region),
            waits: 1,
            ns: u64::MAX,
        }]),
        ..Meetings::default()
    };
    assert!(waits.arrive(1, &caused(RANKS, 1)).is_err());
    assert!(waits.arrive(1, &caused(0, u16::MAX)).is_err());
    let late = |rank, region| Meetings {
        late_receivers: Vec::from([LateReceiver {
            rank: Rank(rank),
            receiver: Rank(0),
            comm: CommId::WORLD,
            region: RegionId(region),
            site: SiteId(u16::MAX),
            waits: 1,
            ns: u64::MAX,
            max_ns: u64::MAX,
            until_ns: u64::MAX,
        }]),
        ..Meetings::default()
    };
    assert!(waits.arrive(1, &late(RANKS, 1)).is_err());
    assert!(waits.arrive(1, &late(0, u16::MAX)).is_err());
    let mut many = caused(0, 1);
    many.caused = many.caused.repeat(MEETINGS_MAX + 1);
    assert!(waits.arrive(1, &many).is_err());
    assert_eq!(
        waits.to_partial(10),
        WaitStates {
            ranks_max: 10,
            ..WaitStates::default()
        }
    );
    // A whole that nobody waits for.
    let met = Meetings {
        met: Vec::from([Met::default()]),
        ..Meetings::default()
    };
    assert_eq!(waits.arrive(1, &met), Ok(()));
}
