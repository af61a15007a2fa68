//! A colleague, who is another user, takes an invitation, looks, and is out when it is taken back.

use invivo_e2e::clients::{Client, number};
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::programs::program;
use invivo_e2e::remarks::not_tested;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};
use tempfile::TempDir;

const RANKS: u32 = 2;
/// Nobody, who has no file of the job.
const COLLEAGUE: u32 = 65534;

/// Another user with a home of its own.
struct Colleague(TempDir);

impl Colleague {
    fn new() -> Colleague {
        let home = tempfile::tempdir().expect("a directory");
        fs::set_permissions(home.path(), Permissions::from_mode(0o700)).expect("the mode");
        chown(home.path(), Some(COLLEAGUE), Some(COLLEAGUE)).expect("given");
        Colleague(home)
    }

    fn run(&self, words: &[&str]) -> Output {
        let id = COLLEAGUE.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
        command.args(["timeout", "60"]).arg(paths::invivo());
        command.args(words).current_dir(self.0.path());
        command.env("HOME", self.0.path()).env_remove("INVIVO_JOB");
        command.env("XDG_STATE_HOME", self.0.path().join("state"));
        command.output().expect("it runs")
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn job() -> Running {
    let job = Job::observed(
        Family::Ompi,
        RANKS,
        &program(Family::Ompi, "told_rounds", []),
    );
    let mut running = job.options(["--listen", "127.0.0.1:0"]).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    running
}

/// The link in the line that `invivo invite` prints.
fn invited(client: &Client, words: &[&str]) -> String {
    let output = client.run(&[&["invite"], words].concat());
    let text = said(&output);
    let line = text.lines().next().expect("a line");
    let link = line
        .strip_prefix("invivo join '")
        .and_then(|rest| rest.strip_suffix('\''));
    link.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_colleague_looks_until_that_is_taken_back() {
    if !rustix::process::geteuid().is_root() {
        return not_tested("a colleague: only root can be another user");
    }
    let running = job();
    let client = running.client();
    let colleague = Colleague::new();
    let link = invited(&client, &[]);

    let joined = colleague.json(&["join", &link, "-o", "mine.json"]);
    assert_eq!(joined["scope"], "view");
    let file = fs::metadata(colleague.0.path().join("mine.json")).expect("a file");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let status = colleague.json(&["status", "--connect", "mine.json"]);
    assert_eq!(
        number(&status, "/coverage/ranks_reporting"),
        u64::from(RANKS)
    );
    assert_eq!(status["job"]["id"], joined["job"]);
    let refused = colleague.run(&["pause", "--connect", "mine.json"]);
    assert!(!refused.status.success() && said(&refused).contains("no token for this"));

    // It is good once, and leaves no file where it is good no more; nor does what is none.
    let again = colleague.run(&["join", &link, "-o", "again.json"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        said(&again).contains("no such invitation"),
        "{}",
        said(&again)
    );
    let wrong = colleague.run(&["join", "https://127.0.0.1:1/job#00.00", "-o", "again.json"]);
    assert!(!wrong.status.success(), "{}", said(&wrong));
    assert!(!colleague.0.path().join("again.json").exists());

    let guests = client.json(&["invite", "--list"]);
    let guest = number(&guests, "/guests/0/number").to_string();
    client.json(&["invite", "--revoke", &guest]);
    let out = colleague.run(&["status", "--connect", "mine.json"]);
    assert!(said(&out).contains("refuses the token"), "{}", said(&out));
    running.tell("enough");
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// Where the secret could go to somebody else, it is not sent.
#[test]
fn a_secret_goes_to_the_jobs_own_authority_alone() {
    let mut running = job();
    let client = running.client();
    let before = invited(&client, &[]);
    // A gateway that was started again has another authority.
    let gateway = running.only("ui-gateway").pid;
    let pid = Pid::from_raw(gateway).expect("a process");
    kill_process(pid, Signal::KILL).expect("killed");
    running.until("another gateway", |running| {
        let now = running.named("ui-gateway");
        let is_another = now.iter().any(|process| process.pid != gateway);
        (is_another && running.client().run(&["status"]).status.success()).then_some(())
    });
    let link = invited(&client, &["--scope", "control", "--for", "5m"]);
    let (rest, certificate) = link.rsplit_once('.').expect("a certificate");
    let (_, foreign) = before.rsplit_once('.').expect("a certificate");
    assert_ne!(certificate, foreign);
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("joined.json");
    let join = |link: &str| client.run(&["join", link, "-o", path.to_str().expect("a name")]);
    let refused = join(&format!("{rest}.{foreign}"));
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(!path.exists(), "{}", said(&refused));
    // It was not used up by that.
    let joined = join(&link);
    assert!(joined.status.success(), "{}", said(&joined));
    assert!(
        said(&joined).contains("you may steer job"),
        "{}",
        said(&joined)
    );
    running.tell("enough");
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}
