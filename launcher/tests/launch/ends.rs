//! How jobs end: their statuses, what is told of them, and what they leave behind.

use crate::stage::{self, LAUNCHERS, Stage, in_mpi};
use crate::{RANKS, TOTAL};

/// Bare runs at most, until one ends as the observed one did.
const TRIES: usize = 40;

#[test]
fn exit_codes_and_signals_reach_the_launcher() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        // One rank ends first: whose status a launcher takes of several is a matter of time.
        for script in [
            "echo $RANK",
            "[ $RANK = 0 ] || exit 41; sleep 1",
            "[ $RANK = 1 ] || kill -SEGV $$; sleep 1",
        ] {
            // MPICH's launcher answers 255 to the third, one time in a dozen, where it mostly
            // answers 11: an observed run ends as one of the bare runs does.
            let observed = end(&stage.run(launcher, TOTAL, true, script));
            let bare = || end(&stage.run(launcher, RANKS, false, script));
            assert!(
                std::iter::repeat_with(bare)
                    .take(TRIES)
                    .any(|bare| bare == observed),
                "{}: {script}: no bare run ends with {observed:?}",
                launcher.name
            );
        }
        let missing = stage
            .launch(launcher, TOTAL, true, &["/nonexistent/app"])
            .wait_with_output();
        let missing = missing.expect("ended");
        let text = String::from_utf8_lossy(&missing.stderr);
        let told = text
            .lines()
            .filter(|line| line.starts_with("invivo: cannot start /nonexistent/app"));
        assert_eq!(told.count(), 1, "one sentence per node: {text}");
        assert!(!missing.status.success());
    }
}

/// Exit status of the launcher, and what its ranks printed.
fn end(output: &std::process::Output) -> (Option<i32>, Vec<String>) {
    (output.status.code(), printed(output))
}

/// What came on stdout, in whatever order the ranks had; MPICH's launcher names the process of a
/// failed rank.
fn printed(output: &std::process::Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("  PID "))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// The report is told once and written where it was asked for.
#[test]
fn the_report_is_printed_once_and_written_once() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        stage.analysis_node_reports();
        let output = stage.run_with(
            launcher,
            TOTAL,
            &["--report", "report.json"],
            &format!("{}; sleep 0.5; echo out $RANK", in_mpi()),
        );
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("invivo: job staged"))
                .count(),
            1,
            "{text}"
        );
        assert!(!text.contains("invivo: the"), "no trouble: {text}");
        let report = std::fs::read(stage.path("report.json")).expect("written");
        let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
        assert!(report.is_object());
        assert!(stage.jobs().is_empty() && stage.sockets().is_empty());
        let quiet = stage.run_with(
            launcher,
            TOTAL,
            &["--quiet"],
            &format!("{}; sleep 0.5", in_mpi()),
        );
        assert!(!String::from_utf8_lossy(&quiet.stderr).contains("invivo:"));
    }
}

/// The measurement was shut down while the job runs on: the report is there, the job is off the
/// list, and the one line comes when the job ends.
/// A report before the end is written then and told at the end.
#[test]
fn an_early_report_is_written_early_and_printed_late() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        stage.analysis_node_shuts_down();
        let script = format!(
            "RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {}; until [ -e stop ]; do sleep 0.05; done",
            in_mpi()
        );
        let mut command = stage.launch_line(launcher, TOTAL, &["exec", "--report", "report.json"]);
        let job = command
            .args(["--", "bash", "-c", &script])
            .spawn()
            .expect("started");
        stage::until("the report", || stage.path("report.json").exists());
        stage::until("the job is off the list", || stage.jobs().is_empty());
        assert!(
            stage.path("report.json.config.toml").exists(),
            "with what it was made"
        );
        std::fs::write(stage.path("stop"), "").expect("written");
        let output = job.wait_with_output().expect("ended");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("invivo:"))
            .collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with("invivo: job staged"),
            "{lines:?}"
        );
        assert!(stage.sockets().is_empty());
    }
}

#[test]
fn a_program_without_mpi_ends_the_job_and_is_named() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let output = stage.run_with(launcher, TOTAL, &[], "echo usage: app FILE");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(printed(&output), ["usage: app FILE", "usage: app FILE"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            text,
            "invivo: the program ended without calling MPI: nothing was observed\n"
        );
        assert!(
            !stage.path("node.pid").exists(),
            "nothing of MPI was started"
        );
        assert!(stage.jobs().is_empty() && stage.sockets().is_empty());
    }
}

#[test]
fn a_job_that_cannot_listen_says_so() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        stage.gateway_cannot_listen("no such address here");
        // Until the gateway has said so, and some time for it to be told.
        let script = format!(
            "{}; until grep -qs tls_trouble state/invivo/jobs/*/connect.json; do sleep 0.1; done; \
             sleep 2; touch stop",
            in_mpi()
        );
        let output = stage.run_with(launcher, TOTAL, &["--listen", "192.0.2.1:0"], &script);
        let text = String::from_utf8_lossy(&output.stderr);
        let told = "invivo: the job does not listen on 192.0.2.1:0 (no such address here)";
        assert_eq!(text.matches(told).count(), 1, "{text}");
    }
}
