//! What buffers of one mebibyte keep of a run that makes a hundred times as much, under each
//! strategy, against the full record of the same run.
//!
//! ```text
//! record      everything, as the tap wrote it        kept  what a buffer says that it keeps
//! definition  strategies that give up the oldest of their lowest level       thinning  samples, and the cap
//! ```

mod definition;
mod kept;
mod record;
mod thinning;

use definition::{Sorter, assert_is_the_strategys};
use invivo_e2e::apps::program;
use invivo_e2e::client::{Client, number};
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::processes::{Process, resident_bytes};
use invivo_proto::packet::PACKET_BYTES;
use invivo_proto::shm::PACKETS_DEFAULT;
use kept::{Kept, kept};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// Rounds and calls per round: seven and a half million calls of some 18 bytes each, on every rank.
const ROUNDS: &str = "500";
const CALLS: &str = "15000";
/// Between two rounds, so that the tool place follows on two cores.
const REST_US: &str = "6000";
/// A buffer has to be this many times too small.
const TOO_SMALL: u64 = 100;
/// What the tool place's memory may differ by: packets that have overtaken others and wait for
/// them, at most as many as the ranks have. A hundredth of the records.
const RESIDENT_TOLERANCE: u64 = RANKS as u64 * (PACKETS_DEFAULT * PACKET_BYTES) as u64;

/// Calls for each sample where samples have the buffer to themselves: after so many halvings as
/// there are, it is nearly full.
const SAMPLE_EVERY: u64 = 14;

fn flood(family: Family) -> Vec<OsString> {
    program(family, "flood", [ROUNDS, CALLS, REST_US])
}

/// Memory of a process while it works, with the time of each look.
fn watch(place: &Process, until: impl Fn() -> bool) -> Vec<(Instant, u64)> {
    let mut looks = Vec::new();
    while !until() {
        looks.push((Instant::now(), resident_bytes(place)));
        std::thread::sleep(Duration::from_millis(50));
    }
    looks
}

fn assert_constant(looks: &[(Instant, u64)]) {
    let (Some((begun, _)), Some((ended, _))) = (looks.first(), looks.last()) else {
        panic!("the place was not seen");
    };
    let fifth = ended.duration_since(*begun) / 5;
    let sizes = looks
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

/// What is left of an observed run.
struct Flooded {
    /// What all buffers said together.
    buffers: Value,
    /// What those of the ranks that were asked for said, by rank.
    kept: Vec<(u32, Kept)>,
    /// The full record.
    tap: tempfile::TempDir,
}

/// One run under a strategy, and with more variables. The application is untouched, the place's
/// memory constant, and 80 % of the bins are in use.
fn flooded(family: Family, strategy: &str, variables: &[(&str, &str)], asked: &[u32]) -> Flooded {
    let tap = tempfile::tempdir_in("/tmp").expect("a directory for the tap");
    let mut job = Job::observed(family, RANKS, &flood(family))
        .options(["--buffer", "1MiB", "--strategy", strategy])
        .env("INVIVO_TAP", tap.path());
    for (name, value) in variables {
        job = job.env(name, value);
    }
    let mut running = job.start();
    running.wait_for_answers();
    let place = running.only("tool-place");
    let looks = watch(&place, || running.notes("done") == RANKS);
    let client = running.client();
    // The last records are taken within the latency bound.
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

    let kept = asked
        .iter()
        .map(|&rank| (rank, kept(&client, rank)))
        .collect();
    running.tell("end");
    let ended = running.end();
    assert_constant(&looks);
    let observed = (ended.code(), ended.stdout(), ended.stderr());
    assert_eq!(observed, bare(family));
    Flooded { buffers, kept, tap }
}

type Outcome = (i32, Vec<String>, Vec<String>);

/// How the program ends and what it writes by itself: always the same, so one run of each family is
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

/// One run; ranks given are compared call by call.
fn hold_to(family: Family, strategy: &'static str, compared: &[u32]) {
    let Flooded { buffers, kept, tap } = flooded(family, strategy, &[], compared);
    assert!(
        number(&buffers, "/reductions") >= number(&buffers, "/bins"),
        "{buffers}"
    );
    for (rank, Kept { calls, books, .. }) in &kept {
        assert_eq!(
            (books.kept, books.stored),
            (calls.len() as u64, books.kept + books.reduced)
        );
        assert!(
            books.stored >= TOO_SMALL * books.kept,
            "{} of {}",
            books.kept,
            books.stored
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
fn the_flight_recorder_keeps_the_newest() {
    hold_to(Family::Ompi, "time", &[0, 1, 2, 3]);
}

#[test]
fn by_duration_the_longest_stay() {
    hold_to(Family::Mpich, "duration:20us", &[0, 3]);
}

#[test]
fn by_iterations_every_so_manieth_stays_whole() {
    hold_to(Family::Ompi, "iterations:8@MPI_Barrier", &[1]);
}

#[test]
fn combinations_go_in_their_order() {
    hold_to(
        Family::Ompi,
        "class:metric,iterations:2@MPI_Barrier,duration:5us",
        &[2],
    );
}

#[test]
fn classes_and_depths_go_in_their_order() {
    hold_to(Family::Ompi, "depth:0,class:call", &[3]);
}

/// Calls go at the cap, all at once; then samples have the whole buffer, and are thinned evenly.
/// Nothing but the buffer knows of either.
#[test]
fn at_the_cap_all_calls_go_and_samples_are_thinned() {
    let every = SAMPLE_EVERY.to_string();
    let variables = [("INVIVO_SAMPLES", every.as_str())];
    let flooded = flooded(Family::Ompi, "samples,cap=50%", &variables, &[0, 1, 2, 3]);
    thinning::assert_thinned(&flooded, SAMPLE_EVERY);
}

/// Without a cap, samples make room for calls: the newest calls are kept, as if there were no
/// samples.
#[test]
fn samples_make_room_for_calls() {
    let variables = [("INVIVO_SAMPLES", "1000")];
    let flooded = flooded(Family::Ompi, "samples", &variables, &[1]);
    thinning::assert_crowded_out(&flooded);
}

#[test]
fn a_strategy_changes_while_the_job_runs() {
    let ranks = 2;
    let chatter = program(Family::Ompi, "chatter", []);
    let mut running = Job::observed(Family::Ompi, ranks, &chatter)
        .options(["--buffer", "128KiB"])
        .start();
    running.wait_for_answers();
    let client = running.client();
    let in_force = || {
        client.json(&["strategy"])[0]["strategy"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(in_force().as_deref(), Some("time"));
    client.all_do(ranks, &["strategy", "iterations:3@MPI_Allreduce"]);
    assert_eq!(in_force().as_deref(), Some("iterations:3@MPI_Allreduce"));

    // 33 levels want 132 bins, of which 128 KiB have fewer.
    let refused = client.run(&["strategy", "samples,depth:0,duration:1ms", "--json"]);
    assert!(!refused.status.success());
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(stderr.contains("is too small"), "{stderr}");
    assert_eq!(in_force().as_deref(), Some("iterations:3@MPI_Allreduce"));
    let refused = client.run(&["strategy", "best"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("\"best\" is no rule of a strategy"));

    let entries = client.json_stream(&["audit"]);
    let given = entries
        .iter()
        .filter(|entry| entry["command"] == "strategy");
    let arguments: Vec<_> = given
        .filter_map(|entry| entry["arguments"].as_str())
        .collect();
    let wanted = ["iterations:3@MPI_Allreduce", "samples,depth:0,duration:1ms"];
    assert!(
        wanted.iter().all(|wanted| arguments.contains(wanted)),
        "{entries:?}"
    );

    let now = number(&client.json(&["status"]), "/status/recording/now_ns");
    let pages = client.json_stream(&["records", "1", "--last", "200ms"]);
    let records: Vec<&Value> = pages
        .iter()
        .filter_map(|page| page["records"].as_array())
        .flatten()
        .collect();
    assert!(!records.is_empty(), "a rank that communicates has records");
    assert!(
        records
            .iter()
            .all(|record| number(record, "/end_ns") >= now - 200_000_000)
    );
    assert_records_end(&client);
    let nobody = client.run(&["records", "7"]);
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("nobody has records of rank 7"));
    running.tell("stop");
    assert_eq!(running.end().code(), 0);
}

/// A rank records faster than somebody reads: what he is shown ends with what there was when he
/// asked.
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
