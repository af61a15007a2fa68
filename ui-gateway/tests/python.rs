//! A Python client that knows the service only through reflection.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::JobDir;
use invivo_proto::control::link::Ask;
use invivo_proto::control::tree::Order;
use invivo_proto::ids::CommandId;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use tokio::process::Command;

/// The interpreter that the set-up made, or the one that `INVIVO_PYTHON` names.
fn python() -> PathBuf {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/python");
    let python = std::env::var_os("INVIVO_PYTHON").map_or(made, PathBuf::from);
    assert!(
        python.exists(),
        "{} is not there; make it: cargo xtask setup",
        python.display()
    );
    python
}

async fn client(job: &JobDir, arguments: &[&str], token: Option<&str>) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/examples/reflect_client.py");
    let mut command = Command::new(python());
    command
        .arg(script)
        .arg("--connect")
        .arg(job.connect_path())
        .args(arguments);
    // A proxy that nobody serves: it must not be asked.
    command
        .env("http_proxy", "http://127.0.0.1:1")
        .env_remove("INVIVO_TOKEN");
    if let Some(token) = token {
        command.env("INVIVO_TOKEN", token);
    }
    command.output().await.expect("started")
}

fn answer(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).expect("json")
}

#[tokio::test]
async fn python_reads_steers_and_needs_the_right_token() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;

    let status = answer(&client(&job, &["status"], None).await);
    assert_eq!(status["status"]["ranks"]["computing"], 3);
    assert_eq!(status["status"]["named"][0]["state"], "RANK_STATE_IN_MPI");
    assert_eq!(status["coverage"]["ledger"]["dropped"]["no_packet"], 4);
    let functions = answer(&client(&job, &["functions", "--set", "per_rank=true"], None).await);
    assert_eq!(
        (
            &functions["rows"][0]["calls"],
            &functions["rank_rows"][0]["rank"]
        ),
        (&50.into(), &3.into())
    );

    let paused = answer(
        &client(
            &job,
            &["pause", "--set", "command_id=9", "--set", "lease_ns=7"],
            None,
        )
        .await,
    );
    assert_eq!(
        (&paused["done"], &paused["slowest"]["rank"]),
        (&4.into(), &2.into())
    );
    answer(&client(&job, &["resume"], None).await);
    let commands = root.asked();
    assert!(commands.contains(&Ask::Command {
        id: CommandId(9),
        order: Order::Pause { lease_ns: 7 }
    }));

    let before = root.asked().len();
    for (arguments, token, error) in [
        (&["pause", "--scope", "none"][..], None, "UNAUTHENTICATED"),
        (&["pause"], Some("wrong"), "UNAUTHENTICATED"),
        (&["pause", "--scope", "view"], None, "PERMISSION_DENIED"),
    ] {
        let refused = client(&job, arguments, token).await;
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        let reason: Value = serde_json::from_slice(&refused.stderr).expect("a reason as JSON");
        assert_eq!(reason["error"], error, "{reason}");
    }
    assert_eq!(
        root.asked().len(),
        before,
        "a refused command must not reach the root"
    );
}

/// The Python program of the manual.
fn of_the_manual() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manual/gateway.md");
    let page = std::fs::read_to_string(page).expect("the manual");
    let (_, rest) = page.split_once("```python\n").expect("a program");
    rest.split_once("```").expect("its end").0.to_owned()
}

#[tokio::test]
async fn the_program_of_the_manual_works() {
    for tls in [false, true] {
        let job = JobDir::new();
        let root = ScriptedRoot::start(&job.link(), known);
        let _gateway = if tls {
            job.gateway_with_tls().await
        } else {
            job.gateway().await
        };
        job.root_connected(true).await;
        let mut command = Command::new(python());
        command
            .arg("-c")
            .arg(of_the_manual())
            .arg(job.connect_path());
        command
            .env("https_proxy", "http://127.0.0.1:1")
            .env("no_proxy", "127.0.0.1");
        let output = command.output().await.expect("started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(
            told.contains("complete_ns: 2000012000") && told.contains("MPI_"),
            "{told}"
        );
        let window = Order::Window {
            length_ns: 2_000_000_000,
        };
        let given = |ask: &Ask| matches!(ask, Ask::Command { order, .. } if *order == window);
        assert_eq!(root.asked().iter().filter(|ask| given(ask)).count(), 1);
        let log = std::fs::read_to_string(job.path().join("audit.jsonl")).expect("audit log");
        assert_eq!(log.contains("\"peer\":\"127.0.0.1:"), tls, "{log}");
    }
}
