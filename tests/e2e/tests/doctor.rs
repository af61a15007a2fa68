//! `invivo doctor` on a machine where jobs run, and on one with something in their way.

use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn doctor(dir: &Path, arguments: &[&str]) -> (Output, Vec<Value>) {
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .arg(paths::invivo())
        .args(["doctor", "--json"])
        .args(arguments);
    command
        .env("XDG_STATE_HOME", dir.join("state"))
        .env_remove("XDG_RUNTIME_DIR");

    let output = command.output().expect("the doctor runs");
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let findings = answer["findings"].as_array().expect("findings").clone();
    (output, findings)
}

fn of<'a>(findings: &'a [Value], check: &str) -> Vec<&'a Value> {
    findings
        .iter()
        .filter(|finding| finding["check"] == check)
        .collect()
}

/// Both MPIs are found, and a test job of two ranks with each has all of its calls observed.
#[test]
fn a_machine_on_which_jobs_run_passes() {
    let dir = tempfile::tempdir().expect("a directory");
    let app = program(Family::Mpich, "host_names", []);
    let (output, findings) = doctor(dir.path(), &[&app[0].to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{findings:#?}");

    let stacks = of(&findings, "stacks");
    assert_eq!(stacks[0]["level"], "ok", "{findings:#?}");
    let sampling = of(&findings, "sampling");
    assert_eq!(sampling[0]["level"], "ok", "{findings:#?}");
    let tested = of(&findings, "self-test");
    assert_eq!(tested.len(), Family::ALL.len(), "{findings:#?}");
    for finding in tested {
        assert_eq!(finding["level"], "ok", "{finding}");
        assert!(
            finding["what"]
                .as_str()
                .is_some_and(|what| what.contains("224 calls")),
            "{finding}"
        );
    }
    assert!(
        of(&findings, "program")[0]["what"]
            .as_str()
            .is_some_and(|what| what.contains("MPICH"))
    );
}

/// A program that cannot be observed is a failure with advice, and so is a directory to which
/// others may write.
#[test]
fn obstacles_are_named_with_advice() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");

    let (source, app) = (dir.path().join("app.c"), dir.path().join("app"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let mut compile = Command::new("gcc");
    compile.arg("-static").arg(&source).arg("-o").arg(&app);
    assert!(compile.status().expect("gcc runs").success());

    let jobs = dir.path().join("state/invivo/jobs");
    std::fs::create_dir_all(&jobs).expect("made");
    std::fs::set_permissions(&jobs, std::fs::Permissions::from_mode(0o777)).expect("mode set");

    let (output, findings) = doctor(dir.path(), &["--no-self-test", &app.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    for check in ["program", "state"] {
        let found = of(&findings, check);
        assert_eq!(found[0]["level"], "FAILED", "{check}: {findings:#?}");
        assert!(
            found[0]["next"]
                .as_str()
                .is_some_and(|next| !next.is_empty()),
            "{found:?}"
        );
    }
    assert!(of(&findings, "self-test").is_empty());
}
