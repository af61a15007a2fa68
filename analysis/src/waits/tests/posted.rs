//! Non-blocking collectives: posted by one call, completed by another.

use super::known::{caused, member, two};
use super::*;
use crate::waits::posted::EARLY_MAX;

/// A rank's post of a collective on the world.
fn post(rank: u32, ordinal: u64, request: u64, begin: u64) -> Event {
    let mut post = member(rank, "MPI_Iallreduce", ordinal, begin, begin + 1);
    post.call.facts.kind = RecordKind::PostCollective;
    post.call.request = request;
    post
}

/// The call that completes what these posted.
fn completion(function: &str, begin: u64, end: u64, posts: &[&Event]) -> Event {
    let mut waits = member(posts[0].rank.0, function, 0, begin, end);
    waits.call.facts.kind = RecordKind::Plain;
    waits.parts = Vec::from_iter(posts.iter().map(|post| Part {
        facts: Facts {
            kind: RecordKind::CompletedCollective,
            ..post.call.facts
        },
        request: post.call.request,
        posted: post.call.end - post.call.duration,
    }));
    waits
}

/// Posted and completed by each rank, rank 0 as the last one; `posts` says of which the post is
/// recorded.
fn posted(places: &mut Places, ordinal: u64, posts: impl Fn(u32) -> bool) {
    for rank in 0..RANKS {
        let at = 100 * ordinal;
        let (begin, waits) = if rank == 0 {
            (at + 60, at + 70)
        } else {
            (at + 10, at + 30)
        };
        let post = post(rank, ordinal, ordinal, begin);
        if posts(rank) {
            places.record(&post);
        }
        places.record(&completion("MPI_Wait", waits, at + 90, &[&post]));
    }
    places.settle();
}

/// What ranks wait for somebody in a function, and how often.
fn waited(places: &Places, state: WaitState, function: &str) -> (u64, u64) {
    let of = places
        .sums(10)
        .kinds
        .get(&(state, region(function)))
        .copied();
    of.map_or((0, 0), |of| (of.waits, of.ns))
}

const OTHERS: u64 = RANKS as u64 - 1;

/// Who posts last is waited for in the calls that complete it.
#[test]
fn who_posts_last_is_waited_for_at_completion() {
    for apart in [false, true] {
        let mut places = two(apart);
        posted(&mut places, 0, |_| true);
        // Whose post is not known has not come, and the others have none to wait for.
        posted(&mut places, 1, |rank| rank != 2);
        posted(&mut places, 2, |_| true);
        let sums = places.sums(10);
        assert_eq!(sums.kinds.len(), 1, "{sums:?}");
        let waits = waited(&places, WaitState::WaitAtNxN, "MPI_Wait");
        assert_eq!(waits, (2 * OTHERS, 2 * OTHERS * 3 * 30));
        assert_eq!(caused(&sums, 0), 2 * OTHERS * 3 * 30);
        assert_eq!(sums.calls.open, u64::from(RANKS));
        assert_eq!(sums.calls.met, 2 * u64::from(RANKS));
    }
}

/// One thread posts what another completes, and its records come later; threads number their
/// requests alike.
#[test]
fn a_completion_may_come_before_its_post() {
    let mut places = two(false);
    for rank in 0..RANKS {
        let begin = if rank == 0 { 60 } else { 10 };
        let (one, other) = (post(rank, 0, 7, begin), post(rank, 1, 7, begin + 2));
        let both = [&other, &one];
        places.record(&completion("MPI_Waitall", 65, 90 + u64::from(rank), &both));
        // Of two with one number it is the one that began then.
        places.record(&other);
        places.record(&one);
    }
    places.settle();
    let sums = places.sums(10);
    assert_eq!((sums.calls.met, sums.calls.open), (2 * u64::from(RANKS), 0));
    assert!(sums.kinds.is_empty(), "all have posted: {sums:?}");
    // In their order: of the second collective rank 0 was later by two ticks as well.
    let mut places = two(true);
    for rank in 0..RANKS {
        let begin = if rank == 0 { 60 } else { 10 };
        let (one, other) = (post(rank, 0, 7, begin), post(rank, 1, 7, begin + 2));
        let waits = completion(
            "MPI_Waitall",
            if rank == 0 { 65 } else { 20 },
            90,
            &[&other, &one],
        );
        if rank % 2 == 0 {
            places.record(&waits);
        }
        places.record(&one);
        places.record(&other);
        if rank % 2 == 1 {
            places.record(&waits);
        }
    }
    places.settle();
    let waits = waited(&places, WaitState::WaitAtNxN, "MPI_Waitall");
    assert_eq!(waits, (OTHERS, OTHERS * 3 * 42));
}

/// The parts of a call may come in several records: it waits once all the same.
#[test]
fn more_parts_of_a_call_belong_to_it() {
    let mut places = two(false);
    for rank in 0..RANKS {
        let begin = if rank == 0 { 60 } else { 10 };
        let posts: Vec<Event> = (0..4)
            .map(|nth| post(rank, nth, nth, begin + 2 * nth))
            .collect();
        posts.iter().for_each(|post| places.record(post));
        let all: Vec<&Event> = posts.iter().collect();
        let waits = if rank == 0 { 70 } else { 20 };
        places.record_in_two(&completion("MPI_Waitall", waits, 90, &all), 2);
    }
    places.settle();
    let waits = waited(&places, WaitState::WaitAtNxN, "MPI_Waitall");
    // Rank 0 posts the last of them at 66.
    assert_eq!(waits, (OTHERS, OTHERS * 3 * 46));
}

/// Posts and completions before job time was known get it later, as scans do.
#[test]
fn posts_before_job_time_was_known_get_it_later() {
    let mut places = two(true);
    for place in &mut places.places {
        place.waits.is_known = false;
    }
    for rank in 0..RANKS {
        let begin = if rank == 0 { 60 } else { 10 };
        let post = post(rank, 0, 7, begin);
        let waits = completion("MPI_Wait", if rank == 0 { 65 } else { 20 }, 90, &[&post]);
        // One completion waits for its post meanwhile.
        places.record(if rank == 3 { &waits } else { &post });
        if rank != 3 {
            places.record(&waits);
        }
        let begin = if rank == 2 { 180 } else { 100 };
        places.record(&member(rank, "MPI_Scan", 1, begin, 190));
    }
    for place in &mut places.places {
        place.waits.learn_time(1_000_000);
    }
    let of = post(3, 0, 7, 10);
    places.record(&of);
    places.settle();
    let waits = waited(&places, WaitState::WaitAtNxN, "MPI_Wait");
    assert_eq!(waits, (OTHERS, OTHERS * 3 * 40));
    let scan = waited(&places, WaitState::EarlyScan, "MPI_Scan");
    let behind = u64::from(RANKS) - 3;
    assert_eq!(scan, (behind, behind * 3 * 80));
    assert_eq!(caused(&places.sums(10), 2), behind * 3 * 80);
}

#[test]
fn collectives_under_way_are_bounded() {
    let mut places = two(false);
    for ordinal in 0..2 * POSTED_MAX as u64 {
        places.record(&post(0, ordinal, ordinal, 10 * ordinal));
    }
    assert_eq!(places.places[0].waits.under_way(Rank(0)), POSTED_MAX);
    // The newest complete as before, and those of which the post is forgotten are given up.
    let newest = 2 * POSTED_MAX as u64 - 1;
    for rank in 1..RANKS {
        places.record(&post(rank, newest, 7, 10 * newest));
    }
    for rank in 0..RANKS {
        let of = post(
            rank,
            newest,
            if rank == 0 { newest } else { 7 },
            10 * newest,
        );
        let begin = 10 * newest + 5;
        places.record(&completion("MPI_Wait", begin, begin + 9, &[&of]));
    }
    places.settle();
    assert_eq!(places.sums(10).calls.met, u64::from(RANKS));
    let old = 2 * EARLY_MAX as u64 + POSTED_MAX as u64 / 2;
    let old = old.min(POSTED_MAX as u64);
    for ordinal in 0..old {
        let of = post(0, ordinal, ordinal, 10 * ordinal);
        places.record(&completion(
            "MPI_Wait",
            10 * newest,
            10 * newest + 1,
            &[&of],
        ));
    }
    assert_eq!(places.sums(10).calls.open, old);
    assert_eq!(places.places[0].waits.of_ranks[0].early(), EARLY_MAX);
}

/// Whose post is lost is no other's completion, and does not wait for ever.
#[test]
fn a_lost_post_shifts_no_other() {
    let mut places = two(false);
    let (lost, of_another) = (post(0, 0, 7, 10), post(0, 1, 7, 30));
    places.record(&completion("MPI_Wait", 20, 25, &[&lost]));
    places.record(&of_another);
    assert_eq!(places.sums(10).calls.open, 1);
    assert_eq!(places.places[0].waits.under_way(Rank(0)), 1);
    for rank in 1..RANKS {
        places.record(&post(rank, 1, 3, 30));
    }
    for rank in 0..RANKS {
        let of = post(rank, 1, if rank == 0 { 7 } else { 3 }, 30);
        places.record(&completion("MPI_Wait", 40, 45, &[&of]));
    }
    places.settle();
    assert_eq!(places.sums(10).calls.met, u64::from(RANKS));
    // Seconds later it is given up.
    places.record(&post(0, 2, 8, 1_000_000_000));
    let early = places.places[0].waits.of_ranks[0].early();
    assert_eq!((early, places.sums(10).calls.open), (0, 1));
}

/// A saved call may have lost its begin to a cut: its number has to do.
#[test]
fn a_post_that_was_cut_is_found() {
    for is_first in [true, false] {
        let mut places = two(false);
        let whole = post(0, 0, 7, 10);
        let mut cut = post(0, 0, 7, 12);
        cut.clipping = Clipping::Clipped;
        let waits = completion("MPI_Wait", 20, 25, &[&whole]);
        places.record(if is_first { &cut } else { &waits });
        places.record(if is_first { &waits } else { &cut });
        let of_rank = &places.places[0].waits.of_ranks[0];
        assert_eq!((of_rank.under_way(), of_rank.early()), (0, 0));
    }
}
