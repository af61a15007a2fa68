//! `invivo report` on files, without a job.

use std::path::Path;
use std::process::{Command, Output};

const REPORT: &str = r#"{
  "version": 1,
  "job": { "id": "melt", "ranks": 2, "places": 1, "nodes": 0, "family": "ompi", "library": "" },
  "observed_seconds": 3.0,
  "coverage": { "ranks": 2, "ranks_reporting": 2 },
  "totals": [{ "function": "MPI_Send", "calls": 30, "seconds": 1.5, "bytes_out": 800 }]
}"#;

fn report(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_invivo-client"));
    command.arg("report").args(arguments).current_dir(directory);
    command.output().expect("started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn a_report_is_shown_in_every_form() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("melt.json"), REPORT).expect("written");

    let shown = report(dir.path(), &["melt.json"]);
    assert!(
        text(&shown.stdout).starts_with(
            "Invivo report of job melt: 2 ranks, 1 tool process, watched for 3.00 s\n"
        ),
        "{shown:?}"
    );
    let json = report(dir.path(), &["melt.json", "--json"]);
    assert_eq!(text(&json.stdout).lines().count(), 1);
    assert!(
        text(&json.stdout).starts_with("{\"version\":1,"),
        "{json:?}"
    );

    let made = report(dir.path(), &["melt.json", "--html", "melt.html"]);
    assert_eq!(
        text(&made.stdout),
        "the page is in melt.html: open it in a browser\n"
    );
    let page = std::fs::read_to_string(dir.path().join("melt.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("MPI_Send"));
}

/// Each says which file, what is wrong, and what to do; the report stays as it was.
#[test]
fn what_cannot_be_done_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("melt.json");
    std::fs::write(&file, REPORT).expect("written");
    std::fs::write(dir.path().join("melt.txt"), "Invivo report\n").expect("written");
    for (arguments, why) in [
        (
            &["melt.txt"][..],
            "invivo: melt.txt is no report as JSON: expected value at line 1 column 1; give the \
             file that --report NAME.json has written\n",
        ),
        (
            &["absent.json"],
            "invivo: cannot read the report absent.json: No such file or directory (os error \
             2); a job writes one with --report NAME.json\n",
        ),
        (
            &["melt.json", "--html", "./melt.json"],
            "invivo: the page would replace the report ./melt.json; give another name to --html\n",
        ),
        (
            &["melt.json", "--html", "absent/melt.html"],
            "invivo: cannot write the page to absent/melt.html: No such file or directory",
        ),
    ] {
        let refused = report(dir.path(), arguments);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(text(&refused.stderr).starts_with(why), "{refused:?}");
        assert!(refused.stdout.is_empty());
    }
    assert_eq!(std::fs::read_to_string(&file).expect("there"), REPORT);
}
