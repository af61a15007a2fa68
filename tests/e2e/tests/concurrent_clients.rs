//! Many clients at the same time on one job, which ends as without them.
//!
//! Two clients command at once, one repeats a command, sessions run, a screen is open, watchers do
//! not read, and hostile clients attack the gateway.

use invivo_e2e::checks;
use invivo_e2e::clients::misbehaving::{MisbehavingClients, WATCHERS};
use invivo_e2e::clients::{Client, number};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::root;
use invivo_e2e::processes::{Process, open_files, resident_bytes, signal};
use invivo_e2e::programs::program;
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// The longest that a job may run.
const LIMIT: Duration = Duration::from_secs(300);
/// Watchers that do not read.
const STALLED: usize = 5;
/// The most memory that the gateway may take with them.
const GATEWAY_BYTES_MAX: u64 = 64 << 20;
/// The most files that the gateway may have open: its limits of authenticated and unauthenticated
/// connections, and its own files.
const GATEWAY_FILES_MAX: usize = 128 + 64 + 48;
/// Files of clients that are just disconnecting.
const FILES_LATE: usize = 4;
/// Attacks of each kind of hostile client.
const ATTACKS: u64 = 5;
/// The longest that a well-behaved client waits meanwhile: the gateway accepts 200 connections per
/// second, and the machine may be as busy as the gateway.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Watchers that are stopped, so that they do not read.
struct StalledWatchers(Vec<Child>);

impl StalledWatchers {
    fn start(client: &Client) -> StalledWatchers {
        let start = |_| {
            let mut watch = client.command(&["watch", "--interval", "100ms", "--json"]);
            watch.stdout(Stdio::piped()).spawn().expect("a watcher")
        };
        let watchers = StalledWatchers((0..STALLED).map(start).collect());
        // Long enough to be connected and to have had a snapshot.
        std::thread::sleep(Duration::from_millis(500));
        for watcher in &watchers.0 {
            signal(&Process::with_pid(watcher.id()), Signal::STOP);
        }
        watchers
    }
}

impl Drop for StalledWatchers {
    fn drop(&mut self) {
        for watcher in &mut self.0 {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }
}

/// A command that is repeated with its id is done once; another command with that id is refused.
fn command_ids_are_idempotent(client: &Client) {
    let pause = r#"{"command_id": "4711", "lease_ns": "60000000000"}"#;
    let ask = |method: &str, request: &str| client.python(method, request, "control");
    let first = ask("Pause", pause).messages();
    assert_eq!(number(&first[0], "/done"), u64::from(RANKS), "{first:?}");
    // Resumed before the repetition: a pause that was carried out again would show.
    client.resume(RANKS);
    let again = ask("Pause", pause).messages();
    assert_eq!(
        number(&again[0], "/done"),
        u64::from(RANKS),
        "answered like the first: {again:?}"
    );

    let status = client.json(&["status"]);
    assert_eq!(
        number(&status, "/status/ranks/paused"),
        0,
        "and not done again: {status}"
    );

    let other = ask("Reset", r#"{"command_id": "4711"}"#);
    assert!(
        !other.answered,
        "another command of this id: {}",
        other.stdout
    );
}

/// Commands of two clients at the same time are all answered, and the job runs in the end.
fn two_clients_command_at_once(client: &Client) {
    let of = |words: &'static [&'static str]| {
        let client = client.clone();
        std::thread::spawn(move || {
            for _ in 0..5 {
                client.all_do(RANKS, words);
            }
        })
    };
    let both = [of(&["pause"]), of(&["reset"])];
    for one in both {
        one.join().expect("every command was done on every rank");
    }
    // The last of the interleaved commands may have been a pause.
    client.resume(RANKS);
    let status = client.json(&["status"]);
    assert_eq!(number(&status, "/status/ranks/paused"), 0, "{status}");
}

/// The audit log has every command of the two functions above, with the user who gave it.
fn commands_are_audited(client: &Client) {
    let entries = client.json_stream(&["audit"]);
    let of = |command: &str| -> Vec<&Value> {
        entries
            .iter()
            .filter(|entry| entry["command"] == command)
            .collect()
    };
    assert!(
        of("pause").len() >= 6 && of("resume").len() >= 2 && of("reset").len() >= 5,
        "{entries:?}"
    );
    for entry in &entries {
        assert_eq!(
            number(entry, "/uid"),
            u64::from(rustix::process::geteuid().as_raw()),
            "{entry}"
        );
        // Every command has ended by now.
        let outcome = entry["outcome"].as_str().unwrap_or_default();
        assert!(!outcome.is_empty(), "how it went: {entry}");
    }
}

/// One session passes, one fails its assertion, one is refused with the line of its error.
fn sessions_run(client: &Client) {
    for (file, status, says) in [
        ("steady.toml", 0, ""),
        ("too-much.toml", 1, "million"),
        ("malformed.toml", 2, ":9:"),
    ] {
        let path = root().join("docs/examples/sessions").join(file);
        let output = client.run(&["session", "run", &path.to_string_lossy()]);
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.status.code(), Some(status), "{file}: {said}");
        assert!(said.contains(says), "{file}: {said}");
    }
}

/// The number before ` calls` in the status bar of the screen.
fn calls_on(screen: &str) -> Option<u64> {
    // Behind the number come words, and before it other columns.
    let before = screen.split(" calls").next()?;
    let number = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != ',')
        .next()?;
    number.replace(',', "").parse().ok()
}

/// The content of a page: the lines below the title, the bar and the names of the pages.
fn below_the_bar(screen: &str) -> String {
    screen.lines().skip(4).collect()
}

/// `invivo top` shows new numbers, and its keys give commands.
fn the_screen_is_live(client: &Client) {
    client.all_do(RANKS, &["record", "on"]);
    let mut screen = client.on_screen(&["top", "--interval", "100ms", "--window", "500ms"]);
    let first = screen.until("calls", |text| {
        text.contains("LIVE") && calls_on(text).is_some()
    });

    let before = calls_on(&first).expect("calls");
    screen.until("more calls", |text| {
        calls_on(text).is_some_and(|calls| calls > before)
    });

    for (page, says) in [
        ("2", "2 of 2 ranks, the least time in MPI first"),
        ("3", "MPI_Isend"),
        (
            "4",
            "bytes sent from each rank (down) to each rank (across)",
        ),
        ("5", "recorded calls are"),
    ] {
        screen.press(page);
        let first = screen.until_it_says(says);
        screen.until(&format!("other numbers on page {page}"), |text| {
            text.contains(says) && below_the_bar(text) != below_the_bar(&first)
        });
    }

    screen.press("1P");
    screen.until_it_says("y/n");
    assert_eq!(
        number(&client.json(&["status"]), "/status/ranks/paused"),
        0,
        "nothing without a yes"
    );
    screen.press("y");
    screen.until_it_says("paused 2 of 2 ranks");
    let status = client.json(&["status"]);
    assert!(
        number(&status, "/status/pause/lease_left_ns") > 0,
        "{status}"
    );

    client.resume(RANKS);

    let recording = |what: &str| {
        let status = client.json(&["status"]);
        number(&status, &format!("/status/recording/{what}"))
    };

    screen.press("Ry");
    screen.until_it_says("switched recording off for 2 of 2 ranks");
    assert_eq!(recording("off"), u64::from(RANKS));
    // The key does the other thing as soon as a snapshot knows.
    screen.until_it_says("RECORDING OFF");
    screen.press("Ry");
    screen.until_it_says("switched recording on for 2 of 2 ranks");
    assert_eq!(recording("on"), u64::from(RANKS));
    screen.press("Wy");
    screen.until_it_says("recorded a window on 2 of 2 ranks");
    assert_eq!(recording("window/complete"), u64::from(RANKS));
    assert_eq!(recording("off"), u64::from(RANKS), "a window leaves it off");
    screen.press("q");
    assert_eq!(screen.end(), 0);
}

#[test]
fn a_job_with_many_clients_ends_as_one_alone() {
    for family in Family::ALL {
        let job = Job::observed(family, RANKS, &program(family, "logged_rounds", []));
        let mut running = job.limit(LIMIT).start();
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();
        let stalled = StalledWatchers::start(&client);
        command_ids_are_idempotent(&client);
        two_clients_command_at_once(&client);
        commands_are_audited(&client);
        sessions_run(&client);
        the_screen_is_live(&client);
        let gateway = running.only("ui-gateway");
        let bytes = resident_bytes(&gateway);
        assert!(
            bytes > 0 && bytes < GATEWAY_BYTES_MAX,
            "{family:?}: the gateway takes {bytes} bytes"
        );
        running.tell("stop");
        let ended = running.end();
        // The watchers are still connected when the job ends.
        drop(stalled);
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));
        checks::conserved(&ended.report(), RANKS);
        ended.assert_nothing_left();
    }
}

/// With fifty watchers that never read and five hostile clients the others are served, the gateway
/// stays within its bounds, and the job ends as without them.
#[test]
fn misbehaving_clients_change_neither_the_gateway_nor_the_job() {
    for family in Family::ALL {
        let job = Job::observed(family, RANKS, &program(family, "logged_rounds", []));
        let mut running = job.limit(LIMIT).start();
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();
        let gateway = running.only("ui-gateway");
        let files_before = open_files(&gateway);

        let misbehaving = MisbehavingClients::connect(&running.connect_file());

        let (mut bytes_max, mut files_max) = (0, 0);
        while !(misbehaving.attacked(ATTACKS) && misbehaving.served() == WATCHERS) {
            // Others are served meanwhile, in commands as in queries.
            let asked = Instant::now();
            client.pause(RANKS, "1m");
            client.resume(RANKS);
            let status = client.json(&["status"]);
            assert_eq!(
                number(&status, "/coverage/ranks_reporting"),
                u64::from(RANKS),
                "{status}"
            );
            assert!(
                asked.elapsed() < 3 * ANSWER_TIME_MAX,
                "{family:?}: {:?}",
                asked.elapsed()
            );

            bytes_max = bytes_max.max(resident_bytes(&gateway));
            files_max = files_max.max(open_files(&gateway));
            assert!(running.runs(), "{family:?}: the job is still there");
        }

        assert!(
            bytes_max > 0 && bytes_max < GATEWAY_BYTES_MAX,
            "{family:?}: the gateway takes {bytes_max} bytes"
        );
        assert!(
            files_max > WATCHERS && files_max < GATEWAY_FILES_MAX,
            "{family:?}: it has {files_max} files open"
        );

        drop(misbehaving);
        running.until("the files of these clients to be closed", |_| {
            (open_files(&gateway) <= files_before + FILES_LATE).then_some(())
        });
        assert_eq!(
            running.only("ui-gateway").pid,
            gateway.pid,
            "{family:?}: it is the same one"
        );

        running.tell("stop");
        let ended = running.end();
        ended.assert_printed(|rank| format!("rank {rank}: 0 wrong, computed\n"));
        checks::same_but_for_drops(&ended.report(), RANKS, &ended.own_counts());
        ended.assert_nothing_left();
    }
}
