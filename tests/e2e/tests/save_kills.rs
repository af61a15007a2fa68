//! Whoever of a save is killed, and whenever: what was saved is whole, or is not there.

use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::signal;
use invivo_e2e::programs::program;
use rustix::process::Signal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// The longest that a client goes on when somebody else was killed.
const CLIENT_MAX: Duration = Duration::from_secs(60);

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Client,
    Gateway,
    Place,
    Root,
    Rank,
}

const TARGETS: [Target; 5] = [
    Target::Client,
    Target::Gateway,
    Target::Place,
    Target::Root,
    Target::Rank,
];

/// What was there afterwards.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    whole: u32,
    absent: u32,
}

fn kill(running: &Running, name: &str) {
    // One that has ended already is not missed.
    if let Some(process) = running.named(name).first() {
        signal(process, Signal::KILL);
    }
}

/// One job, one save, one kill so long after its begin.
fn one(family: Family, target: Target, after: Duration, found: &mut Found) {
    let what = format!("{family:?}, {target:?} after {after:?}");
    let command = program(family, "told_rounds", []);
    let mut running = Job::observed(family, RANKS, &command).start();
    running.wait_for_answers();
    running.wait_for_notes("begun");
    std::thread::sleep(Duration::from_millis(200));
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("obs");
    let name = dir.to_str().expect("letters");
    let mut client = running
        .client()
        .command(&["save", name])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a client");
    std::thread::sleep(after);
    match target {
        Target::Client => client.kill().expect("killed"),
        Target::Gateway => kill(&running, "ui-gateway"),
        Target::Place => kill(&running, "tool-place"),
        Target::Root => kill(&running, "analysis-node"),
        Target::Rank => kill(&running, "told_rounds"),
    }
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = client.try_wait().expect("waited for") {
            break status;
        }
        assert!(begun.elapsed() < CLIENT_MAX, "{what}: the client hangs");
        std::thread::sleep(Duration::from_millis(5));
    };
    if dir.exists() {
        found.whole += 1;
        is_whole(&dir, folder.path(), &what);
    } else {
        found.absent += 1;
        assert!(!status.success(), "{what}: saved, and not there");
    }
    let left = std::fs::read_dir(folder.path()).expect("read");
    let hidden = left.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with(".invivo-")
    });
    let hidden = hidden.count();
    assert!(hidden == 0 || target == Target::Client, "{what}: a half");
}

/// It can be read from begin to end.
fn is_whole(dir: &Path, folder: &Path, what: &str) {
    let output = Command::new(invivo_e2e::paths::invivo())
        .args(["export".as_ref(), dir.as_os_str(), "--to".as_ref()])
        .args(["csv".as_ref(), folder.join("csv").as_os_str()])
        .output()
        .expect("invivo");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
}

/// So many, each of another one, at moments over the 40 ms that a save takes and a little behind.
fn kills(count: u32) -> Found {
    let mut found = Found::default();
    for number in 0..count {
        let family = Family::ALL[number as usize / TARGETS.len() % Family::ALL.len()];
        let target = TARGETS[number as usize % TARGETS.len()];
        // A multiple of a prime: the moments of each target are spread.
        let after = Duration::from_micros(u64::from(number * 7919 % 50_000));
        one(family, target, after, &mut found);
    }
    found
}

#[test]
fn a_few_kills_leave_it_whole_or_absent() {
    kills(10);
}

#[test]
#[ignore = "some minutes"]
fn a_hundred_kills_leave_it_whole_or_absent() {
    let found = kills(100);
    assert!(found.whole > 5 && found.absent > 5, "{found:?}");
}
