//! Sentences about jobs with known numbers.

use super::*;
use invivo_grpc::v1::{
    CodeFunction, ColumnEfficiency, Coverage, FunctionRow, RankCounts, RecordingStatus,
};

fn efficiency(load_balance: f64, communication_efficiency: f64) -> Efficiency {
    Efficiency {
        parallel_efficiency: load_balance * communication_efficiency,
        load_balance,
        communication_efficiency,
        max_rank: 3,
        min_rank: 0,
        ranks: 4,
    }
}

fn sites(time_ns: [u64; 2], calls: u64) -> CallSitesReply {
    let row = |line: &str, offset, function: &str, time_ns| CallSiteRow {
        kind: "code".into(),
        file: "solver".into(),
        offset,
        functions: vec![CodeFunction {
            function: "solve".into(),
            line: line.into(),
        }],
        ranks: 4,
        calls: Some(FunctionRow {
            function: function.into(),
            calls,
            time_ns,
            bytes_out: 8 * calls,
            ..FunctionRow::default()
        }),
        ..CallSiteRow::default()
    };
    CallSitesReply {
        rows: vec![
            row("solver.c:212", 16, "MPI_Allreduce", time_ns[0]),
            row("solver.c:90", 48, "MPI_Bcast", time_ns[1]),
        ],
        ..CallSitesReply::default()
    }
}

/// A job over three seconds; in each moment its load is as even as `moment`.
fn seen(whole: Efficiency, moment: Efficiency) -> Seen {
    let column = |column| ColumnEfficiency {
        column,
        efficiency: Some(moment),
    };
    Seen {
        status: JobStatus {
            ranks: Some(RankCounts {
                computing: 4,
                ..RankCounts::default()
            }),
            recording: Some(RecordingStatus {
                on: 4,
                ..RecordingStatus::default()
            }),
            ..JobStatus::default()
        },
        grid: GridReply {
            coverage: Some(Coverage {
                ranks: 4,
                ranks_reporting: 4,
                ..Coverage::default()
            }),
            efficiency: Some(whole),
            efficiencies: (0..16).map(column).collect(),
            ..GridReply::default()
        },
        // Before, another site had the most.
        before: sites([1_000, 5_000_000_000], 100),
        after: sites([3_000_001_000, 6_000_000_000], 12_100),
        interval_ns: 3_000_000_000,
    }
}

#[test]
fn the_smaller_factor_is_the_limit_with_rank_and_line() {
    let uneven = explain(&seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9)));
    assert_eq!((uneven.limit, uneven.rank), (Limit::LoadBalance, Some(3)));
    let turns = explain(&seen(efficiency(0.99, 0.25), efficiency(0.3, 0.9)));
    assert_eq!((turns.limit, turns.rank), (Limit::Serialisation, None));
    let alike = explain(&seen(efficiency(0.99, 0.4), efficiency(0.97, 0.4)));
    assert_eq!(alike.limit, Limit::Communication);
    let sentences = [uneven.sentence, turns.sentence, alike.sentence];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn of_a_job_that_computes_there_is_nothing_to_say() {
    let good = explain(&seen(efficiency(0.97, 0.95), efficiency(0.9, 0.9)));
    assert_eq!((good.limit, good.rank), (Limit::None, None));
    insta::assert_snapshot!(good.sentence);
}

/// In each case the efficiency alone would be an imbalance.
#[test]
fn what_is_not_recorded_is_not_explained() {
    let uneven = || seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
    let unknown = |seen: &Seen, says: &str| {
        let told = explain(seen);
        assert_eq!(told.limit, Limit::Unknown, "{told:?}");
        assert!(told.sentence.contains(says), "{told:?}");
        assert!(told.efficiency.is_none() && told.site.is_none(), "{told:?}");
    };
    let mut missing = uneven();
    missing
        .grid
        .coverage
        .as_mut()
        .expect("coverage")
        .ranks_reporting = 3;
    unknown(&missing, "Only 3 of 4 ranks");
    let mut off = uneven();
    off.status.recording = Some(RecordingStatus {
        off: 4,
        ..RecordingStatus::default()
    });
    unknown(&off, "invivo record on");
    let mut paused = uneven();
    paused.status.ranks.as_mut().expect("ranks").paused = 4;
    unknown(&paused, "invivo resume");
    let mut nothing = uneven();
    nothing.grid.efficiency = None;
    unknown(&nothing, "invivo analyses");
}

#[test]
fn without_call_sites_the_rest_is_said() {
    let mut seen = seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
    (seen.before, seen.after) = Default::default();
    let told = explain(&seen);
    assert_eq!((told.limit, told.site), (Limit::LoadBalance, None));
}

#[test]
fn where_nothing_ends_the_question_is_who_waits() {
    let mut seen = seen(efficiency(0.9, 0.0), efficiency(0.9, 0.0));
    seen.before = seen.after.clone();
    seen.status.ranks = Some(RankCounts {
        in_mpi: 4,
        ..RankCounts::default()
    });
    let told = explain(&seen);
    assert_eq!(told.limit, Limit::Standstill);
    assert!(told.sentence.contains("invivo hang"), "{}", told.sentence);
}
