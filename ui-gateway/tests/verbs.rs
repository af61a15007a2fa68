//! Commands: what reaches the root, what comes back, and that one id is one command.

use crate::scripted_root::{Reply, ScriptedRoot, acks, coverage, known, status};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Order, Query};
use invivo_proto::ids::{CommandId, WorldRank};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::{Code, Request};

/// The orders that the root was given.
fn orders(root: &ScriptedRoot) -> Vec<(CommandId, Order)> {
    let order = |ask| match ask {
        Ask::Command { id, order } => Some((id, order)),
        _ => None,
    };
    root.asked().into_iter().filter_map(order).collect()
}

fn window(command_id: u64, length: Duration) -> v1::RecordWindowRequest {
    v1::RecordWindowRequest {
        command_id,
        length_ns: length.as_nanos() as u64,
    }
}

#[tokio::test]
async fn each_verb_reaches_the_root_and_its_cuts_come_back() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();

    let held = client
        .hold(v1::HoldRequest {
            command_id: 1,
            lease_ns: 0,
        })
        .await
        .expect("held")
        .into_inner();
    assert_eq!(
        (held.done, held.held_in_mpi, held.lease_ns),
        (4, 1, 600_000_000_000)
    );
    assert_eq!((held.from, held.to), (None, None));
    let reset = client
        .reset(v1::ResetRequest { command_id: 2 })
        .await
        .expect("reset")
        .into_inner();
    let cut = |at_ns| {
        Some(v1::Cut {
            earliest_ns: at_ns,
            latest_ns: at_ns,
            error_ns: 50,
        })
    };
    assert_eq!(
        (reset.from, reset.to, reset.clipped),
        (cut(10_000), None, 3)
    );
    for (command_id, on) in [(3, false), (4, true)] {
        let reply = client
            .record(v1::RecordRequest { command_id, on })
            .await
            .expect("switched");
        assert_eq!(reply.into_inner().from, cut(10_000));
    }
    let recorded = client
        .record_window(window(5, Duration::from_secs(1)))
        .await
        .expect("recorded")
        .into_inner();
    assert_eq!(
        (recorded.from, recorded.to),
        (cut(10_000), cut(1_000_010_000))
    );
    assert_eq!(
        (recorded.complete_ns, recorded.clipped, recorded.open),
        (1_000_012_000, 3, 2)
    );
    let ended = client
        .shutdown(v1::ShutdownRequest { command_id: 6 })
        .await
        .expect("ended")
        .into_inner();
    assert_eq!((ended.command_id, ended.targets, ended.done), (6, 4, 4));

    let expected = [
        Order::Hold {
            lease_ns: 600_000_000_000,
        },
        Order::Reset,
        Order::Record { on: false },
        Order::Record { on: true },
        Order::Window {
            length_ns: 1_000_000_000,
        },
        Order::Shutdown,
    ];
    let expected: Vec<_> = (1..).map(CommandId).zip(expected).collect();
    assert_eq!(orders(&root), expected);
}

#[tokio::test]
async fn bad_arguments_are_refused_before_they_reach_the_root() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();
    for length in [
        Duration::ZERO,
        Duration::from_micros(999),
        Duration::from_secs(24 * 3600 + 1),
    ] {
        let refused = client
            .record_window(window(0, length))
            .await
            .expect_err("refused");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(
            refused.message().contains("at least a millisecond"),
            "{}",
            refused.message()
        );
    }
    let refused = client
        .hold(v1::HoldRequest {
            command_id: 0,
            lease_ns: u64::MAX,
        })
        .await
        .expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(orders(&root), []);
}

#[tokio::test]
async fn one_id_is_one_command_and_has_one_answer() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Command { order, .. } => {
            Reply::Late(Duration::from_millis(200), Answer::Command(acks(order)))
        }
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    // Two at once, from two clients, and one later.
    let (mut one, mut other) = (job.controller(), job.controller());
    let request = v1::ResetRequest { command_id: 9 };
    let (first, second) = tokio::join!(one.reset(request), other.reset(request));
    let first = first.expect("reset").into_inner();
    assert_eq!(second.expect("reset").into_inner(), first);
    assert_eq!(one.reset(request).await.expect("reset").into_inner(), first);
    assert_eq!(orders(&root), [(CommandId(9), Order::Reset)]);

    let refused = one
        .record(v1::RecordRequest {
            command_id: 9,
            on: true,
        })
        .await
        .expect_err("another command");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused
            .message()
            .contains("the command 9 was another one (reset"),
        "{}",
        refused.message()
    );
    assert_eq!(orders(&root).len(), 1);
}

#[tokio::test]
async fn a_failed_command_may_be_repeated_with_its_id() {
    let job = JobDir::new();
    let failed = AtomicBool::new(false);
    let root = ScriptedRoot::start(&job.link(), move |ask| match ask {
        Ask::Command { .. } if !failed.swap(true, Ordering::Relaxed) => Reply::HangUp,
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();
    let request = v1::ResumeRequest { command_id: 3 };
    let away = client.resume(request).await.expect_err("it hung up");
    assert_eq!(away.code(), Code::Unavailable);
    job.root_connected(true).await;
    assert_eq!(
        client
            .resume(request)
            .await
            .expect("resumed")
            .into_inner()
            .done,
        4
    );
    assert_eq!(orders(&root).len(), 2);
}

#[tokio::test]
async fn a_window_outlives_its_client_and_is_answered_later() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), |ask| match ask {
        // As the real one: behind the end of the window.
        Ask::Command {
            order: order @ Order::Window { length_ns },
            ..
        } => {
            let length = Duration::from_nanos(*length_ns);
            Reply::Late(
                length + Duration::from_millis(100),
                Answer::Command(acks(order)),
            )
        }
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();
    let length = Duration::from_secs(3);
    let mut hasty = Request::new(window(5, length));
    hasty.set_timeout(Duration::from_millis(200));
    let begun = Instant::now();
    let late = client.record_window(hasty).await.expect_err("no time");
    assert!(
        matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled),
        "{late}"
    );
    assert!(begun.elapsed() < length, "its deadline counts");
    let reply = client
        .record_window(window(5, length))
        .await
        .expect("recorded")
        .into_inner();
    assert!(begun.elapsed() >= length, "answered behind its end");
    assert!(
        reply.took_ns >= length.as_nanos() as u64,
        "counted from the first time"
    );
    assert_eq!(reply.open, 2);
    assert_eq!(orders(&root).len(), 1);
}

#[tokio::test]
async fn the_log_has_the_outcome_without_a_client() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Command { order, .. } => {
            Reply::Late(Duration::from_secs(2), Answer::Command(acks(order)))
        }
        other => known(other),
    });
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();
    let asked = client.reset(v1::ResetRequest { command_id: 4 });
    let left = tokio::time::timeout(Duration::from_secs(1), asked).await;
    assert!(left.is_err(), "it did not wait");
    sleep(Duration::from_millis(2500)).await;
    gateway.end().await;
    let log = std::fs::read_to_string(job.path().join("audit.jsonl")).expect("audit log");
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let events: Vec<_> = events.iter().map(|line| line["event"].as_str()).collect();
    assert_eq!(events, [Some("sent"), Some("answered")]);
}

#[tokio::test]
async fn tool_processes_without_an_answer_are_named_beside_every_view() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| {
        let missing = vec![WorldRank(5), WorldRank(9)];
        match (known(ask), ask) {
            (Reply::Answer(answer), Ask::Query(_)) => Reply::Partial(answer, missing),
            (reply, _) => reply,
        }
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.viewer();
    let status = client
        .status(v1::StatusRequest {})
        .await
        .expect("status")
        .into_inner()
        .coverage;
    let functions = client
        .functions(v1::FunctionsRequest::default())
        .await
        .expect("functions")
        .into_inner()
        .coverage;
    let matrix = client
        .matrix(v1::MatrixRequest::default())
        .await
        .expect("matrix")
        .into_inner()
        .coverage;
    let mut watch = client
        .watch(v1::WatchRequest::default())
        .await
        .expect("watch")
        .into_inner();
    let snapshot = watch
        .message()
        .await
        .expect("no error")
        .expect("a snapshot")
        .coverage;
    for coverage in [status, functions, matrix, snapshot] {
        assert_eq!(coverage.expect("coverage").missing, [5, 9]);
    }
}

#[tokio::test]
async fn queries_request_no_more_than_the_client_wants() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Query(Query::Status) => Reply::Answer(Answer::Status(status(), coverage())),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.viewer();
    for (per_rank, rank_rows_max, asked) in [
        (false, 7, 0),
        (true, 0, 4096),
        (true, 7, 7),
        (true, u32::MAX, 65536),
    ] {
        let request = v1::FunctionsRequest {
            per_rank,
            rank_rows_max,
            ..v1::FunctionsRequest::default()
        };
        client.functions(request).await.expect("functions");
        let query = Ask::Query(Query::Functions {
            rank_rows_max: asked,
            past: None,
        });
        assert_eq!(root.times(&query), 1, "{request:?}");
    }
    for (side_max, asked) in [(0, 64), (2, 2), (10_000, 256)] {
        client
            .matrix(v1::MatrixRequest {
                side_max,
                ..v1::MatrixRequest::default()
            })
            .await
            .expect("matrix");
        assert_eq!(
            root.times(&Ask::Query(Query::Matrix {
                side_max: asked,
                past: None
            })),
            1
        );
    }
    let recording = client
        .status(v1::StatusRequest {})
        .await
        .expect("status")
        .into_inner()
        .status
        .expect("status")
        .recording;
    let recording = recording.expect("recording");
    assert_eq!(
        (
            recording.on,
            recording.off,
            recording.now_ns,
            recording.clock_error_ns
        ),
        (4, 0, 9_000, 50)
    );
}
