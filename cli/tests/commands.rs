//! The real `invivo` against a gateway with a scripted root behind it: what is printed, and the
//! exit status.

mod support;

use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Acks, Query};
use invivo_proto::ids::{Rank, WorldRank};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use support::scripted_root::{Reply, known};
use support::{User, assert_on_the_page};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{Instant, sleep, timeout};

#[tokio::test]
async fn views_are_text_for_people_and_json_for_programs() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;

    let status = user.text(&["status"]).await;
    assert!(
        status.starts_with(
            "job known: ./app -v on 4 ranks (Open MPI), watched for 1.00 us\nranks: 3 computing, 1 \
             in MPI\n"
        ),
        "{status}"
    );
    assert!(
        status.contains("coverage: 4 of 4 ranks; 60 calls entered: 40 kept, 10 given up"),
        "{status}"
    );
    assert!(
        status.contains("losses: 4 calls dropped as no packet was free, 2 calls dropped"),
        "{status}"
    );
    let status = user.json(&["status", "--json", "--job", "known"]).await;
    assert_eq!(
        (
            &status["job"]["ranks"],
            &status["status"]["named"][0]["state"]
        ),
        (&4.into(), &"in MPI".into())
    );
    assert_eq!(status["coverage"]["ledger"]["entered"], 60);

    let functions = user.text(&["functions", "--per-rank", "--rows", "2"]).await;
    assert!(
        functions.contains("66.7 %") && functions.contains("... and 2 rows with less time\n"),
        "{functions}"
    );
    let functions = user.json(&["functions", "--per-rank", "--json"]).await;
    assert_on_the_page("FunctionsReply", &functions);
    let sites = user
        .text(&["functions", "--by", "site", "--rows", "1"])
        .await;
    assert!(
        sites.contains("exchange (app.c:3)") && !sites.contains("app.c:2"),
        "{sites}"
    );
    assert!(
        sites.contains("... and 4 rows with less time: 17 calls"),
        "{sites}"
    );
    let sites = user.json(&["functions", "--by", "site", "--json"]).await;
    assert_on_the_page("CallSitesReply", &sites);
    assert_on_the_page("CallSiteRow", &sites["rows"][0]);
    assert_eq!(sites["rows"][2]["functions"][0]["line"], "app.c:1");
    iterations(&user).await;
    regions(&user).await;

    let ranks: Vec<_> = functions["rank_rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["rank"].as_u64())
        .collect();
    assert_eq!(ranks, [Some(3), Some(2), Some(1), Some(0)]);

    let matrix = user.text(&["matrix"]).await;
    assert!(
        matrix.contains("sent: 4 messages with 320 B; received: 4 messages with 280 B\n"),
        "{matrix}"
    );
    let matrix = user.json(&["matrix", "--json", "--side", "2"]).await;
    assert_eq!(
        (&matrix["block_ranks"], &matrix["unresolved"]["bytes"]),
        (&2.into(), &9.into())
    );

    let messages = user.text(&["messages"]).await;
    assert!(
        messages.contains("matched: 3 messages with 240 B\nnever matched: 1 across a cut\n"),
        "{messages}"
    );
    let messages = user.json(&["messages", "--json"]).await;
    assert_eq!(
        (
            &messages["late_sender"]["sum_ns"],
            &messages["clock_error_ns"]
        ),
        (&700.into(), &50.into())
    );
}

/// Loops as text and as JSON.
async fn iterations(user: &User) {
    let text = user.text(&["iterations"]).await;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].contains("exchange (app.c:1)      10..11   100 ms "),
        "{text}"
    );
    assert!(text.contains("\nloop 1 is the main one: "), "{text}");
    assert!(text.contains("\ncoverage: "), "{text}");
    let json = user.json(&["iterations", "--json"]).await;
    assert_on_the_page("IterationsReply", &json);
    assert_on_the_page("LoopRow", &json["rows"][0]);
    assert_eq!(json["rows"][2]["iterations_max"], 31);
}

/// Regions as text and as JSON, sorted and cut as was asked.
async fn regions(user: &User) {
    let text = user.text(&["regions"]).await;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("solve (app.c:12) (off on 1 of 4 ranks) "),
        "{text}"
    );
    assert!(lines[2].starts_with("\"step\" "), "{text}");
    assert!(
        text.contains("... and 3 rows more: 40 visits, own time 20 ns\n")
            && text.contains("names of 1 row did not come in time")
            && text.contains("5 times since the start a region was entered or left")
            && text.contains("\ncoverage: "),
        "{text}"
    );
    let text = user
        .text(&["regions", "--sort", "time", "--rows", "1"])
        .await;
    assert!(
        text.contains("\"step\"") && !text.contains("app.c:12"),
        "{text}"
    );
    assert!(text.contains("... and 4 rows more: 80 visits"), "{text}");
    let json = user.json(&["regions", "--json", "--sort", "mpi"]).await;
    assert_on_the_page("RegionsReply", &json);
    assert_on_the_page("RegionRow", &json["rows"][0]);
    assert_eq!(json["rows"][0]["name"], "step");
    assert_eq!(json["rows"][1]["functions"][0]["line"], "app.c:12");
}

#[tokio::test]
async fn a_command_succeeds_only_if_every_rank_has_acknowledged() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let gateway = job.gateway().await;
    let paused = user.text(&["pause", "--lease", "90s"]).await;
    assert!(
        paused.starts_with("paused 4 of 4 ranks in ")
            && paused.contains(", slowest rank 2 (1 held in MPI)"),
        "{paused}"
    );
    assert!(
        paused.ends_with("; to go on: invivo resume (or in 1 min 30 s by itself)\n"),
        "{paused}"
    );
    let resumed = user.json(&["resume", "--json"]).await;
    assert_eq!(
        (&resumed["done"], &resumed["targets"]),
        (&4.into(), &4.into())
    );
    assert!(resumed["command_id"].as_u64().expect("id") > 0);
    gateway.end().await;
    drop(root);

    let _root = job.root(|ask| match ask {
        Ask::Command { .. } => Reply::Answer(Answer::Command(Acks {
            targets: 4,
            done: 2,
            failures: vec![(Rank(3), "its supervisor is gone".into())],
            missing: vec![WorldRank(5)],
            ..Acks::default()
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    let (status, out, err) = user.said(&["pause"]).await;
    assert_eq!(status, 1);
    assert!(out.starts_with("paused 2 of 4 ranks in "), "{out}");
    for line in [
        "invivo: rank 3: its supervisor is gone\n",
        "world rank 5 did not answer\n",
        "invivo status\n",
    ] {
        assert!(err.contains(line), "{line:?} in {err:?}");
    }
    let (status, out, _) = user.said(&["pause", "--json"]).await;
    assert_eq!(
        (
            status,
            serde_json::from_str::<Value>(&out).expect("json")["done"].as_u64()
        ),
        (1, Some(2))
    );
}

#[tokio::test]
async fn watch_counts_its_lines_and_ends_with_the_job() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let gateway = job.gateway().await;
    let lines = user
        .text(&["watch", "--count", "3", "--interval", "100ms"])
        .await;
    assert_eq!(lines.lines().count(), 3);
    assert!(
        lines.lines().all(|line| line.contains(
            " | 3 computing, 1 in MPI | LOSSES: 4 calls dropped as no packet was free, "
        ) && line.contains(" | 60 calls")),
        "{lines}"
    );
    assert!(
        !lines.contains('\r') && !lines.contains('\x1b'),
        "not a terminal"
    );
    let lines = user
        .text(&["watch", "--count", "2", "--interval", "100ms", "--json"])
        .await;
    let sequences: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("json")["sequence"].as_u64())
        .collect();
    assert!(
        sequences.len() == 2 && sequences[0] < sequences[1],
        "{sequences:?}"
    );

    let mut command = user.invivo(&["watch", "--interval", "100ms"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines.next_line().await.expect("read").expect("a line");
    // A gateway that ends while the job goes on is waited for.
    gateway.end().await;
    let again = job.gateway().await;
    for _ in 0..20 {
        lines
            .next_line()
            .await
            .expect("read")
            .expect("a line from the new gateway");
    }
    // The end of a job: first the gateway is told to end, then the file goes.
    again.end().await;
    std::fs::remove_file(job.connect_path()).expect("removed");
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let output = timeout(Duration::from_secs(10), child.wait_with_output())
        .await
        .expect("it ends")
        .expect("waited");
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "invivo: job known has ended\n"
    );
}

/// A root that comes late is waited for and one that never comes is told.
#[tokio::test]
async fn a_late_root_is_waited_for_a_missing_one_named() {
    let user = User::new();
    let job = user.job("known");
    let _gateway = job.gateway().await;
    let mut command = user.invivo(&["status"]);
    let waiting = tokio::spawn(async move { command.output().await });
    sleep(Duration::from_millis(500)).await;
    let root = job.root(known);
    let output = waiting.await.expect("joined").expect("started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    drop(root);
    let begun = Instant::now();
    let (status, _, err) = user.said(&["functions"]).await;
    assert_eq!(status, 1);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(
        err.starts_with("invivo: job known: the root of the measurement is not connected"),
        "{err}"
    );
    assert!(
        err.contains("the application is not affected") && err.contains("invivo list"),
        "{err}"
    );
}

#[tokio::test]
async fn a_gateway_that_is_not_there_is_told() {
    let user = User::new();
    let _job = user.job("known");
    let (status, out, err) = user.said(&["pause"]).await;
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.starts_with("invivo: the gateway of job known does not answer on "),
        "{err}"
    );
    assert!(
        err.contains("No such file") && err.contains("invivo list"),
        "{err}"
    );
}

#[tokio::test]
async fn jobs_are_listed_chosen_and_cleaned_up() {
    let user = User::new();
    let (status, _, err) = user.said(&["status"]).await;
    assert_eq!(status, 1);
    assert!(
        err.contains("no job is running; start one: invivo run"),
        "{err}"
    );
    let first = user.job("one");
    let _second = user.job("two");
    let mut dead = user.job("dead");
    dead.connect.pid_start_ticks += 1;
    dead.publish();

    let (status, out, err) = user.said(&["list"]).await;
    assert_eq!((status, out.lines().count()), (0, 3), "{out}");
    assert_eq!(
        err,
        "invivo: job dead ended without cleaning up; its files have been removed\n"
    );
    assert!(!dead.dir.exists());
    let list = user.json(&["list", "--json"]).await;
    let jobs: Vec<_> = list["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| job["job"].as_str())
        .collect();
    assert_eq!(jobs, [Some("one"), Some("two")]);
    assert_eq!(list["version"], 1);
    assert_on_the_page("invivo list", &list["jobs"][0]);
    assert!(!list.to_string().contains(&first.connect.control));

    let (status, _, err) = user.said(&["functions"]).await;
    assert_eq!(status, 1);
    assert!(
        err.contains(
            "2 jobs are running; say which with --job ID:\n  one  ./app -v\n  two  ./app -v\n"
        ),
        "{err}"
    );
    let _root = first.root(known);
    let _gateway = first.gateway().await;
    user.text(&["functions", "--job", "one"]).await;
    let chosen = user
        .invivo(&["matrix"])
        .env("INVIVO_JOB", "one")
        .output()
        .await
        .expect("started");
    assert!(chosen.status.success());
}

#[tokio::test]
async fn a_reader_who_has_enough_is_no_failure() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let (reader, writer) = std::io::pipe().expect("pipe");
    drop(reader);
    let status = user
        .invivo(&["functions"])
        .stdout(writer)
        .status()
        .await
        .expect("started");
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn a_repeated_pause_is_the_same_command() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let user = User::new();
    let job = user.job("known");
    let first = AtomicBool::new(true);
    // The first answer is lost with its connection.
    let root = job.root(move |ask| match ask {
        Ask::Command { .. } if first.swap(false, Ordering::SeqCst) => Reply::HangUp,
        other => known(other),
    });
    let _gateway = job.gateway().await;
    user.text(&["pause"]).await;
    let ids = root.asked().into_iter().filter_map(|ask| {
        if let Ask::Command { id, .. } = ask {
            Some(id)
        } else {
            None
        }
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 2, "asked twice");
    assert_eq!(ids[0], ids[1], "with one id");
    assert_eq!(root.times(&Ask::Query(Query::Status)), 0);
}
