//! Scripted sessions against a scripted root: results, exit statuses, and what is left behind.

mod support;

use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Acks, Order};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::scripted_root::{Reply, acks, known};
use support::{Job, User, assert_on_the_page};
use tokio::time::{sleep, timeout};

fn file(user: &User, text: &str) -> String {
    let path = user.home.path().join("session.toml");
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("text").to_owned()
}

fn example(name: &str) -> String {
    let examples: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/sessions");
    examples
        .join(name)
        .canonicalize()
        .expect("there")
        .to_str()
        .expect("text")
        .to_owned()
}

fn orders(asked: &[Ask]) -> Vec<Order> {
    let order = |ask: &Ask| match ask {
        Ask::Command { order, .. } => Some(order.clone()),
        _ => None,
    };
    asked.iter().filter_map(order).collect()
}

/// A root whose ranks stand while they are paused, which counts ever more calls, and which loses
/// none.
fn living(job: &Job) -> support::scripted_root::ScriptedRoot {
    let paused = Arc::new(AtomicU64::new(0));
    let calls = AtomicU64::new(0);
    job.root(move |ask| match (ask, known(ask)) {
        (Ask::Command { order, .. }, reply) => {
            match order {
                Order::Pause { .. } => paused.store(1, Ordering::SeqCst),
                Order::Resume => paused.store(0, Ordering::SeqCst),
                _ => {}
            }
            reply
        }
        (_, Reply::Answer(Answer::Status(mut status, mut coverage))) => {
            let stand = paused.load(Ordering::SeqCst) == 1;
            status.states = if stand {
                [0, 0, 0, 4, 0, 0]
            } else {
                [0, 3, 1, 0, 0, 0]
            };
            coverage.ledger.dropped = [0; 3];
            coverage.ledger.entered = calls.fetch_add(10, Ordering::SeqCst);
            Reply::Answer(Answer::Status(status, coverage))
        }
        (_, reply) => reply,
    })
}

#[tokio::test]
async fn the_examples_pass_fail_and_are_refused() {
    let user = User::new();
    let job = user.job("known");
    let root = living(&job);
    let _gateway = job.gateway().await;
    let (status, out, err) = user
        .said(&["session", "run", &example("steady.toml")])
        .await;
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(
        out.lines()
            .all(|line| line.starts_with("ok ") || line.starts_with("session ")),
        "{out}"
    );
    assert!(
        out.contains("2.1 (round 2)  record for 1s: recorded a window on 4 of 4 ranks"),
        "{out}"
    );
    assert!(
        out.ends_with('\n') && out.contains("\nsession steady passed: 16 steps in "),
        "{out}"
    );
    let second = Order::Window {
        length_ns: 1_000_000_000,
    };
    let pause = Order::Pause {
        lease_ns: 10_000_000_000,
    };
    assert_eq!(
        orders(&root.asked()),
        [
            second.clone(),
            second,
            Order::Record { on: true },
            pause,
            Order::Resume,
            Order::Reset
        ]
    );

    let (status, out, err) = user
        .said(&["session", "run", &example("too-much.toml")])
        .await;
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(
        out.contains("\nFAILED  3  a million million calls: it is 60\n"),
        "{out}"
    );
    assert!(
        out.ends_with("session too much failed: 3 steps in ")
            || out.contains("session too much failed: 3 steps in ")
    );
    assert!(
        !orders(&root.asked()).contains(&Order::Shutdown),
        "the last step is not reached"
    );

    let (status, out, err) = user
        .said(&["session", "run", &example("malformed.toml")])
        .await;
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(
        err.contains("malformed.toml:9: no action or key `asert`; did you mean `assert`?\n"),
        "{err}"
    );
}

#[tokio::test]
async fn a_result_for_programs_has_every_step_with_its_answer() {
    let user = User::new();
    let job = user.job("known");
    let _root = living(&job);
    let _gateway = job.gateway().await;
    let session = file(
        &user,
        "[[step]]\nreset = true\n[[step]]\nname = 'the table'\nquery = 'functions-per-rank'\n\
         [[step]]\nassert = { field = 'calls', op = '==', value = 5, rank = 2 }\n\
         [[step]]\nquery = 'matrix'\n[[step]]\nassert = { field = 'sent', op = '==', value = 80, \
         source = 3 }\n",
    );
    let result = user.json(&["session", "run", &session, "--json"]).await;
    assert_eq!(
        (&result["outcome"], &result["status"], &result["job"]),
        (&"passed".into(), &0.into(), &"known".into())
    );
    assert_eq!(result["session"], "session.toml");
    assert_on_the_page("invivo session run", &result);
    let steps = result["steps"].as_array().expect("steps");
    assert_on_the_page("invivo session run", &steps[0]);
    let words: Vec<_> = steps.iter().map(|step| step["action"].as_str()).collect();
    assert_eq!(
        words,
        ["reset", "query", "assert", "query", "assert"].map(Some)
    );
    assert_eq!(
        (&steps[0]["answer"]["done"], &steps[0]["line"]),
        (&4.into(), &2.into())
    );
    assert_eq!(
        (&steps[1]["name"], &steps[1]["answer"]["rank_rows_total"]),
        (&"the table".into(), &4.into())
    );
    assert_eq!(
        steps[3]["answer"]["cells"].as_array().map(Vec::len),
        Some(4)
    );
    let start = |step: &Value| step["start_ns"].as_u64().expect("a number");
    assert!(steps.windows(2).all(|two| start(&two[0]) <= start(&two[1])));
    assert!(
        steps
            .iter()
            .all(|step| step["duration_ns"].as_u64() <= result["duration_ns"].as_u64())
    );
}

#[tokio::test]
async fn a_dry_run_needs_no_job() {
    let user = User::new();
    let (status, out, err) = user
        .said(&["session", "run", &example("steady.toml"), "--dry-run"])
        .await;
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(
        out.contains("2  loop 2 times\n  2.1  record for 1s  (within 31s)\n"),
        "{out}"
    );
    let plan = user
        .json(&[
            "session",
            "run",
            &example("steady.toml"),
            "--dry-run",
            "--json",
        ])
        .await;
    assert_eq!(
        (&plan["session"], &plan["steps"][1]["steps"][0]["action"]),
        (&"steady".into(), &"record".into())
    );
    let (status, _, err) = user
        .said(&["session", "run", &example("malformed.toml"), "--dry-run"])
        .await;
    assert_eq!(status, 2);
    assert!(err.contains("malformed.toml:9: "), "{err}");
    let (status, _, err) = user.said(&["session", "run", "nowhere.toml"]).await;
    assert_eq!(status, 2);
    assert!(
        err.contains("cannot read the session nowhere.toml"),
        "{err}"
    );
}

#[tokio::test]
async fn what_does_not_come_in_time_ends_the_session() {
    let user = User::new();
    let job = user.job("known");
    let root = living(&job);
    let _gateway = job.gateway().await;
    let session = file(
        &user,
        "[[step]]\npause = '1m'\n[[step]]\nwait = { field = 'calls', op = '>', value = 1e12 \
         }\ntimeout = '3s'\n",
    );
    let (status, out, err) = user.said(&["session", "run", &session]).await;
    assert_eq!(status, 3);
    assert!(
        out.contains("TIMEOUT 2  wait until calls > 1e12: not within 3s; it is "),
        "{out}"
    );
    // It had stopped the application, and does not leave it so.
    assert!(
        err.starts_with("invivo: the application goes on: resumed 4 of 4 ranks"),
        "{err}"
    );
    assert_eq!(orders(&root.asked()).last(), Some(&Order::Resume));

    // A loop's time holds for all of its rounds together.
    let session = file(
        &user,
        "[[step]]\nloop = 100\ntimeout = '3s'\n[[step.step]]\nwait = '1200ms'\n",
    );
    let (status, out, _) = user.said(&["session", "run", &session]).await;
    assert_eq!(status, 3);
    assert!(
        out.contains("TIMEOUT 1  loop 100 times: not within 3s"),
        "{out}"
    );
    let rounds = out.matches("ok      1.1 (round ").count();
    assert!((1..=2).contains(&rounds), "{out}");
}

#[tokio::test]
async fn a_command_that_not_every_rank_did_fails() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match ask {
        Ask::Command { order, .. } => Reply::Answer(Answer::Command(Acks {
            done: 3,
            failures: vec![(
                invivo_proto::ids::Rank(2),
                "past MPI_Init; use pause".into(),
            )],
            ..acks(order)
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    let session = file(&user, "[[step]]\nhold = true\n");
    let (status, out, err) = user.said(&["session", "run", &session]).await;
    assert_eq!(status, 1);
    assert!(
        out.contains("FAILED  1  hold for 10m at most: held 3 of 4 ranks"),
        "{out}"
    );
    assert!(
        out.contains("; rank 2: past MPI_Init; use pause\n"),
        "{out}"
    );
    assert!(err.contains("the application goes on"), "{err}");
}

/// A job that is not there is told from a failure.
#[tokio::test]
async fn a_missing_job_differs_from_a_failure() {
    let user = User::new();
    let session = file(&user, "[[step]]\nwait = 'job-end'\ntimeout = '20s'\n");
    let (status, _, err) = user.said(&["session", "run", &session]).await;
    assert_eq!(status, 3);
    assert!(err.contains("no job is running"), "{err}");
    // It may come later, and go.
    let mut waiting = user.invivo(&["session", "run", &session, "--within", "60s"]);
    let waiting = waiting.stdout(Stdio::piped()).spawn().expect("started");
    sleep(Duration::from_millis(300)).await;
    let job = user.job("late");
    sleep(Duration::from_secs(5)).await;
    std::fs::remove_file(job.connect_path()).expect("removed");
    let output = timeout(Duration::from_secs(60), waiting.wait_with_output()).await;
    let output = output.expect("it ends").expect("waited");
    assert!(output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .starts_with("ok      1  wait for the end of the job: ")
    );

    let job = user.job("dead");
    let session = file(&user, "[[step]]\nquery = 'status'\n");
    let (status, out, _) = user.said(&["session", "run", &session]).await;
    assert_eq!(status, 3);
    assert!(
        out.starts_with("GONE    1  query status: the gateway of job dead does not answer"),
        "{out}"
    );
    drop(job);
}

#[tokio::test]
async fn whoever_interrupts_a_session_does_not_leave_the_application_standing() {
    let user = User::new();
    let job = user.job("known");
    let root = living(&job);
    let _gateway = job.gateway().await;
    let session = file(&user, "[[step]]\npause = '1m'\n[[step]]\nwait = '50s'\n");
    let mut command = user.invivo(&["session", "run", &session]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    while orders(&root.asked()).is_empty() {
        sleep(Duration::from_millis(20)).await;
    }
    // It tells of a step once its answer is there.
    sleep(Duration::from_secs(1)).await;
    let pid = rustix::process::Pid::from_raw(child.id().expect("runs") as i32).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    let output = timeout(Duration::from_secs(10), child.wait_with_output()).await;
    let output = output.expect("it ends").expect("waited");
    assert_eq!(output.status.code(), Some(130));
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .contains("session session.toml was interrupted: 1 step in ")
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("the application goes on"));
    assert_eq!(orders(&root.asked()).last(), Some(&Order::Resume));
}
