//! Ranks of a saved observation: their ledgers, their answers, and what they cannot tell.

use super::{Observed, ObservedJob};
use crate::rank::observed::{Kept, ObservedLocation};
use invivo_otfx::Attributes;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::results::{Ledger, RankState};
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::ids::{LocationId, Rank, RegionId};
use invivo_proto::record::{Call, Facts};

const END_NS: u64 = 10_000_000;
/// `MPI_Recv`.
const RECV: RegionId = RegionId(2);

fn location(rank: u32, ledger: Ledger) -> ObservedLocation {
    ObservedLocation {
        id: LocationId {
            rank: Rank(rank),
            thread: 0,
        },
        state: RankState::Computing,
        open: None,
        ledger,
        gone_until_ns: None,
        samples_gone_until_ns: None,
    }
}

fn observed(locations: &[ObservedLocation]) -> Observed {
    observed_since(None, locations)
}

fn observed_since(since: Option<u64>, locations: &[ObservedLocation]) -> Observed {
    let job = ObservedJob {
        ranks: 40,
        from_ns: since.unwrap_or(1_000),
        is_cut: since.is_some(),
        to_ns: END_NS,
        clock_error_ns: 0,
        strategy: Strategy::default(),
    };
    let mut observed = Observed::new(&job).expect("a job");
    for of in locations {
        observed.location(of, 1 << 20).expect("memory");
    }
    observed
}

fn call(end: u64, duration: u64) -> Call {
    Call {
        facts: Facts {
            region: RECV,
            ..Facts::default()
        },
        end,
        duration,
        ..Call::default()
    }
}

fn give(observed: &mut Observed, of: &ObservedLocation, calls: u64) {
    for number in 1..=calls {
        let call = call(number * 10_000, 1_000);
        observed.record(of.id, 0, Kept::Call(&call, &[]), Attributes::default());
    }
}

fn ledger(observed: &mut Observed) -> Ledger {
    let (_, coverage) = observed.answer(Query::Status).expect("an answer");
    assert_eq!(coverage.tool_cpu_ns, 0, "no time of the job's");
    invivo_tbon::coverage::balance(&coverage.ledger).expect("every call is somewhere");
    coverage.ledger
}

#[test]
fn every_call_of_the_ledger_is_somewhere() {
    let of = location(
        7,
        Ledger {
            entered: 30,
            open: 1,
            in_flight: 3,
            kept: 16,
            reduced: 8,
            dropped: [2, 0, 0],
            ..Ledger::default()
        },
    );
    let of = ObservedLocation {
        open: Some((RECV, END_NS - 500, 0)),
        ..of
    };
    let mut observed = observed(&[of]);
    // Four of the sixteen lie outside of the interval.
    give(&mut observed, &of, 12);
    observed.settle();
    let expected = Ledger {
        entered: 30,
        open: 1,
        in_flight: 3,
        kept: 12,
        reduced: 8,
        dropped: [2, 0, 0],
        reset: 4,
        ..Ledger::default()
    };
    assert_eq!(ledger(&mut observed), expected);
    assert_eq!(ledger(&mut observed), expected, "time stands still");
}

#[test]
fn pauses_are_nobodys_time() {
    let of = location(
        39,
        Ledger {
            entered: 3,
            kept: 3,
            ..Ledger::default()
        },
    );
    let mut observed = observed(&[of]);
    observed.pause(Rank(39), 19_500, 30_200);
    give(&mut observed, &of, 3);
    observed.settle();
    let Some((Partial::Functions(table), _)) = observed.answer(Query::Functions {
        rank_rows_max: 0,
        past: None,
    }) else {
        panic!("a table")
    };
    let row = &table.rows[&RECV];
    // The first, half of the second, and nothing of the third.
    assert_eq!((row.time.count, row.time.sum_ns), (3, 1_000 + 500));
}

#[test]
fn what_not_all_ranks_have_does_not_count() {
    let of = location(
        1,
        Ledger {
            entered: 3,
            kept: 3,
            ..Ledger::default()
        },
    );
    let mut observed = observed_since(Some(19_600), &[of]);
    give(&mut observed, &of, 3);
    observed.settle();
    assert_eq!(ledger(&mut observed).kept, 3);
    let Some((Partial::Functions(table), _)) = observed.answer(Query::Functions {
        rank_rows_max: 0,
        past: None,
    }) else {
        panic!("a table")
    };
    let row = &table.rows[&RECV];
    // None of the first, the end of the second, all of the third.
    assert_eq!(
        (row.time.count, row.time.sum_ns, row.clipped),
        (2, 400 + 1_000, 1)
    );
    // How they are distributed is known without call sites, of which there are none.
    let of = &table.distributions[&RECV];
    assert_eq!(
        (of.durations.count(), of.shortest_ns, of.longest_ns),
        (2, 400, 1_000)
    );
    let Some((Partial::Analyses(status), _)) = observed.answer(Query::Analyses) else {
        panic!("which are on")
    };
    let [sites, functions] =
        [Analysis::Sites, Analysis::Functions].map(|of| &status.of[of as usize]);
    assert_eq!(
        (sites.on, sites.off, functions.on),
        (0, functions.on, functions.on)
    );
    assert_eq!(sites.gaps.last, [(0, u64::MAX)]);
}

#[test]
fn what_runs_alone_can_tell_is_not_answered() {
    let of = location(0, Ledger::default());
    let mut observed = observed(&[of]);
    observed.settle();
    assert!(observed.answer(Query::Hang { older_ns: 0 }).is_none());
    assert!(
        observed
            .answer(Query::Sites {
                rows_max: 9,
                named: true,
                past: None,
            })
            .is_none()
    );
    assert!(observed.answer(Query::Messages { past: None }).is_some());
    let nobody = location(40, Ledger::default());
    assert!(observed.location(&nobody, 1 << 20).is_err(), "no such rank");
}
