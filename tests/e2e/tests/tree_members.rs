//! A tool process that stops, sends garbage or dies: the others go on, and answers name it.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::logs::counts::recorded;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::processes::{kill, signal};
use invivo_e2e::programs::{garbage_sender, program};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest time of an answer while one member is known to be silent: nobody waits for it. A
/// wave that waits takes a second per layer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);

/// A job with three layers: ranks, fan-in, tool places below the first inner node.
struct Shape {
    ranks: u32,
    fan_in: &'static str,
    ranks_per_place: u32,
}

/// Fewer ranks on MPICH, which spins while it waits.
fn shape(family: Family) -> Shape {
    if family.is_open_mpi() {
        Shape {
            ranks: 8,
            fan_in: "2,2",
            ranks_per_place: 2,
        }
    } else {
        Shape {
            ranks: 4,
            fan_in: "1,2",
            ranks_per_place: 1,
        }
    }
}

impl Shape {
    const PLACES: u32 = 4;

    fn job(&self, family: Family) -> Job {
        Job::observed(family, self.ranks, &program(family, "logged_rounds", [])).fan_in(self.fan_in)
    }

    fn start(&self, job: Job) -> Running {
        let mut running = job.start();
        // Ranks, places, two inner nodes, the root.
        assert_eq!(running.processes(), self.ranks + Shape::PLACES + 2 + 1);
        running.wait_for_answers();
        running.wait_for_notes("begun");
        running
    }

    /// The number of a place in the whole job: they come behind the ranks.
    fn place(&self, index: u32) -> u32 {
        self.ranks + index
    }

    /// The number of an inner node: they come behind the places.
    fn node(&self, index: u32) -> u32 {
        self.ranks + Shape::PLACES + index
    }
}

fn missing(answer: &Value) -> Vec<u64> {
    let named = answer["missing"].as_array().cloned().unwrap_or_default();
    named.iter().filter_map(Value::as_u64).collect()
}

fn is_whole(answer: &Value, ranks: u32) -> bool {
    number(answer, "/coverage/ranks_reporting") == u64::from(ranks)
        && missing(&answer["coverage"]).is_empty()
}

fn wait_until_whole(running: &mut Running) {
    let ranks = running.ranks();
    running.until("the member to be back", |job| {
        let answer = job.client().try_json(&["status"])?;
        is_whole(&answer, ranks).then_some(())
    });
}

/// Waits until this member alone is missing, with so many ranks; returns the status that says so.
fn wait_until_named(running: &mut Running, member: u32, without: u32) -> Value {
    let reporting = u64::from(running.ranks() - without);
    // The member is named only after its silence was noticed: answers before that wait for it.
    running.until("the member to be named", |job| {
        let answer = job.client().try_json(&["status"])?;
        let named = missing(&answer["coverage"]);
        let silent = number(&answer, "/coverage/members_missing") > 0;
        let is_named = named == [u64::from(member)] && silent;
        (is_named && number(&answer, "/coverage/ranks_reporting") == reporting).then_some(answer)
    })
}

/// Questions to the other members are answered at once, and a command is done on their ranks and
/// names the missing member.
fn the_rest_goes_on(running: &Running, member: u32, without: u32) {
    let client = running.client();
    // Lazy: the questions are asked one after the other, below.
    let took = (0..3).map(|_| {
        let begun = Instant::now();
        let answer = client.json(&["functions"]);
        assert_eq!(
            missing(&answer["coverage"]),
            [u64::from(member)],
            "{answer}"
        );
        let rows = answer["rows"].as_array().expect("rows");
        assert!(!rows.is_empty(), "the others answer: {answer}");
        begun.elapsed()
    });
    // On a busy machine one of them may wait for a core.
    let best = took.min().expect("three");
    assert!(
        best < ANSWER_TIME_MAX,
        "the rest is answered at once: {best:?}"
    );

    // The exit status says that the command was not done everywhere.
    let output = client.run(&["reset", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let reply: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    assert_eq!(missing(&reply), [u64::from(member)], "{reply}");

    let (targets, done) = (number(&reply, "/targets"), number(&reply, "/done"));
    let ranks = u64::from(running.ranks());
    assert_eq!(
        (targets, done),
        (ranks, ranks - u64::from(without)),
        "{reply}"
    );
}

/// The program has its usual result, and the ledger accounts for every call that it made.
fn end(running: Running) {
    let ranks = running.ranks();
    running.tell("stop");
    let ended = running.end();

    ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));
    let report = ended.report();
    checks::conserved(&report, ranks);

    let counted: u64 = recorded(&ended.own_counts().calls).values().sum();
    assert_eq!(
        report.coverage.ledger.entered, counted,
        "calls entered and made"
    );
    ended.assert_nothing_left();
}

/// First a place, then an inner node with all that is below it.
#[test]
fn a_stopped_member_is_left_out_until_it_continues() {
    for family in Family::ALL {
        let shape = shape(family);
        let mut running = shape.start(shape.job(family));

        let place = (shape.place(1), "tool-place", shape.ranks_per_place);
        let node = (shape.node(1), "analysis-node", 2 * shape.ranks_per_place);
        for (member, name, without) in [place, node] {
            // The member of the round before must have come back: its ranks would be missing as
            // well.
            wait_until_whole(&mut running);
            let stalled = running.member(name, member);
            signal(&stalled, Signal::STOP);
            wait_until_named(&mut running, member, without);
            the_rest_goes_on(&running, member, without);
            signal(&stalled, Signal::CONT);
        }
        wait_until_whole(&mut running);
        end(running);
    }
}

/// Makes an installation in which one tool place sends garbage, and returns its `invivo`. Libraries
/// that are preloaded for the application do not reach tool processes, so the program
/// `tool-process` is a script that preloads ours before the MPI library.
fn installation_with_garbage_sender(directory: &Path, family: Family) -> PathBuf {
    let (tools, programs) = (
        Path::new("lib/invivo").join(family.interface()),
        Path::new("bin"),
    );
    let (from, to) = (paths::dist().join(&tools), directory.join(&tools));
    for folder in [tools.as_path(), programs] {
        std::fs::create_dir_all(directory.join(folder)).expect("the installation's folders");
        for entry in std::fs::read_dir(paths::dist().join(folder)).expect("programs") {
            let entry = entry.expect("a program");
            let name = entry.file_name();
            // These two are replaced below.
            if name != "tool-process" && name != "invivo" {
                symlink(entry.path(), directory.join(folder).join(name)).expect("a program");
            }
        }
    }

    let (preload, real) = (garbage_sender(family), from.join("tool-process"));
    let script = format!(
        "#!/bin/sh\nLD_PRELOAD={}${{LD_PRELOAD:+:$LD_PRELOAD}} exec {} \"$@\"\n",
        preload.display(),
        real.display()
    );

    let place = to.join("tool-process");
    std::fs::write(&place, script).expect("the script");
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    // A copy, not a link: the command finds its tools by its own path.
    let invivo = directory.join("bin/invivo");
    std::fs::copy(paths::invivo(), &invivo).expect("the command");
    invivo
}

/// A place that sends garbage for a while counts as missing, and a note of the status says why.
#[test]
#[ignore = "long"]
fn a_place_that_sends_garbage_is_left_out() {
    for family in Family::ALL {
        let shape = shape(family);
        let member = shape.place(2);
        let directory = tempfile::tempdir().expect("a directory for an installation");
        let job = shape
            .job(family)
            .by(installation_with_garbage_sender(directory.path(), family))
            .env("GARBAGE_SENDER", member.to_string());

        let mut running = shape.start(job);
        wait_until_whole(&mut running);
        running.tell("send-garbage");
        wait_until_named(&mut running, member, shape.ranks_per_place);
        the_rest_goes_on(&running, member, shape.ranks_per_place);

        let expected = format!("tool process {member} sent garbage");
        running.until("a note about the garbage", |job| {
            let status = job.client().try_json(&["status"])?;
            let notes = status.pointer("/status/notes")?.as_array()?.clone();
            let is_expected = |note: &Value| {
                note.as_str()
                    .is_some_and(|note| note.starts_with(&expected))
            };
            notes.iter().any(is_expected).then_some(())
        });
        running.untell("send-garbage");
        wait_until_whole(&mut running);
        end(running);
    }
}

/// MPI ends a job of which one process dies, and a tool process is one: the launcher reports a
/// failure, no process is left, and the job is not listed any more. There is no report, because
/// launchers kill the rest within a moment.
#[test]
fn a_killed_place_ends_the_job() {
    for family in Family::ALL {
        let shape = shape(family);
        let running = shape.start(shape.job(family));
        let client = running.client();
        let jobs = |what: &str| client.json(&["list"])["jobs"].as_array().expect(what).len();
        assert_eq!(jobs("the job"), 1, "{family:?}");

        kill(&running.member("tool-place", shape.place(1)));
        let ended = running.end();
        assert_ne!(ended.code(), 0, "{family:?}: the job has failed");
        assert_eq!(jobs("no job"), 0, "{family:?}");
    }
}
