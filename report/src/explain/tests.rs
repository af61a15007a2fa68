//! Sentences about jobs with known numbers.

mod found;

use super::*;
use invivo_grpc::v1::{
    AnalysisStatus, CallSiteRow, CallSitesReply, CodeFunction, ColumnEfficiency, Coverage,
    FunctionRow, GridCell, GridReply, GridRow, JobStatus, RankCounts, RankWaits, RecordingStatus,
    WaitStateRow,
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
        ..Seen::default()
    }
}

/// Waits in two kinds of collectives, and a completion, which is none; ranks 3 and 1 caused them.
fn waits(time_ns: [u64; 2], caused_ns: [u64; 2]) -> WaitStatesReply {
    let row = |wait_state: &str, function: &str, time_ns| WaitStateRow {
        wait_state: wait_state.into(),
        function: function.into(),
        time_ns,
        ..WaitStateRow::default()
    };
    let rank = |rank, caused_ns| RankWaits {
        rank,
        caused_ns,
        ..RankWaits::default()
    };
    WaitStatesReply {
        rows: vec![
            row("N x N Completion", "MPI_Allreduce", 50 * time_ns[0]),
            row("Late Broadcast", "MPI_Bcast", time_ns[1]),
            row("Wait at N x N", "MPI_Allreduce", time_ns[0]),
        ],
        ranks: vec![rank(3, caused_ns[0]), rank(1, caused_ns[1])],
        ranks_total: 2,
        messages: Some(AnalysisStatus::default()),
        ..WaitStatesReply::default()
    }
}

/// What was waited in the interval, in seconds: of the ranks' 12 s.
fn waited(seen: Seen, time_s: [u64; 2], caused_s: [u64; 2]) -> Seen {
    let after = |s: u64| (s + 7) * 1_000_000_000;
    Seen {
        waits_before: waits([after(0); 2], [after(0); 2]),
        waits_after: waits(time_s.map(after), caused_s.map(after)),
        ..seen
    }
}

#[test]
fn waiting_has_a_name_a_function_and_a_rank() {
    // Half of the time in MPI, which is 6.6 s.
    let uneven = || seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
    let late = explain_seen(&waited(uneven(), [4, 1], [4, 1]));
    assert_eq!((late.limit, late.rank), (Limit::LoadBalance, Some(3)));
    let waiting = late.waiting.expect("waits");
    assert_eq!((waiting.causer, waiting.causer_share), (Some(3), 0.8));
    assert_eq!(waiting.wait_state, "Wait at N x N");
    assert!((waiting.share - 5.0 / 6.6).abs() < 1e-9, "{waiting:?}");
    // The rank that computes longest is not the one that is waited for.
    let other = explain_seen(&waited(uneven(), [4, 1], [1, 4]));
    assert!(!other.sentence.contains("rank 1"), "{}", other.sentence);

    let even = || seen(efficiency(0.99, 0.4), efficiency(0.97, 0.4));
    let turns = explain_seen(&waited(even(), [4, 1], [2, 3]));
    assert_eq!((turns.limit, turns.rank), (Limit::Serialisation, None));
    let little = explain_seen(&waited(even(), [1, 0], [1, 0]));
    assert_eq!(little.limit, Limit::Communication);
    let sentences = [late.sentence, turns.sentence, little.sentence];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn a_wrong_order_is_said_where_it_is_most() {
    let of = |late_sender: u64, there: u64| {
        let mut seen = seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
        let row = |wait_state: &str, part_of: &str, time_ns| WaitStateRow {
            wait_state: wait_state.into(),
            part_of: part_of.into(),
            function: "MPI_Recv".into(),
            time_ns: time_ns * 1_000_000_000,
            ..WaitStateRow::default()
        };
        seen.waits_after.rows = vec![
            row("Late Sender", "", late_sender),
            row("Late Sender, Wrong Order", "Late Sender", late_sender),
            row("Late Sender, Other There", "Late Sender", there),
        ];
        explain_seen(&seen)
    };
    let most = of(5, 4);
    let waiting = most.waiting.expect("they wait");
    // It is no waiting besides.
    assert!((waiting.share - 5.0 / 6.6).abs() < 1e-9, "{waiting:?}");
    assert_eq!(waiting.other_there_share, 0.8);
    assert_eq!(waiting.wait_state, "Late Sender");
    assert!(
        most.sentence.ends_with(
            "; for 80.0 % of all waiting another message was there, which was received later \
             (Late Sender, Wrong Order)"
        ),
        "{}",
        most.sentence
    );
    // There for a moment, little, none; and of waits of before.
    for (late_sender, there) in [(5, 2), (2, 1), (5, 0), (3, 4)] {
        let told = of(late_sender, there);
        assert!(!told.sentence.contains("Wrong Order"), "{}", told.sentence);
    }
}

#[test]
fn unmatched_messages_are_mentioned_where_they_matter() {
    let mentions = |seen: &Seen| {
        let sentence = explain_seen(seen).sentence;
        sentence.contains("analyses on messages")
    };
    let mut seen = waited(
        seen(efficiency(0.99, 0.4), efficiency(0.97, 0.4)),
        [0, 0],
        [0, 0],
    );
    assert!(!mentions(&seen));
    for row in &mut seen.after.rows {
        row.calls.as_mut().expect("calls").function = "MPI_Waitall".into();
    }
    assert!(mentions(&seen));
    seen.waits_after.messages = Some(AnalysisStatus {
        on: 1,
        ..AnalysisStatus::default()
    });
    assert!(!mentions(&seen));
}

#[test]
fn ranks_without_a_first_answer_cause_nothing() {
    let mut seen = waited(
        seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9)),
        [4, 1],
        [2, 1],
    );
    seen.waits_before.ranks.remove(0);
    let causer = |seen: &Seen| explain_seen(seen).waiting.and_then(|of| of.causer);
    assert_eq!(causer(&seen), Some(1));
    // Where the first answer had all, it had caused nothing yet.
    seen.waits_before.ranks_total = 1;
    assert_eq!(causer(&seen), Some(3));
}

#[test]
fn the_smaller_factor_is_the_limit_with_rank_and_line() {
    let uneven = explain_seen(&seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9)));
    assert_eq!((uneven.limit, uneven.rank), (Limit::LoadBalance, Some(3)));
    let turns = explain_seen(&seen(efficiency(0.99, 0.25), efficiency(0.3, 0.9)));
    assert_eq!((turns.limit, turns.rank), (Limit::Serialisation, None));
    let alike = explain_seen(&seen(efficiency(0.99, 0.4), efficiency(0.97, 0.4)));
    assert_eq!(alike.limit, Limit::Communication);
    let sentences = [uneven.sentence, turns.sentence, alike.sentence];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn of_a_job_that_computes_there_is_nothing_to_say() {
    let good = explain_seen(&seen(efficiency(0.97, 0.95), efficiency(0.9, 0.9)));
    assert_eq!((good.limit, good.rank), (Limit::None, None));
    insta::assert_snapshot!(good.sentence);
}

/// In each case the efficiency alone would be an imbalance.
#[test]
fn what_is_not_recorded_is_not_explained() {
    let uneven = || seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
    let unknown = |seen: &Seen, says: &str| {
        let told = explain_seen(seen);
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
    let mut reset = uneven();
    let ledger = reset.waits_after.coverage.get_or_insert_default();
    ledger.ledger.get_or_insert_default().reset = 1;
    unknown(&reset, "ask again");
    let mut nothing = uneven();
    nothing.grid.efficiency = None;
    unknown(&nothing, "invivo analyses");
}

#[test]
fn without_call_sites_the_rest_is_said() {
    let mut seen = seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9));
    (seen.before, seen.after) = Default::default();
    let told = explain_seen(&seen);
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
    let told = explain_seen(&seen);
    assert_eq!(told.limit, Limit::Standstill);
    assert!(told.sentence.contains("invivo hang"), "{}", told.sentence);
}

/// Rank 3 sleeps for most of the time that it is said to compute.
#[test]
fn of_a_rank_that_sleeps_it_is_said_so() {
    let grid = |metric: &str, value| GridReply {
        metric: metric.into(),
        block_ranks: 1,
        columns: 3,
        width_ns: 1_000_000_000,
        observed_ns: 3_000_000_000,
        rows: vec![GridRow {
            row: 3,
            cells: Vec::new(),
            total: Some(GridCell {
                ranks: 1,
                recorded_ns: 3_000_000_000,
                sum: value,
                min: value,
                min_rank: 3,
                max: value,
                max_rank: 3,
            }),
        }],
        ..GridReply::default()
    };
    let measured = vec![
        grid(COMPUTE, 2_700_000_000),
        grid("cpu-time", 400_000_000),
        grid("run-delay", 100_000_000),
    ];
    let of = |whole| {
        explain_seen(&Seen {
            measured: measured.clone(),
            ..seen(whole, whole)
        })
    };
    let uneven = of(efficiency(0.5, 0.9));
    assert!(uneven.outside_mpi.is_some(), "{uneven:?}");
    insta::assert_snapshot!(uneven.sentence);
    // Where no rank is the limit, nothing is said of one.
    assert_eq!(of(efficiency(0.99, 0.4)).outside_mpi, None);
}
