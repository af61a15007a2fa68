//! Every verb that steers: what the root is asked for, what is printed, and the exit status.

mod support;

use invivo_jobdir::Connect;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::{JobStatus, RecordingStatus, WindowStatus};
use invivo_proto::control::tree::{Acks, Cut, Order, Query};
use invivo_proto::ids::{CommandId, Rank};
use invivo_ui_gateway::server::Options;
use std::process::Stdio;
use std::time::Duration;
use support::User;
use support::scripted_root::{Reply, acks, known};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

fn orders(asked: &[Ask]) -> Vec<Order> {
    let order = |ask: &Ask| match ask {
        Ask::Command { order, .. } => Some(order.clone()),
        _ => None,
    };
    asked.iter().filter_map(order).collect()
}

#[tokio::test]
async fn each_verb_is_the_order_that_it_says() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    let said = [
        (
            user.text(&["reset"]).await,
            "reset 4 of 4 ranks in ",
            "; cut at 0.000010 s after the start (clocks agree within 50 ns), 3 calls clipped\n",
        ),
        (
            user.text(&["record", "off"]).await,
            "switched recording off for 4 of 4 ranks in ",
            "3 calls clipped; to switch it on again: invivo record on\n",
        ),
        (
            user.text(&["record", "on"]).await,
            "switched recording on for 4 of 4 ranks in ",
            "3 calls clipped\n",
        ),
        (
            user.text(&["hold", "--lease", "90s"]).await,
            "held 4 of 4 ranks in ",
            "; to go on: invivo resume (or in 1 min 30 s by itself)\n",
        ),
        (
            user.text(&["shutdown"]).await,
            "ended the measurement of 4 of 4 ranks in ",
            "; the job runs on unobserved\n",
        ),
    ];
    for (text, begin, end) in &said {
        assert!(text.starts_with(begin) && text.ends_with(end), "{text}");
    }
    assert_eq!(
        orders(&root.asked()),
        [
            Order::Reset,
            Order::Record { on: false },
            Order::Record { on: true },
            Order::Hold {
                lease_ns: 90_000_000_000
            },
            Order::Shutdown,
        ]
    );
    let reset = user.json(&["reset", "--json"]).await;
    assert_eq!(
        (&reset["from"]["earliest_ns"], &reset["clipped"]),
        (&10_000.into(), &3.into())
    );
}

#[tokio::test]
async fn a_window_says_where_it_lay_and_what_it_holds() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    let text = user.text(&["record", "--for", "2s"]).await;
    let head = "recorded a window on 4 of 4 ranks in ";
    let tail = "; from 0.000010 s to 2.000010 s after the start (2.00 s; clocks agree within \
        50 ns), complete 2.00 us after its \
                end, 3 calls clipped, 2 calls still open; 60 calls in it; see them: invivo \
                functions\n";
    assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
    assert_eq!(
        orders(&root.asked()),
        [Order::Window {
            length_ns: 2_000_000_000
        }]
    );
    let json = user.json(&["record", "--for", "10ms", "--json"]).await;
    assert_eq!((&json["calls"], &json["open"]), (&60.into(), &2.into()));
    assert_eq!(json["to"]["latest_ns"], 10_010_000);
}

#[tokio::test]
async fn a_window_that_some_rank_ended_early_is_incomplete() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match ask {
        Ask::Command { order, .. } => Reply::Answer(Answer::Command(Acks {
            done: 3,
            failures: vec![(Rank(1), "ended by command 7".into())],
            from: Some(Cut {
                earliest_ns: 10_000,
                latest_ns: 3_010_000,
                error_ns: 50,
            }),
            ..acks(order)
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    let (status, out, err) = user.said(&["record", "--for", "10ms"]).await;
    assert_eq!(status, 1);
    assert!(out.contains("recorded a window on 3 of 4 ranks"), "{out}");
    assert!(
        out.contains("on some ranks 3.00 ms later as they heard of it too late"),
        "{out}"
    );
    assert!(
        err.contains("invivo: rank 1: ended by command 7\n"),
        "{err}"
    );
}

#[tokio::test]
async fn wrong_usage_is_told_from_failure() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    for wrong in [
        &["record"][..],
        &["record", "maybe"],
        &["record", "on", "--for", "2s"],
        &["record", "--for", "soon"],
        &["hold", "--lease", "0s"],
        &["invite", "--scope", "modules"],
        &["session", "run"],
    ] {
        let (status, out, err) = user.said(wrong).await;
        assert_eq!((status, out.as_str()), (2, ""), "{wrong:?}");
        assert!(err.contains("--help"), "{err}");
    }
    // What only the gateway can know is a failure, in its words.
    let (status, _, err) = user.said(&["record", "--for", "100us"]).await;
    assert_eq!(status, 1);
    assert!(
        err.starts_with("invivo: job known: a window of 100000 ns"),
        "{err}"
    );
}

#[tokio::test]
async fn every_command_has_help_with_examples() {
    let user = User::new();
    for command in [
        "pause",
        "resume",
        "hold",
        "reset",
        "record",
        "shutdown",
        "audit",
        "invite",
        "config",
        "completions",
        "man",
        "status",
        "watch",
        "functions",
        "regions",
        "iterations",
        "matrix",
        "hang",
        "stacks",
        "profile",
        "sampling",
        "metrics",
        "list",
    ] {
        let (status, out, _) = user.said(&[command, "--help"]).await;
        assert_eq!(status, 0, "{command}");
        assert!(
            out.contains("\nExamples:\n") && out.contains(&format!("invivo {command}")),
            "{out}"
        );
    }
}

#[tokio::test]
async fn status_and_watch_say_what_is_recorded() {
    let user = User::new();
    let job = user.job("known");
    let second = 1_000_000_000;
    let window = WindowStatus {
        command: CommandId(9),
        from_ns: 10 * second,
        to_ns: 15 * second,
        complete: 0,
    };
    let _root = job.root(move |ask| match known(ask) {
        Reply::Answer(Answer::Status(status, coverage)) => {
            let recording = RecordingStatus {
                since_ns: 10 * second,
                now_ns: 12 * second,
                window: Some(window),
                ..status.recording
            };
            let status = JobStatus {
                recording,
                states: [0, 1, 1, 0, 0, 2],
                ..status
            };
            Reply::Answer(Answer::Status(status, coverage))
        }
        other => other,
    });
    let _gateway = job.gateway().await;
    let status = user.text(&["status"]).await;
    assert!(
        status.contains("\nrecording: window of 5.00 s, 2.00 s of it over\n"),
        "{status}"
    );
    assert!(
        status.contains("ranks: 1 computing, 1 in MPI, 2 held behind MPI_Init\n"),
        "{status}"
    );
    let line = user.text(&["watch", "--count", "1"]).await;
    assert!(
        line.contains(" | WINDOW of 5.00 s, 2.00 s of it over | "),
        "{line}"
    );
    let json = user.json(&["status", "--json"]).await;
    assert_eq!(json["status"]["recording"]["window"]["command_id"], 9);
}

#[tokio::test]
async fn the_audit_log_is_shown_and_followed() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let gateway = job.gateway().await;
    user.text(&["pause", "--lease", "30s"]).await;
    let mut follower = user
        .invivo(&["audit", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let mut next = async || {
        let line = timeout(Duration::from_secs(10), lines.next_line()).await;
        let line = line.expect("in time").expect("read").expect("a line");
        serde_json::from_str::<serde_json::Value>(&line).expect("json")
    };
    let pause = next().await;
    assert_eq!(
        (
            &pause["command"],
            pause["arguments"]
                .as_str()
                .map(|text| text.starts_with("lease 30"))
        ),
        (&"pause".into(), Some(true))
    );
    user.text(&["reset"]).await;
    let (begun, ended) = (next().await, next().await);
    assert_eq!(
        (&begun["command"], &begun["outcome"]),
        (&"reset".into(), &"".into())
    );
    assert_eq!(
        (&ended["sequence"], &ended["command_id"]),
        (&begun["sequence"], &begun["command_id"])
    );
    assert_ne!(ended["outcome"], "");
    let version = concat!("invivo ", env!("CARGO_PKG_VERSION"));
    assert_eq!(ended["client"], version);

    let log = user.text(&["audit"]).await;
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(
        lines[0].contains("Z  pause lease 30") && lines[1].contains("Z  reset  (uid "),
        "{log}"
    );
    // The log ends with the job.
    std::fs::remove_file(job.connect_path()).expect("removed");
    gateway.end().await;
    let status = timeout(Duration::from_secs(10), follower.wait()).await;
    assert!(status.expect("it ends").expect("waited").success());
}

#[tokio::test]
async fn an_invitation_opens_what_it_says() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let json = user.json(&["invite", "--json", "--scope", "control"]).await;
    assert_eq!(json["secret"].as_str().map(str::len), Some(64));
    assert!(json["valid_ns"].as_u64().is_some_and(|valid| valid > 0));
    let text = user.text(&["invite"]).await;
    assert!(
        text.contains("\ngood once, within ") && text.contains("for view"),
        "{text}"
    );
    assert!(!text.contains(&job.connect.view), "no token is shown");
}

#[tokio::test]
async fn a_copied_file_reaches_the_job_over_tls() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let options = Options {
        listen: Some("127.0.0.1:0".parse().expect("an address")),
        ..Options::default()
    };
    let _gateway = job.gateway_with(options).await;
    let connect = Connect::read(&job.connect_path()).expect("read");
    assert!(connect.url.is_some(), "{connect:?}");
    // As on another host, where the socket means nothing.
    let copy = user.home.path().join("copy.json");
    let elsewhere = Connect {
        host: "elsewhere.invalid".into(),
        socket: "/nowhere/gateway.sock".into(),
        ..connect
    };
    support::write_private(&copy, &elsewhere);
    let copied = copy.to_str().expect("text");
    let paused = user.text(&["pause", "--connect", copied]).await;
    assert!(paused.starts_with("paused 4 of 4 ranks"), "{paused}");
    let status = user
        .invivo(&["status"])
        .env("INVIVO_CONNECT", &copy)
        .output()
        .await
        .expect("started");
    assert!(status.status.success());

    let (status, _, err) = user
        .said(&["status", "--connect", copied, "--job", "other"])
        .await;
    assert_eq!(status, 1);
    assert!(
        err.contains("is of job known, and job other was asked for"),
        "{err}"
    );
    // A certificate of another authority is not taken.
    let strange = Connect {
        authority: Some(
            elsewhere
                .authority
                .clone()
                .expect("a certificate")
                .replacen("MI", "MJ", 1),
        ),
        ..elsewhere.clone()
    };
    support::write_private(&copy, &strange);
    let (status, _, _) = user.said(&["status", "--connect", copied]).await;
    assert_eq!(status, 1);
    let deaf = Connect {
        url: None,
        ..elsewhere
    };
    support::write_private(&copy, &deaf);
    let (status, _, err) = user.said(&["status", "--connect", copied]).await;
    assert_eq!(status, 1);
    assert!(
        err.contains("does not listen to other hosts") && err.contains("--listen HOST:0"),
        "{err}"
    );
}

#[tokio::test]
async fn a_function_table_marks_clipped_calls() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match known(ask) {
        Reply::Answer(Answer::Functions(mut table, coverage)) => {
            table.rows.values_mut().for_each(|stats| stats.clipped = 2);
            Reply::Answer(Answer::Functions(table, coverage))
        }
        other => other,
    });
    let _gateway = job.gateway().await;
    let text = user.text(&["functions"]).await;
    assert!(
        text.lines()
            .next()
            .is_some_and(|head| head.ends_with("  clipped")),
        "{text}"
    );
    let json = user.json(&["functions", "--json"]).await;
    assert_eq!(json["rows"][0]["clipped"], 2);
}

#[tokio::test]
async fn missing_tool_processes_are_named() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match (ask, known(ask)) {
        (Ask::Query(Query::Status), Reply::Answer(Answer::Status(status, mut coverage))) => {
            coverage.members_missing = 1;
            Reply::Partial(
                Answer::Status(status, coverage),
                vec![invivo_proto::ids::WorldRank(9)],
            )
        }
        (_, reply) => reply,
    });
    let _gateway = job.gateway().await;
    let text = user.text(&["status"]).await;
    assert!(
        text.contains("1 tool process did not answer (world rank 9)"),
        "{text}"
    );
}
