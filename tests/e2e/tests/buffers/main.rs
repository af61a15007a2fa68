//! Buffers that are a hundred times too small keep exactly what their strategy says.
//!
//! ```text
//! full_record     all records of the run, as the tap of the tree with test hooks wrote them
//! kept            what a buffer keeps, as `invivo records` prints it
//! strategy_model  strategies, written once more without the code of the buffer
//! ```

mod full_record;
mod kept;
mod strategy_model;

use invivo_e2e::clients::{Client, number};
use invivo_e2e::job::Job;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths::invivo_with_hooks;
use invivo_e2e::processes::{Process, resident_bytes};
use invivo_e2e::programs::program;
use invivo_proto::packet::PACKET_BYTES;
use invivo_proto::shm::PACKETS_DEFAULT;
use kept::{Kept, kept};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use strategy_model::{Sorter, assert_is_the_strategys};

const RANKS: u32 = 4;
/// Rounds and calls per round: seven and a half million calls of some 18 bytes each, on every rank.
const ROUNDS: &str = "500";
const CALLS: &str = "15000";
/// The pause between two rounds, in which the tool place can keep up on two cores.
const REST_US: &str = "6000";
/// A buffer has to be this many times too small for what comes to it: 120 times where all calls do,
/// and a busy machine drops a part of them on the way.
const TOO_SMALL: u64 = 20;
/// By how much the memory of the tool place may vary: packets that have overtaken others and wait
/// for them, at most as many as the ranks have. It is a hundredth of the records.
const RESIDENT_TOLERANCE: u64 = RANKS as u64 * (PACKETS_DEFAULT * PACKET_BYTES) as u64;

fn flood(family: Family) -> Vec<OsString> {
    program(family, "call_flood", [ROUNDS, CALLS, REST_US])
}

/// Samples the memory of a process, with the time of each sample.
fn sample_memory(place: &Process, until: impl Fn() -> bool) -> Vec<(Instant, u64)> {
    let mut samples = Vec::new();
    while !until() {
        samples.push((Instant::now(), resident_bytes(place)));
        std::thread::sleep(Duration::from_millis(50));
    }
    samples
}

fn assert_constant(samples: &[(Instant, u64)]) {
    let (Some((begun, _)), Some((ended, _))) = (samples.first(), samples.last()) else {
        panic!("the place was not sampled");
    };

    // Buffers fill in the first fifth of the run.
    let fifth = ended.duration_since(*begun) / 5;
    let sizes = samples
        .iter()
        .filter(|(at, _)| at.duration_since(*begun) >= fifth);
    let sizes: Vec<u64> = sizes.map(|(_, bytes)| *bytes).collect();
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(u64::MAX));
    assert!(least > 0 && sizes.len() >= 5, "{sizes:?}");

    assert!(
        most - least <= RESIDENT_TOLERANCE,
        "from {least} to {most} bytes: {sizes:?}"
    );
}

/// The results of an observed run.
struct FloodResults {
    /// The answer of `invivo buffers`.
    buffers: Value,
    /// The contents of some buffers, by rank.
    kept: Vec<(u32, Kept)>,
    /// The full record.
    tap: tempfile::TempDir,
}

/// Runs the program under a strategy, and reads the buffers of some ranks. Checks that the
/// application is as in the bare run, that the memory of the place is constant, and that 80 % of
/// the bins are in use.
fn run_flood(family: Family, strategy: &str, ranks_read: &[u32]) -> FloodResults {
    let tap = tempfile::tempdir_in("/tmp").expect("a directory for the tap");
    let job = Job::observed(family, RANKS, &flood(family))
        .by(invivo_with_hooks())
        .options(["--buffer", "1MiB", "--strategy", strategy])
        .env("INVIVO_TAP", tap.path());

    let mut running = job.start();
    running.wait_for_answers();
    let place = running.only("tool-place");
    let samples = sample_memory(&place, || running.notes("done") == RANKS);

    let client = running.client();
    // The last records arrive within the latency bound.
    let mut buffers = client.json(&["buffers"]);
    while number(&buffers, "/coverage/ledger/in_flight") != 0 {
        buffers = client.json(&["buffers"]);
    }

    let in_force = &buffers["strategies"];
    assert_eq!(
        in_force[0]["strategy"].as_str(),
        Some(strategy),
        "{in_force}"
    );
    assert_eq!(number(&buffers, "/strategies/0/ranks"), u64::from(RANKS));

    let (bins, used) = (number(&buffers, "/bins"), number(&buffers, "/bins_used"));
    assert!(
        used * 10 >= bins * 8,
        "{used} of {bins} bins are in use: {buffers}"
    );

    let notes = client.json(&["status"])["status"]["notes"].to_string();
    assert!(notes.contains("INVIVO_TAP"), "{notes}");

    let kept = ranks_read
        .iter()
        .map(|&rank| (rank, kept(&client, rank)))
        .collect();

    running.tell("end");
    let ended = running.end();
    assert_constant(&samples);
    let observed = (ended.code(), ended.stdout(), ended.stderr());
    assert_eq!(observed, bare(family));
    FloodResults { buffers, kept, tap }
}

type Outcome = (i32, Vec<String>, Vec<String>);

/// The status and the outputs of the bare run: always the same, so that one run on each MPI is
/// enough.
fn bare(family: Family) -> Outcome {
    static KNOWN: Mutex<Vec<(Family, Outcome)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);

    if let Some((_, outcome)) = known.iter().find(|(of, _)| *of == family) {
        return outcome.clone();
    }
    let bare = Job::bare(family, RANKS, &flood(family)).start();
    bare.tell("end");
    let bare = bare.end();
    assert_eq!(bare.code(), 0);
    let outcome = (bare.code(), bare.stdout(), bare.stderr());
    known.push((family, outcome.clone()));
    outcome
}

/// Runs the program, and compares the buffers of some ranks call by call with the strategy.
fn keeps_what_is_defined(family: Family, strategy: &'static str, compared: &[u32]) {
    let FloodResults { buffers, kept, tap } = run_flood(family, strategy, compared);
    assert!(
        number(&buffers, "/reductions") >= number(&buffers, "/bins"),
        "{buffers}"
    );

    for (rank, Kept { calls, counts, .. }) in &kept {
        assert_eq!(
            (counts.kept, counts.stored),
            (calls.len() as u64, counts.kept + counts.reduced)
        );
        assert!(
            counts.stored >= TOO_SMALL * counts.kept,
            "{} of {}",
            counts.kept,
            counts.stored
        );
        assert_is_the_strategys(
            &mut Sorter::new(strategy, &buffers),
            calls,
            tap.path(),
            *rank,
        );
    }
}

#[test]
#[ignore = "long"]
fn the_flight_recorder_keeps_the_newest() {
    keeps_what_is_defined(Family::Ompi, "time", &[0, 1, 2, 3]);
}

#[test]
fn by_duration_the_longest_stay() {
    keeps_what_is_defined(Family::Ompi, "duration:20us", &[0, 3]);
}

#[test]
#[ignore = "long: much like the others"]
fn by_iterations_every_nth_iteration_stays() {
    keeps_what_is_defined(Family::Ompi, "iterations:8@MPI_Barrier", &[1]);
}

#[test]
#[ignore = "long: much like the others"]
fn combinations_go_in_their_order() {
    keeps_what_is_defined(
        Family::Ompi,
        "class:region,iterations:2@MPI_Barrier,duration:5us",
        &[2],
    );
}

#[test]
fn classes_and_depths_go_in_their_order() {
    keeps_what_is_defined(Family::Ompi, "depth:0,class:call", &[3]);
}

/// A strategy that a buffer of 128 KiB is too small for.
const TOO_MANY_LEVELS: &str = "duration:1ms,duration:2ms,duration:3ms,iterations:8@MPI_Barrier";

/// Rules that have no effect, as buffers hold no metrics: each is refused with its reason.
fn assert_rules_without_effect_are_refused(client: &Client) {
    for (strategy, reason) in [
        (
            "class:metric",
            "class:metric has no effect: buffers hold no metrics yet",
        ),
        (
            "time,cap=50%",
            "a cap has no use: a quarter of the buffer is left to samples",
        ),
    ] {
        let refused = client.run(&["strategy", strategy]);
        assert!(!refused.status.success(), "{strategy}: {refused:?}");
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(stderr.contains(reason), "{strategy}: {stderr}");
        assert!(
            stderr.contains("give time, duration:1ms, depth:2, class:region, samples or"),
            "{strategy}: {stderr}"
        );
    }
}

#[test]
fn a_strategy_changes_while_the_job_runs() {
    let ranks = 2;
    let command = program(Family::Ompi, "message_loop", []);
    let mut running = Job::observed(Family::Ompi, ranks, &command)
        .options(["--buffer", "128KiB"])
        .start();
    running.wait_for_answers();
    let client = running.client();
    let in_force = || {
        client.json(&["strategy"])["strategies"][0]["strategy"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(in_force().as_deref(), Some("time"));
    client.all_do(ranks, &["strategy", "iterations:3@MPI_Allreduce"]);
    assert_eq!(in_force().as_deref(), Some("iterations:3@MPI_Allreduce"));

    // 33 levels need 132 bins, and 128 KiB have fewer.
    let refused = client.run(&["strategy", TOO_MANY_LEVELS, "--json"]);
    assert!(!refused.status.success());
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("is too small"), "{stderr}");
    assert_eq!(in_force().as_deref(), Some("iterations:3@MPI_Allreduce"));

    let refused = client.run(&["strategy", "best"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("\"best\" is no rule of a strategy"));
    assert_rules_without_effect_are_refused(&client);
    assert_eq!(in_force().as_deref(), Some("iterations:3@MPI_Allreduce"));

    let entries = client.json_stream(&["audit"]);
    let given = entries
        .iter()
        .filter(|entry| entry["command"] == "strategy");
    let arguments: Vec<_> = given
        .filter_map(|entry| entry["arguments"].as_str())
        .collect();
    let wanted = ["iterations:3@MPI_Allreduce", TOO_MANY_LEVELS];
    assert!(
        wanted.iter().all(|wanted| arguments.contains(wanted)),
        "{entries:?}"
    );

    let now = number(&client.json(&["status"]), "/status/recording/now_ns");
    let pages = client.json_stream(&["records", "1", "--last", "2s"]);
    let records: Vec<&Value> = pages
        .iter()
        .filter_map(|page| page["records"].as_array())
        .flatten()
        .collect();
    assert!(!records.is_empty(), "a rank that communicates has records");
    assert!(
        records
            .iter()
            .all(|record| number(record, "/end_ns") >= now - 2_000_000_000)
    );
    // The buffers are full: there is more than a page in each.
    running.until("calls", |job| {
        let status = job.client().try_json(&["status"])?;
        (number(&status, "/coverage/ledger/entered") > 40_000).then_some(())
    });
    assert_records_end(&client);

    let no_rank = client.run(&["records", "7"]);
    assert!(String::from_utf8_lossy(&no_rank.stderr).contains("nobody has records of rank 7"));

    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// A rank records faster than a client reads: its answer ends with the last record of the moment at
/// which it asked.
fn assert_records_end(client: &Client) {
    let mut asking = client.command(&["records", "1", "--json"]);
    let mut asked = asking
        .stdout(Stdio::piped())
        .spawn()
        .expect("the invivo command runs");
    let mut pages = BufReader::new(asked.stdout.take().expect("its output"));

    let (mut first, mut others) = (String::new(), String::new());
    pages.read_line(&mut first).expect("a page");
    let now = number(&client.json(&["status"]), "/status/recording/now_ns");
    // The rank goes on recording while nobody reads: the answer must not follow it.
    std::thread::sleep(Duration::from_millis(300));
    pages.read_to_string(&mut others).expect("the other pages");
    assert!(asked.wait().expect("its status").success());

    let last: Value = others
        .lines()
        .last()
        .map(|page| serde_json::from_str(page).expect("a page"))
        .expect("more than one page");
    let ends = last["records"].as_array().expect("records").iter();
    let latest = ends.map(|record| number(record, "/end_ns")).max();
    assert!(
        latest.is_none_or(|latest| latest <= now),
        "{latest:?} is later than {now}"
    );
}
