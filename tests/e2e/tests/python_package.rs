//! The Python package `invivo`: its own tests, which start jobs on both MPIs.

use invivo_e2e::job::turn;
use invivo_e2e::paths;
use invivo_e2e::programs::python::interpreter;
use invivo_e2e::remarks::not_tested;
use std::process::Command;

/// The longest that all of them take, in seconds; on a quiet machine it is one minute and a half.
const SECONDS: &str = "840";

/// They compare its answers with what a program has done and with `invivo --json`, and run the
/// examples of the manual.
#[test]
fn the_packages_own_tests_pass() {
    pass("not mpich");
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn the_packages_tests_on_mpich_pass() {
    pass("mpich");
}

/// Runs the tests that pytest chooses by this expression.
fn pass(which: &str) {
    let _turn = turn();
    let package = paths::root().join("python");
    let mut tests = Command::new("timeout");
    tests.arg(SECONDS).arg(interpreter());
    tests.args([
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "tests",
        "-k",
        which,
    ]);
    tests.current_dir(&package).env("PYTHONPATH", &package);
    tests.env("INVIVO_DIST", paths::dist());
    // Nothing is written beside the sources.
    tests.env("PYTHONDONTWRITEBYTECODE", "1");

    let output = tests.output().expect("pytest starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // `SKIPPED [2] conftest.py:40: not tested: ...`
    for line in said.lines().filter(|line| line.starts_with("SKIPPED")) {
        let why = line.split_once("not tested: ").map_or(line, |(_, why)| why);
        not_tested(why);
    }
    assert!(said.contains(" passed"), "{said}");
}
