//! Several clients on one job, of every kind: two that command at once, one that asks twice,
//! scripts, a screen, and watchers that do not read. The job notices none of them.

use invivo_e2e::apps::program;
use invivo_e2e::checks;
use invivo_e2e::client::{Client, number};
use invivo_e2e::crowd::{Crowd, WATCHERS};
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::places::root;
use invivo_e2e::processes::{Process, open_files, resident_bytes, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const RANKS: u32 = 2;
/// Watchers that do not read.
const STALLED: usize = 5;
/// The most memory that the gateway may take with them.
const GATEWAY_BYTES_MAX: u64 = 64 << 20;
/// The most files that it may have open: its limits of connections that have shown a token and of
/// those that have not, and its own.
const GATEWAY_FILES_MAX: usize = 128 + 64 + 48;
/// Files that may be open a moment longer, of clients that are just going.
const FILES_LATE: usize = 4;
/// Visits of each kind of hostile client.
const VISITS: u64 = 5;
/// The longest that a well-behaved client waits in the crowd: connections are accepted at 200 per
/// second, and the machine may be as busy as the gateway.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Watchers that have stopped reading.
struct Stalled(Vec<Child>);

impl Stalled {
    fn on(client: &Client) -> Stalled {
        let start = |_| {
            let mut watch = client.command(&["watch", "--interval", "100ms", "--json"]);
            watch.stdout(Stdio::piped()).spawn().expect("a watcher")
        };
        let watchers = Stalled((0..STALLED).map(start).collect());
        // Long enough to be connected and to have had a snapshot.
        std::thread::sleep(Duration::from_millis(500));
        for watcher in &watchers.0 {
            signal(&Process::of(watcher.id()), Signal::STOP);
        }
        watchers
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        for watcher in &mut self.0 {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }
}

/// The same id is one command, however often it is given; another command of that id is refused.
fn ids_are_idempotent(client: &Client) {
    let pause = r#"{"command_id": "4711", "lease_ns": "60000000000"}"#;
    let ask = |method: &str, request: &str| client.python(method, request, "control");
    let first = ask("Pause", pause).messages();
    assert_eq!(number(&first[0], "/done"), u64::from(RANKS), "{first:?}");
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

/// Both are answered, and the job runs in the end.
fn two_command_at_once(client: &Client) {
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
    client.resume(RANKS);
    let status = client.json(&["status"]);
    assert_eq!(number(&status, "/status/ranks/paused"), 0, "{status}");
}

/// Every command of the two above is there, with who gave it.
fn all_is_audited(client: &Client) {
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
        let outcome = entry["outcome"].as_str().unwrap_or_default();
        assert!(!outcome.is_empty(), "how it went: {entry}");
    }
}

/// One session passes, one does not get what it asserts, one is refused with its line.
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

/// The number before ` calls` in the bar of the screen.
fn calls_on(screen: &str) -> Option<u64> {
    let before = screen.split(" calls").next()?;
    let number = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != ',')
        .next()?;
    number.replace(',', "").parse().ok()
}

/// What a page shows: the lines behind the title, the bar and the names of the pages.
fn below_the_bar(screen: &str) -> String {
    screen.lines().skip(4).collect()
}

/// The screen shows what happens, and its keys do what they say.
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
        ("2", "2 of 2 ranks, the most time in MPI first"),
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
fn a_job_in_company_ends_as_one_alone() {
    for family in Family::ALL {
        let mut running = Job::observed(family, RANKS, &program(family, "ticker", [])).start();
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();
        let stalled = Stalled::on(&client);
        ids_are_idempotent(&client);
        two_command_at_once(&client);
        all_is_audited(&client);
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
        drop(stalled);
        assert_eq!(ended.code(), 0);
        assert_eq!(
            ended.stdout(),
            ["rank 0: 0 wrong, computed\n", "rank 1: 0 wrong, computed\n"]
        );
        checks::conserved(&ended.report(), RANKS);
        ended.assert_nothing_left();
    }
}

/// Fifty watchers that never read and five hostile clients: others are served, and neither the
/// gateway's size nor the job shows that they were there.
#[test]
fn a_crowd_changes_neither_the_gateways_bounds_nor_the_job() {
    for family in Family::ALL {
        let mut running = Job::observed(family, RANKS, &program(family, "ticker", [])).start();
        running.wait_for_answers();
        running.wait_for_notes("begun");
        let client = running.client();
        let gateway = running.only("ui-gateway");
        let files_before = open_files(&gateway);

        let crowd = Crowd::at(&running.connect_file());
        let (mut bytes_max, mut files_max) = (0, 0);
        while !(crowd.has_come(VISITS) && crowd.served() == WATCHERS) {
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
        drop(crowd);
        running.until("the crowd's files to be closed", |_| {
            (open_files(&gateway) <= files_before + FILES_LATE).then_some(())
        });
        assert_eq!(
            running.only("ui-gateway").pid,
            gateway.pid,
            "{family:?}: it is the same one"
        );

        running.tell("stop");
        let ended = running.end();
        assert_eq!(ended.code(), 0);
        assert_eq!(
            ended.stdout(),
            ["rank 0: 0 wrong, computed\n", "rank 1: 0 wrong, computed\n"]
        );
        checks::same_but_for_drops(&ended.report(), RANKS, &ended.own_counts());
        ended.assert_nothing_left();
    }
}
