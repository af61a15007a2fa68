//! A client in Python that has nothing but `connect.json` and gRPC reflection.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::clock_log::{ClockLog, ticks, wait_for_ticks};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::program;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const RANKS: u32 = 2;

fn computing(family: Family) -> Running {
    let mut running = Job::observed(family, RANKS, &program(family, "compute", [])).start();
    wait_for_ticks(&mut running, 0..RANKS, 50);

    running.until("an answer", |job| job.client().try_json(&["status"]));
    running
}

/// It pauses and resumes the job as the `invivo` command does.
#[test]
fn a_client_by_reflection_pauses_and_resumes() {
    for family in Family::ALL {
        let running = computing(family);
        let client = running.client();
        let hello = client
            .python("Hello", r#"{"client": "a Python script"}"#, "view")
            .messages();
        assert_eq!(
            number(&hello[0], "/job/ranks"),
            u64::from(RANKS),
            "{hello:?}"
        );

        let request = r#"{"lease_ns": "60000000000"}"#;
        let paused = client.python("Pause", request, "control").messages();
        assert_eq!(
            (number(&paused[0], "/targets"), number(&paused[0], "/done")),
            (u64::from(RANKS), u64::from(RANKS)),
            "{paused:?}"
        );

        let before = ticks(&running);
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(before, ticks(&running), "{family:?}");
        let status = client.python("Status", "{}", "view").messages();
        assert_eq!(
            number(&status[0], "/status/ranks/paused"),
            u64::from(RANKS),
            "{status:?}"
        );

        let resumed = client.python("Resume", "{}", "control").messages();
        assert_eq!(
            number(&resumed[0], "/done"),
            u64::from(RANKS),
            "{resumed:?}"
        );

        let snapshots = client
            .python(
                "Watch",
                r#"{"interval_ns": "200000000", "functions": true}"#,
                "view",
            )
            .messages();
        let sequences: Vec<u64> = snapshots
            .iter()
            .map(|snapshot| number(snapshot, "/sequence"))
            .collect();
        assert!(
            sequences.len() == 3 && sequences.is_sorted_by(|a, b| a < b),
            "{sequences:?}"
        );

        running.tell("stop");
        let ended = running.end();
        assert_eq!(ended.code(), 0);
        checks::complete(&ended.report(), RANKS);
    }
}

/// Without the token of the scope *control* no client pauses the job.
#[test]
fn a_pause_needs_the_control_token() {
    let running = computing(Family::Ompi);
    let client = running.client();
    for (token, code) in [
        ("none", "UNAUTHENTICATED"),
        ("AAAA", "UNAUTHENTICATED"),
        ("view", "PERMISSION_DENIED"),
    ] {
        for method in ["Pause", "Resume"] {
            let reply = client.python(method, "{}", token);
            assert!(
                !reply.answered && reply.stdout == code,
                "{method} with {token}: {reply:?}"
            );
        }
    }
    for token in ["none", "AAAA"] {
        let status = client.python("Status", "{}", token);
        assert!(
            !status.answered && status.stdout == "UNAUTHENTICATED",
            "Status with {token}: {status:?}"
        );
        let reflection = client.python_with("Status", "{}", "view", token);
        assert!(
            !reflection.answered && reflection.stdout == "UNAUTHENTICATED",
            "reflection with {token}: {reflection:?}"
        );
    }

    let connect = running.connect_file();
    let mode = connect
        .metadata()
        .expect("connect.json")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "connect.json is for its owner alone");

    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    for rank in 0..RANKS {
        let (gap, _) = ClockLog::read(&ended.logs(), rank).longest_gap();
        assert!(
            gap < Duration::from_secs(5),
            "rank {rank} was never paused, but stood {gap:?}"
        );
    }
    checks::complete(&ended.report(), RANKS);
}
