//! A small job with a known report.

use crate::Report;
use crate::timeline_pages::EndContext;
use invivo_proto::control::analyses::AnalysesStatus;
use invivo_proto::control::link::{Final, JobDescription};
use invivo_proto::control::local::Named;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable};
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, JobStatus, Ledger, Matrix, Moments, Traffic,
};
use invivo_proto::control::sites::{Causer, Place, Site, SiteStats, SiteTable, SiteWaits};
use invivo_proto::control::tree::{Ended, RankEnded};
use invivo_proto::control::wait_states::{WaitState, Waited};
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi;
use std::collections::BTreeMap;

fn text(result: &Final, saved: &EndContext) -> String {
    crate::text(&Report::of(result, saved))
}

fn json(result: &Final, saved: &EndContext) -> String {
    crate::json(&Report::of(result, saved))
}

fn one_line(result: &Final, saved: &EndContext) -> String {
    crate::one_line(&Report::of(result, saved))
}

fn stats(count: u64, sum_ns: u64) -> FunctionStats {
    let mean_ns = sum_ns as f64 / count as f64;
    let time = Moments {
        count,
        sum_ns,
        mean_ns,
        m2: 0.0,
        min_ns: 5,
        max_ns: sum_ns,
        max_rank: Rank(1),
    };
    FunctionStats {
        time,
        bytes_out: 800,
        bytes_in: 24,
        clipped: 0,
    }
}

fn sample() -> Final {
    let functions = FunctionTable {
        rows: BTreeMap::from([(RegionId(1), stats(30, 1_500_000_000))]),
        rank_rows: BTreeMap::from([
            ((Rank(0), RegionId(1)), stats(10, 500_000_000)),
            ((Rank(1), RegionId(1)), stats(20, 1_000_000_000)),
        ]),
        rank_rows_total: 2,
        rank_rows_max: 100,
        ..FunctionTable::default()
    };
    let traffic = Traffic {
        messages: 10,
        bytes: 800,
    };
    Final {
        job: JobDescription {
            id: "melt".into(),
            ranks: 2,
            places: 1,
            nodes: 1,
            family: "ompi".into(),
            library: "Open MPI v4.1.4\n".into(),
            observation: None,
        },
        functions,
        matrix: Matrix {
            block_ranks: 1,
            sent: BTreeMap::from([((0, 1), traffic)]),
            received: BTreeMap::from([((0, 1), traffic)]),
            ..Matrix::default()
        },
        status: JobStatus {
            states: [0, 0, 0, 0, 2, 0],
            observed_ns: 3_000_000_000,
            ..JobStatus::default()
        },
        coverage: Coverage {
            ranks: 2,
            ranks_reporting: 2,
            ledger: Ledger {
                entered: 30,
                kept: 28,
                dropped: [2, 0, 0],
                ..Ledger::default()
            },
            overhead_ns: 3_000,
            tool_cpu_ns: 40_000_000,
            packets_mpi: 4,
            payload_bytes: 300,
            buffer_bytes: 1 << 25,
            ..Coverage::default()
        },
        ended: Vec::new(),
        ended_left_out: 0,
        hang: Box::default(),
        waits: Box::default(),
        regions: Box::default(),
        sites: Box::default(),
        shut_down: false,
    }
}

#[test]
fn the_page_has_everything_once() {
    let name = mpi::name(RegionId(1));
    let page = text(&sample(), &EndContext::default());
    for part in [
        "Invivo report of job melt: 2 ranks, 1 tool place + 1 analysis node, watched for 3.00 s\n",
        "Open MPI v4.1.4 (family ompi)\n",
        "coverage: 2 of 2 ranks; 30 calls entered: 28 kept",
        "losses: 2 calls dropped as no packet was free\n",
        "own cost: 0.0 % of the ranks' time: 3.00 us in them (100 ns per call), 0 s on processors \
         that they lacked; 40.0 ms CPU in tool processes; 4 packets over MPI",
        "10.0 bytes per call; 32.0 MiB of buffers",
        "from \\ to  0      1\n0          .  800 B\n",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part:?} in\n{page}");
    }
    // The worse rank stands first.
    let by_rank = page.split("by rank").nth(1).expect("section");
    let (worse, better) = (by_rank.find("   1  "), by_rank.find("   0  "));
    assert!(worse.expect("rank 1") < better.expect("rank 0"));
    // In the sentence at the top, and in two tables.
    assert_eq!(page.matches(name).count(), 4);
}

/// The regions of a program stand in all forms of a report, the worst of many in the text.
#[test]
fn regions_are_in_the_report() {
    let rows = (0..30).map(|number| {
        let of = RegionStats {
            visits: 7,
            ranks: 2,
            own_ns: 1_000_000 * (30 - number),
            ..RegionStats::default()
        };
        (Region::Marked(format!("step {number}")), of)
    });
    let regions = Box::new(RegionTable {
        rows: rows.collect(),
        rows_max: 256,
        unnamed: 1,
        ..RegionTable::default()
    });
    let of = Final {
        regions,
        ..sample()
    };
    let page = text(&of, &EndContext::default());
    for part in [
        "\nRegions of the program, most own time first\nregion ",
        "\n\"step 0\" ",
        "\n\"step 19\" ",
        "\n... and 10 rows more: 70 visits, own time 55.0 ms\n",
        "\nnames of 1 row had not been looked up\n",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part:?} in\n{page}");
    }
    assert!(!page.contains("step 20"));
    let told = json(&of, &EndContext::default());
    let value: serde_json::Value = serde_json::from_str(&told).expect("json");
    assert_eq!(value["regions"]["rows"].as_array().map(Vec::len), Some(30));
    assert_eq!(value["regions"]["rows"][0]["name"], "step 0");
    let read: Report = serde_json::from_str(&told).expect("a report");
    assert_eq!(read.regions.map(|of| of.rows.len()), Some(30));
    // A program without regions has no section of them.
    let without = text(&sample(), &EndContext::default());
    assert!(!without.contains("Regions"), "{without}");
}

/// So do its call sites, with who waits there for whom.
#[test]
fn call_sites_are_in_the_report() {
    let rows = (0..30).map(|number| {
        let site = Site {
            place: Place::Code {
                file: "app".into(),
                build_id: Vec::new(),
                offset: number,
            },
            region: RegionId(1),
        };
        let mut of = SiteStats {
            ranks: 2,
            named: vec![Named {
                function: "step".into(),
                line: format!("app.c:{number}"),
            }],
            waits: [(WaitState::LateSender, late(1_000_000 * number))].into(),
            ..SiteStats::default()
        };
        of.stats.time.count = 5;
        of.stats.time.sum_ns = 1_000_000 * (60 - number);
        (site, of)
    });
    let of = Final {
        sites: Box::new(SiteTable {
            rows: rows.collect(),
            rows_max: 256,
            ..SiteTable::default()
        }),
        ..sample()
    };
    let page = text(&of, &EndContext::default());
    for part in [
        "\nCall sites, most time first\ncalled from ",
        "\nstep (app.c:0) ",
        "\n... and 10 rows with less time: 50 calls in 355 ms\n",
        "\nWait states by call site, longest first\ncalled from ",
        "\nstep (app.c:29) ",
        "  rank 4 (100.0 %)\nstep (app.c:28) ",
        "\n... and 45.0 ms in further rows\n",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part:?} in\n{page}");
    }
    let told = json(&of, &EndContext::default());
    let read: Report = serde_json::from_str(&told).expect("a report");
    let sites = read.call_sites.expect("call sites");
    assert_eq!(sites.rows.len(), 30);
    let wait = &sites.rows[29].waits[0];
    assert_eq!((wait.time_ns, wait.causers[0].rank), (29_000_000, 4));
    // Where nobody noted them there is no section.
    let without = text(&sample(), &EndContext::default());
    assert!(!without.contains("Call sites"), "{without}");
}

/// Rank 1 waits for rank 4.
fn late(ns: u64) -> SiteWaits {
    SiteWaits {
        waited: Waited::once(ns, Rank(1)),
        causers: vec![Causer { rank: Rank(4), ns }],
    }
}

#[test]
fn json_has_rows_that_add_up() {
    let value: serde_json::Value =
        serde_json::from_str(&json(&sample(), &EndContext::default())).expect("json");
    assert_eq!(value["version"], 1);
    assert_eq!(value["job"]["id"], "melt");
    let rows = value["functions"].as_array().expect("rows");
    assert_on_the_page("The report", &value);
    assert_on_the_page("The report", &rows[0]);
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["rank"], &rows[0]["calls"], &rows[0]["seconds"]),
        (&1.into(), &20.into(), &1.0.into())
    );
    assert_eq!(rows[0]["function"], mpi::name(RegionId(1)));
    assert_eq!(
        (
            &rows[0]["bytes"],
            &rows[0]["bytes_out"],
            &rows[0]["bytes_in"]
        ),
        (&824.into(), &800.into(), &24.into())
    );
    assert!(value["totals"][0].get("rank").is_none());
    assert_eq!(value["totals"][0]["calls"], 30);
    let cell = serde_json::json!({ "source": 0, "destination": 1, "messages": 10, "bytes": 800 });
    assert_eq!(value["matrix"]["sent"], serde_json::json!([cell]));
    assert_eq!(value["matrix"]["received"], serde_json::json!([cell]));
    assert_eq!(value["coverage"]["ledger"]["entered"], 30);
    assert_eq!(value["coverage"]["ledger"]["dropped"]["no_packet"], 2);
    assert_eq!(value["ended"], serde_json::json!([]));
    assert_eq!(value["states"]["finished"], 2);
}

#[test]
fn a_line_is_one_line_and_names_the_dead() {
    let mut report = sample();
    assert_eq!(
        one_line(&report, &EndContext::default()),
        "job melt: 2 ranks, 30 MPI calls in 3.00 s, 25.0 % of the time in MPI; losses: 2 calls \
         dropped as no packet was free"
    );
    report.ended = vec![
        RankEnded {
            rank: Rank(1),
            how: Ended::Signal(11),
            inside: Some(RegionId(1)),
        },
        RankEnded {
            rank: Rank(0),
            how: Ended::Code(3),
            inside: None,
        },
        RankEnded {
            rank: Rank(2),
            how: Ended::Code(4),
            inside: Some(RegionId(0)),
        },
    ];
    let line = one_line(&report, &EndContext::default());
    let name = mpi::name(RegionId(1));
    let tail = format!(
        "; rank 1 was killed by signal 11 (SIGSEGV), in {name}, and 2 ranks ended early as well"
    );
    assert!(line.ends_with(&tail), "{line}");
    assert!(!line.contains('\n'));
    let page = text(&report, &EndContext::default());
    assert!(
        page.contains(
            "rank 0 left with exit code 3 before MPI_Finalize was complete, outside MPI\n"
        )
    );
    assert!(page.contains(
        "rank 2 left with exit code 4 before MPI_Finalize was complete, in an MPI call\n"
    ));
    let value: serde_json::Value =
        serde_json::from_str(&json(&report, &EndContext::default())).expect("json");
    let expected = serde_json::json!([
        { "rank": 1, "signal": 11, "inside": name }, { "rank": 0, "code": 3 },
        { "rank": 2, "code": 4, "inside": "an MPI call" }]);
    assert_eq!(value["ended"], expected);
}

/// Whatever the number of ranks, a report says what is not in it, and where that is.
#[test]
fn what_a_report_of_4096_ranks_leaves_out_is_said() {
    let mut report = sample();
    report.job.ranks = 4096;
    report.functions.rank_rows = (0..4096)
        .map(|rank| ((Rank(rank), RegionId(1)), stats(10, 1000 + u64::from(rank))))
        .collect();
    report.functions.rank_rows_total = 20_480;
    report.matrix.block_ranks = 16;
    report.ended = (0..1024)
        .map(|rank| RankEnded {
            rank: Rank(rank),
            how: Ended::Signal(11),
            inside: None,
        })
        .collect();
    report.ended_left_out = 3072;
    let page = text(&report, &EndContext::default());
    for part in [
        "rank 19 was killed by signal 11 (SIGSEGV), outside MPI\n\
         ... and 4,076 more ranks ended early: the JSON report has the first 1,024 of 4,096\n",
        "... and 20,460 rows with less time\n\
         the JSON report has the first 4,096 of 20,480; while a job runs: invivo functions \
         --per-rank --rows N\n",
        "in blocks of 352 ranks; the JSON report has blocks of 16\n",
    ] {
        assert_eq!(page.matches(part).count(), 1, "{part:?} in\n{page}");
    }
    assert!(page.lines().count() < 100, "a page");
    let line = one_line(&report, &EndContext::default());
    assert!(
        line.ends_with(", and 4,095 ranks ended early as well"),
        "{line}"
    );
    let value: serde_json::Value =
        serde_json::from_str(&json(&report, &EndContext::default())).expect("json");
    assert_on_the_page("The report", &value);
    assert_eq!(value["functions_left_out"], 20_480 - 4096);
    assert_eq!(value["ended_left_out"], 3072);
}

#[test]
fn a_measurement_that_was_shut_down_says_so() {
    let mut report = sample();
    report.shut_down = true;
    report.status.states = [0, 2, 0, 0, 0, 0];
    assert!(
        text(&report, &EndContext::default()).contains(
            "the measurement was shut down before the job ended; this is as it was then\n"
        )
    );
    assert!(
        one_line(&report, &EndContext::default())
            .ends_with("; the measurement was shut down before the job ended")
    );
    let value: serde_json::Value =
        serde_json::from_str(&json(&report, &EndContext::default())).expect("json");
    assert_eq!(value["shut_down"], true);
}

#[test]
fn a_report_of_a_window_is_about_its_time() {
    let mut report = sample();
    let second = 1_000_000_000;
    report.status.recording.since_ns = 10 * second;
    report.status.recording.now_ns = 12 * second;
    report.status.recording.off = 2;
    // 1.5 s of 2 ranks in 2 s.
    assert!(
        one_line(&report, &EndContext::default()).contains(" 37.5 % of the time in MPI"),
        "{}",
        one_line(&report, &EndContext::default())
    );
    assert!(text(&report, &EndContext::default()).contains("\nrecording: off\n"));
    assert_eq!(
        text(&sample(), &EndContext::default())
            .matches("recording:")
            .count(),
        0
    );
}

#[test]
fn a_job_that_recorded_nothing_has_a_report() {
    let report = Final {
        functions: FunctionTable::default(),
        matrix: Matrix::default(),
        ..sample()
    };
    assert!(text(&report, &EndContext::default()).contains("no MPI call has been recorded"));
    assert!(one_line(&report, &EndContext::default()).contains("0 MPI calls"));
}

/// Who was waiting and where the timeline is stand in all of them.
#[test]
fn a_report_of_what_a_dead_process_left_says_so() {
    let saved = EndContext {
        tool_ended: Some(Ended::Signal(9)),
        ..EndContext::default()
    };
    let line = one_line(&sample(), &saved);
    let words = "; the tool process was killed by signal 9 (SIGKILL): what it held is lost, and \
                 this is what lay in the shared memory of its ranks then";
    assert!(line.contains(words), "{line}");
    assert!(!one_line(&sample(), &EndContext::default()).contains("tool process was"));
}

#[test]
fn waiting_ranks_and_timeline_stand_in_every_form() {
    let mut report = sample();
    report.ended = vec![RankEnded {
        rank: Rank(1),
        how: Ended::Signal(9),
        inside: None,
    }];
    let saved = EndContext {
        faults: Vec::new(),
        analyses: AnalysesStatus::default(),
        start: None,
        asked_by: Some(15),
        tool_ended: None,
        waiters: vec![invivo_archive::waiters::Waiter {
            rank: 0,
            function: "MPI_Wait".into(),
            since_ns: 1_000_000_000,
        }],
        to_ns: 3_000_000_000,
        path: Some("/tmp/melt.pftrace".into()),
        picture: "the last 5.00 s\n".into(),
    };
    let line = one_line(&report, &saved);
    assert!(
        line.ends_with(
            "; the job was asked to end by signal 15 (SIGTERM); rank 1 was killed by signal 9 \
             (SIGKILL), outside MPI; rank 0 was waiting for rank 1, for 2.00 s in MPI_Wait; \
             last seconds of all ranks: /tmp/melt.pftrace"
        ),
        "{line}"
    );
    let page = text(&report, &saved);
    assert!(
        page.contains("rank 0 was waiting for rank 1, for 2.00 s in MPI_Wait\n"),
        "{page}"
    );
    assert!(
        page.contains("the last seconds of all ranks: /tmp/melt.pftrace"),
        "{page}"
    );
    assert!(
        page.contains("\n\nMPI time by rank\nthe last 5.00 s\n\n"),
        "{page}"
    );
    assert!(!text(&sample(), &EndContext::default()).contains("MPI time by rank"));
    let value: serde_json::Value = serde_json::from_str(&json(&report, &saved)).expect("json");
    assert_eq!(
        value["waiting"],
        serde_json::json!([{ "rank": 0, "inside": "MPI_Wait", "seconds": 2.0 }])
    );
    assert_eq!(value["timeline"], "/tmp/melt.pftrace");
    assert_eq!(value["asked_to_end_by"], 15);
}

/// Fails where the manual's page of JSON does not list a field of an object in its section.
fn assert_on_the_page(section: &str, object: &serde_json::Value) {
    let page = include_str!("../../docs/manual/reference/json.md");
    let head = format!("{section}\n");
    let section = page.split("\n### ").find(|text| text.starts_with(&head));
    for field in object.as_object().expect("an object").keys() {
        let is_listed = section.expect(&head).contains(&format!("`{field}`"));
        assert!(field == "version" || is_listed, "{head}{field}");
    }
}
