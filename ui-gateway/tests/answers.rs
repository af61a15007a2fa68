//! Queries: the known answers of a scripted root reach the client completely and in order.

use crate::scripted_root::{Reply, ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::timeline::TimelinePosition;
use invivo_proto::control::tree::Query;
use invivo_proto::ids::{Rank, RegionId, WorldRank};
use tonic::Code;

async fn known_job() -> (JobDir, ScriptedRoot, crate::support::Gateway) {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    (job, root, gateway)
}

fn name(region: u16) -> String {
    invivo_proto::mpi::name(RegionId(region)).to_owned()
}

#[tokio::test]
async fn hello_has_versions_capabilities_and_the_job() {
    let (job, _root, _gateway) = known_job().await;
    let hello = job
        .viewer()
        .hello(v1::HelloRequest::default())
        .await
        .expect("hello")
        .into_inner();
    assert_eq!(hello.gateway_version, env!("CARGO_PKG_VERSION"));
    let can = "status watch functions call-sites regions iterations matrix messages wait-states \
               grid hang stacks profile pause resume hold reset record record-window \
               shutdown strategy analyses sampling selection metrics overhead buffers \
               records timeline save audit invite revoke";
    assert_eq!(hello.capabilities.join(" "), can);
    assert_eq!(hello.scope, "view");
    let described = hello.job.expect("job");
    assert_eq!(
        (
            described.id.as_str(),
            described.ranks,
            described.places,
            described.nodes,
            described.family.as_str()
        ),
        ("known", 4, 1, 1, "ompi")
    );
    let hello = job
        .controller()
        .hello(v1::HelloRequest::default())
        .await
        .expect("hello")
        .into_inner();
    assert_eq!(hello.scope, "control");
}

#[tokio::test]
async fn views_carry_their_coverage_and_ledger() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let status = client
        .status(v1::StatusRequest {})
        .await
        .expect("status")
        .into_inner();
    let functions = client
        .functions(v1::FunctionsRequest::default())
        .await
        .expect("functions")
        .into_inner();
    let matrix = client
        .matrix(v1::MatrixRequest::default())
        .await
        .expect("matrix")
        .into_inner();
    let mut snapshots = client
        .watch(v1::WatchRequest::default())
        .await
        .expect("watch")
        .into_inner();
    let snapshot = snapshots
        .message()
        .await
        .expect("no error")
        .expect("a snapshot");
    for coverage in [
        status.coverage,
        functions.coverage,
        matrix.coverage,
        snapshot.coverage,
    ] {
        let coverage = coverage.expect("coverage");
        assert_eq!(
            (coverage.ranks, coverage.ranks_reporting, coverage.lag_ns),
            (4, 4, 5_000_000)
        );
        let ledger = coverage.ledger.expect("ledger");
        let dropped = ledger.dropped.expect("dropped");
        let lost = (dropped.no_packet, dropped.no_location);
        assert_eq!((lost, ledger.not_selected), ((4, 2), 1));
        let placed = ledger.open + ledger.in_flight + ledger.kept + ledger.reduced + 4 + 2 + 1;
        assert_eq!((ledger.entered, placed), (60, 60));
    }
}

#[tokio::test]
async fn status_names_ranks_and_functions() {
    let (job, _root, _gateway) = known_job().await;
    let status = job
        .viewer()
        .status(v1::StatusRequest {})
        .await
        .expect("status")
        .into_inner()
        .status
        .expect("status");
    let ranks = status.ranks.expect("counts");
    assert_eq!((ranks.computing, ranks.in_mpi, ranks.paused), (3, 1, 0));
    let worst = &status.named[0];
    assert_eq!(
        (worst.rank, worst.state(), worst.function.clone()),
        (3, v1::RankState::InMpi, name(1))
    );
    assert!(status.pause.is_none());
}

#[tokio::test]
async fn functions_are_sorted_by_time_and_bounded() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let merged = client
        .functions(v1::FunctionsRequest::default())
        .await
        .expect("functions")
        .into_inner();
    let rows: Vec<_> = merged
        .rows
        .iter()
        .map(|row| (row.function.clone(), row.calls, row.time_ns))
        .collect();
    assert_eq!(rows, [(name(2), 50, 1000), (name(1), 10, 500)]);
    assert!(merged.rank_rows.is_empty());
    let asked = v1::FunctionsRequest {
        per_rank: true,
        rank_rows_max: 3,
        ..v1::FunctionsRequest::default()
    };
    let by_rank = client
        .functions(asked)
        .await
        .expect("functions")
        .into_inner();
    let rows: Vec<_> = by_rank
        .rank_rows
        .iter()
        .map(|row| (row.rank, row.time_ns))
        .collect();
    assert_eq!(rows, [(Some(3), 400), (Some(2), 300), (Some(1), 200)]);
    assert_eq!(by_rank.rank_rows_total, 4);
}

#[tokio::test]
async fn buffers_describe_levels_in_words() {
    let (job, _root, _gateway) = known_job().await;
    let reply = job
        .viewer()
        .buffers(v1::BuffersRequest {})
        .await
        .expect("buffers")
        .into_inner();
    assert_eq!(reply.strategies[0].strategy, "duration:1ms");
    let levels: Vec<_> = reply
        .levels
        .iter()
        .map(|level| {
            (
                level.holds.as_str(),
                level.shorter_than_log2_ticks,
                level.kept,
                level.given_up,
            )
        })
        .collect();
    // A tick takes half a nanosecond.
    assert_eq!(
        levels,
        [
            ("shorter than 524.288 us", Some(20), 0, 400),
            ("all else", None, 100, 0)
        ]
    );
    assert_eq!(
        (reply.levels[0].gone_until_ns, reply.levels[1].gone_until_ns),
        (Some(5_000_000_000), None)
    );
    let loss = &reply.losses[0];
    assert_eq!(
        (loss.class.as_str(), loss.reason.as_str(), loss.records),
        ("call", "made room", 400)
    );
    let complete = reply.complete.expect("lengths");
    assert_eq!(
        (complete.mean_ns, complete.min_ns),
        (2_000_000_000, 1_000_000_000)
    );
    assert_eq!(complete.shortest, Some(v1::Location { rank: 2, thread: 0 }));
    assert_eq!(
        (
            reply.bytes_per_call,
            reply.coverage.expect("coverage").ranks
        ),
        (9.0, 4)
    );
}

#[tokio::test]
async fn records_come_in_pages_of_bounded_size() {
    let (job, _root, _gateway) = known_job().await;
    let ask = |rank, max| v1::RecordsRequest {
        rank,
        max,
        ..v1::RecordsRequest::default()
    };
    for (asked, given) in [(0, 4096), (100, 100), (1_000_000, 8192)] {
        let page = job
            .viewer()
            .records(ask(1, asked))
            .await
            .expect("a page")
            .into_inner();
        let record = &page.records[0];
        let facts = record.facts.clone().expect("facts");
        assert_eq!(
            (record.function.as_str(), facts.kind.as_str(), facts.peer),
            ("MPI_Send", "send", 3)
        );
        assert_eq!(facts.bytes_out, given, "the root is asked for as many");
        let next = page.next.expect("another page");
        assert_eq!((next.end_ticks, next.given), (2900, 1));
        assert_eq!(page.gone_until_ns, Some(4_000_000_000));
    }
    let nobody = job
        .viewer()
        .records(ask(99, 0))
        .await
        .expect_err("no such rank");
    assert_eq!(nobody.code(), tonic::Code::NotFound);
    assert!(
        nobody.message().contains("the job has 4 ranks"),
        "{}",
        nobody.message()
    );
}

/// All pages of an answer.
async fn pages(job: &JobDir, request: v1::TimelineRequest) -> Vec<v1::TimelinePage> {
    let pages = job.viewer().timeline(request).await.expect("pages");
    let mut pages = pages.into_inner();
    let mut all = Vec::new();
    while let Some(page) = pages.message().await.expect("a page") {
        all.push(page);
    }
    all
}

#[tokio::test]
async fn a_timeline_comes_rank_by_rank() {
    let (job, root, _gateway) = known_job().await;
    let request = v1::TimelineRequest {
        length_ns: 4_000,
        calls_max: 400,
    };
    let all = pages(&job, request).await;
    let ranks: Vec<u32> = all
        .iter()
        .map(|page| page.pieces[0].location.expect("a location").rank)
        .collect();
    assert_eq!(ranks, [0, 1, 2, 3]);
    // Job time is 9 µs when it is asked for.
    assert!(
        all.iter()
            .all(|page| (page.from_ns, page.to_ns, page.ranks) == (5_000, 9_000, 4))
    );
    let piece = &all[2].pieces[0];
    let open = piece.open.as_ref().expect("an open call");
    assert_eq!(
        (open.function.as_str(), open.begin_ns),
        (name(2).as_str(), 8_000)
    );
    assert_eq!(
        (piece.complete, piece.left_out, piece.state.as_str()),
        (true, 7, "starting")
    );
    let question = |from| {
        Ask::Query(Query::Timeline {
            from,
            from_ns: 5_000,
            to_ns: 9_000,
            newest: 100,
            max: 16_384,
        })
    };
    for rank in 0..4 {
        let from = TimelinePosition::of(rank, 4).expect("a rank");
        assert_eq!(root.times(&question(from)), 1, "rank {rank}");
    }
    let too_long = v1::TimelineRequest {
        length_ns: u64::MAX,
        calls_max: 0,
    };
    let refused = job.viewer().timeline(too_long).await.expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_silent_place_is_skipped_and_named() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Query(Query::Timeline { from, .. }) if from.location.rank == Rank(1) => {
            Reply::Partial(
                Answer::Timeline(Default::default(), Default::default()),
                vec![WorldRank(5)],
            )
        }
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let all = pages(&job, v1::TimelineRequest::default()).await;
    let found: Vec<(usize, &[u32])> = all
        .iter()
        .map(|page| (page.pieces.len(), &page.missing[..]))
        .collect();
    assert_eq!(
        found,
        [(1, &[][..]), (0, &[5][..]), (1, &[][..]), (1, &[][..])]
    );
}

#[tokio::test]
async fn messages_are_pairs_and_times() {
    let (job, _root, _gateway) = known_job().await;
    let reply = job
        .viewer()
        .messages(v1::MessagesRequest::default())
        .await
        .expect("messages")
        .into_inner();
    let traffic = |messages| {
        Some(v1::Traffic {
            messages,
            bytes: 80 * messages,
        })
    };
    assert_eq!(
        (reply.sent, reply.received, reply.matched),
        (traffic(4), traffic(3), traffic(3))
    );
    let unmatched = reply.unmatched.expect("reasons");
    assert_eq!((unmatched.cut, unmatched.missing), (1, 0));
    let times = |of: Option<v1::Durations>| {
        let of = of.expect("times");
        (of.count, of.sum_ns, of.mean_ns, of.max_rank)
    };
    assert_eq!(times(reply.transfer), (2, 3_000, 1_500.0, 3));
    assert_eq!(times(reply.late_sender), (1, 700, 700.0, 3));
    assert_eq!((reply.untimed, reply.clock_error_ns), (1, 50));
    assert_eq!(reply.coverage.expect("coverage").ranks, 4);
}

#[tokio::test]
async fn a_matrix_is_exact_or_folded_as_asked() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let exact = client
        .matrix(v1::MatrixRequest::default())
        .await
        .expect("matrix")
        .into_inner();
    assert_eq!((exact.block_ranks, exact.cells.len()), (1, 4));
    assert_eq!(
        exact.unresolved,
        Some(v1::Traffic {
            messages: 2,
            bytes: 9
        })
    );
    let two = v1::MatrixRequest {
        side_max: 2,
        ..v1::MatrixRequest::default()
    };
    let folded = client.matrix(two).await.expect("matrix").into_inner();
    assert_eq!((folded.block_ranks, folded.cells.len()), (2, 4));
    let sent: u64 = folded
        .cells
        .iter()
        .map(|cell| cell.sent.expect("sent").bytes)
        .sum();
    assert_eq!(sent, 4 * 80);
}

#[tokio::test]
async fn samples_have_names_reasons_and_lines_by_time() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let all = v1::ProfileRequest::default();
    let reply = client.profile(all).await.expect("samples").into_inner();
    assert_eq!((reply.ranks, reply.sampled_ranks), (4, 3));
    let without = &reply.without[0];
    assert_eq!(
        (
            without.reason.as_str(),
            without.which.as_str(),
            without.paranoid
        ),
        ("forbidden", "3", 3)
    );
    assert_eq!(
        (reply.samples, reply.samples_lost, reply.samples_unnamed),
        (25, 1, 4)
    );
    assert_eq!(
        (reply.cpu_ns, reply.elapsed_ns, reply.sampler_cpu_ns),
        (100, 120, 2)
    );
    assert_eq!((reply.frequency_min, reply.frequency_max), (50, 251));
    assert_eq!((reply.ranks_without_kernel, reply.left_out_ns), (1, 5));
    let solve = &reply.nodes[1];
    assert_eq!((solve.depth, solve.kind.as_str()), (1, "function"));
    assert_eq!(
        (solve.function.as_str(), solve.module.as_str()),
        ("solve", "app")
    );
    assert_eq!(
        (solve.ns, solve.own_ns, solve.most_rank, solve.most_ns),
        (90, 90, 2, 45)
    );
    let lines: Vec<&str> = solve.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["app.c:9", "app.c:7"]);
    let many = vec![v1::RankRange { first: 0, last: 1 }; 9];
    let many = v1::ProfileRequest {
        ranks: many,
        ..v1::ProfileRequest::default()
    };
    let refused = client.profile(many).await.expect_err("too many ranges");
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn an_interval_of_samples_is_said_in_observed_time() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let part = v1::ProfileRequest {
        from_ns: 100,
        to_ns: 400,
        ..v1::ProfileRequest::default()
    };
    let reply = client.profile(part).await.expect("samples").into_inner();
    let told = v1::ProfileInterval {
        from_ns: 100,
        to_ns: 400,
        cut_ranks: 1,
        gone_until_ns: 399,
        samples_not_kept: 7,
    };
    assert_eq!(reply.interval, Some(told));
    let empty = v1::ProfileRequest {
        from_ns: 400,
        to_ns: 100,
        ..v1::ProfileRequest::default()
    };
    let refused = client.profile(empty).await.expect_err("it is empty");
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn regions_come_by_own_time_with_what_was_not_recorded() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let all = client.regions(v1::RegionsRequest::default()).await;
    let reply = all.expect("regions").into_inner();
    let [solve, step] = &reply.rows[..] else {
        panic!("{:?}", reply.rows)
    };
    assert_eq!((solve.kind.as_str(), solve.own_ns), ("code", 700));
    assert_eq!((step.kind.as_str(), step.name.as_str()), ("marked", "step"));
    assert_eq!((reply.rows_left_out, reply.rows_unnamed), (3, 1));
    assert_eq!((reply.dropped, reply.repaired, reply.too_deep), (5, 6, 7));
    assert_eq!(reply.analysis.expect("a switch").name, "regions");
    let one = v1::RegionsRequest {
        rows_max: 1,
        ..v1::RegionsRequest::default()
    };
    let reply = client.regions(one).await.expect("regions").into_inner();
    assert_eq!((reply.rows.len(), reply.rows_left_out), (1, 4));
    assert_eq!(reply.left_out.expect("sums").own_ns, 320);
}
