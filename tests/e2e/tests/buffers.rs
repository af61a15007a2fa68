//! What buffers of one mebibyte keep of a run that makes a hundred times as much, under each strategy, against the full record
//! of the same run.

use invivo_e2e::apps::program;
use invivo_e2e::client::{Client, number};
use invivo_e2e::family::Family;
use invivo_e2e::job::Job;
use invivo_e2e::processes::{Process, resident_bytes};
use invivo_proto::mpi;
use invivo_proto::packet::{HEADER_BYTES, Header, PACKET_BYTES};
use invivo_proto::record::{Call, Decoded, Decoder};
use invivo_proto::shm::PACKETS_DEFAULT;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// Rounds and calls per round: seven and a half million calls of some 18 bytes each, on every rank.
const ROUNDS: &str = "500";
const CALLS: &str = "15000";
/// Between two rounds, so that the tool place follows on two cores.
const REST_US: &str = "6000";
/// A buffer has to be this many times too small.
const TOO_SMALL: u64 = 100;
/// What the tool place's memory may differ by: packets that have overtaken others and wait for them, at most as many as
/// the ranks have. A hundredth of the records.
const RESIDENT_TOLERANCE: u64 = RANKS as u64 * (PACKETS_DEFAULT * PACKET_BYTES) as u64;

fn flood(family: Family) -> Vec<OsString> {
    program(family, "flood", [ROUNDS, CALLS, REST_US])
}

/// A call as far as it is compared: end, duration, region, tag, bytes out, number of parts.
type Known = (u64, u64, u16, i32, u64, usize);

/// What `invivo records --json` prints, a page per line.
#[derive(Deserialize)]
struct Page {
    records: Vec<Record>,
    books: Books,
}

#[derive(Deserialize)]
struct Books {
    stored: u64,
    kept: u64,
    reduced: u64,
}

#[derive(Deserialize)]
struct Record {
    function: String,
    end_ticks: u64,
    duration_ticks: u64,
    facts: Facts,
    clipped: bool,
    parts: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Facts {
    tag: i32,
    bytes_out: u64,
}

/// What a buffer keeps, by its own word.
fn kept(client: &Client, rank: u32) -> (Vec<Known>, Books) {
    let output = client.run(&["records", &rank.to_string(), "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let regions: HashMap<&str, u16> = mpi::FUNCTIONS
        .iter()
        .map(|function| function.name)
        .zip(0..)
        .collect();
    let mut calls = Vec::new();
    let mut books = None;
    for page in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Page>() {
        let page = page.expect("a page");
        for record in page.records {
            assert!(!record.clipped);
            let facts = record.facts;
            calls.push((
                record.end_ticks,
                record.duration_ticks,
                regions[record.function.as_str()],
                facts.tag,
                facts.bytes_out,
                record.parts.len(),
            ));
        }
        books = Some(page.books);
    }
    (calls, books.expect("a page at least"))
}

/// All that the place took of a rank, in its order.
fn all(tap: &Path, rank: u32, mut each: impl FnMut(&Call, usize)) {
    let path = tap.join(format!("rank-{rank}.thread-0.packets"));
    let mut file =
        std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(&path).expect("the tap's file"));
    let mut sequence = 0;
    let mut message = vec![0; HEADER_BYTES];
    loop {
        message.truncate(HEADER_BYTES);
        if file.read_exact(&mut message).is_err() {
            return;
        }
        let length = u32::from_le_bytes(message[28..32].try_into().expect("four bytes")) as usize;
        message.resize(HEADER_BYTES + length, 0);
        file.read_exact(&mut message[HEADER_BYTES..])
            .expect("a whole packet");
        let (header, payload) = Header::decode(&message).expect("a packet");
        assert_eq!((header.location.rank.0, header.sequence), (rank, sequence));
        sequence += 1;
        let mut decoder = Decoder::new(header.first_time, header.next_request);
        let mut at = 0;
        while at < payload.len() {
            let decoded = decoder.record(payload, &mut at).expect("a record");
            let (Decoded::Call(_, parts) | Decoded::Continuation { parts, .. }) = decoded;
            for _ in 0..parts {
                decoder.part(payload, &mut at).expect("a part");
            }
            if let Decoded::Call(call, parts) = decoded {
                each(&call, parts);
            }
        }
    }
}

/// A rule of a strategy.
enum Rule {
    /// So many halvings.
    Iterations(u32),
    /// Bounds of its levels, as logarithms of ticks.
    Shorter(Vec<u32>),
    Class {
        is_call: bool,
    },
    Depth,
}

/// Which level a call belongs to, of those that go first to the last: what a strategy says, once more and without any of
/// the buffer's own code.
struct Sorter {
    strategy: &'static str,
    rules: Vec<Rule>,
    /// Ended so far.
    iterations: u64,
    barrier: u16,
}

impl Sorter {
    fn new(strategy: &'static str, buffers: &Value) -> Sorter {
        let levels = buffers["levels"].as_array().expect("levels");
        let shorter = levels
            .iter()
            .filter_map(|level| level["shorter_than_log2_ticks"].as_u64());
        let shorter: Vec<u32> = shorter.map(|log2| log2 as u32).collect();
        let rule = |rule: &str| match rule.split_once(':')? {
            ("iterations", value) => Some(Rule::Iterations(value.split('@').next()?.parse().ok()?)),
            ("duration", _) => Some(Rule::Shorter(shorter.clone())),
            ("class", class) => Some(Rule::Class {
                is_call: class == "call",
            }),
            ("depth", _) => Some(Rule::Depth),
            _ => None,
        };
        let barrier = mpi::FUNCTIONS
            .iter()
            .position(|function| function.name == "MPI_Barrier");
        Sorter {
            strategy,
            rules: strategy.split(',').filter_map(rule).collect(),
            iterations: 0,
            barrier: barrier.expect("a function") as u16,
        }
    }

    fn level(&mut self, call: &Call) -> usize {
        let iteration = self.iterations;
        if call.facts.region.0 == self.barrier {
            self.iterations += 1;
        }
        let mut below = 0;
        for rule in &self.rules {
            match rule {
                Rule::Iterations(halvings) => {
                    // Iterations are numbered from 1; before the first barrier there is none.
                    if iteration != 0 && iteration.trailing_zeros() < *halvings {
                        return below + iteration.trailing_zeros() as usize;
                    }
                    below += *halvings as usize;
                }
                Rule::Shorter(bounds) => {
                    if let Some(level) = bounds.iter().position(|log2| call.duration < 1 << log2) {
                        return below + level;
                    }
                    below += bounds.len();
                }
                Rule::Class { is_call: true } => return below,
                Rule::Class { is_call: false } => below += 1,
                // No call is inside of another region.
                Rule::Depth => below += 8,
            }
        }
        below
    }
}

/// Of one level there is the newest, of those above everything, of those below nothing.
fn assert_is_the_strategys(sorter: &mut Sorter, kept: &[Known], tap: &Path, rank: u32) {
    let last_end = kept.last().expect("something is kept").0;
    let what = format!("rank {rank} under {}", sorter.strategy);
    // Which level something is of can only be told with all that came before; so the full record says it.
    let mut levels: Vec<(u64, Vec<Known>)> = Vec::new();
    let mut next = kept.iter().peekable();
    all(tap, rank, |call, parts| {
        if call.end > last_end {
            return;
        }
        let level = sorter.level(call);
        if levels.len() <= level {
            levels.resize_with(level + 1, Default::default);
        }
        let (count, newest) = &mut levels[level];
        *count += 1;
        let facts = &call.facts;
        let known = (
            call.end,
            call.duration,
            facts.region.0,
            facts.tag,
            facts.bytes_out,
            parts,
        );
        match next.next_if_eq(&&known) {
            Some(_) => newest.push(known),
            // What is kept of this level must be newer.
            None => newest.clear(),
        }
    });
    assert_eq!(
        next.next(),
        None,
        "{what}: it is kept and was never taken, or is in no order"
    );
    let found: usize = levels.iter().map(|(_, newest)| newest.len()).sum();
    assert_eq!(
        found,
        kept.len(),
        "{what}: something of a level is kept and something newer of it is not"
    );
    let occupied = levels.iter().filter(|(count, _)| *count > 0);
    let mut of_higher = occupied.skip_while(|(_, newest)| newest.is_empty());
    of_higher.next();
    for (count, newest) in of_higher {
        assert_eq!(
            newest.len() as u64,
            *count,
            "{what}: a lower level is kept beside a part of this one"
        );
    }
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
    let sizes = looks.iter().filter(|(at, _)| at.duration_since(*begun) >= fifth);
    let sizes: Vec<u64> = sizes.map(|(_, bytes)| *bytes).collect();
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(u64::MAX));
    assert!(least > 0 && sizes.len() >= 5, "{sizes:?}");
    assert!(
        most - least <= RESIDENT_TOLERANCE,
        "from {least} to {most} bytes: {sizes:?}"
    );
}

/// One run; ranks given are compared call by call.
fn hold_to(family: Family, strategy: &'static str, compared: &[u32]) {
    let tap = tempfile::tempdir_in("/tmp").expect("a directory for the tap");
    let mut running = Job::observed(family, RANKS, &flood(family))
        .options(["--buffer", "1MiB", "--strategy", strategy])
        .env("INVIVO_TAP", tap.path())
        .start();
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
    assert_eq!(in_force[0]["strategy"].as_str(), Some(strategy), "{in_force}");
    assert_eq!(number(&buffers, "/strategies/0/ranks"), u64::from(RANKS));
    let (bins, used) = (number(&buffers, "/bins"), number(&buffers, "/bins_used"));
    assert!(
        used * 10 >= bins * 8,
        "{used} of {bins} bins are in use: {buffers}"
    );
    let notes = client.json(&["status"])["status"]["notes"].to_string();
    assert!(notes.contains("INVIVO_TAP"), "{notes}");

    let all_kept: Vec<(u32, Vec<Known>, Books)> = (0..RANKS)
        .filter(|rank| compared.contains(rank))
        .map(|rank| {
            let (calls, books) = kept(&client, rank);
            (rank, calls, books)
        })
        .collect();
    running.tell("end");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    assert_constant(&looks);
    for (rank, calls, books) in &all_kept {
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
        assert_is_the_strategys(&mut Sorter::new(strategy, &buffers), calls, tap.path(), *rank);
    }
    let bare = Job::bare(family, RANKS, &flood(family)).start();
    bare.tell("end");
    let bare = bare.end();
    assert_eq!((bare.code(), bare.stdout()), (ended.code(), ended.stdout()));
    assert_eq!(bare.stderr(), ended.stderr());
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
        Family::Mpich,
        "class:metric,iterations:2@MPI_Barrier,duration:5us",
        &[2],
    );
}

#[test]
fn classes_and_depths_go_in_their_order() {
    hold_to(Family::Ompi, "depth:0,class:call", &[3]);
}

#[test]
fn a_strategy_changes_while_the_job_runs() {
    let ranks = 2;
    let chatter = program(Family::Ompi, "chatter", ["8"]);
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
    let given = entries.iter().filter(|entry| entry["command"] == "strategy");
    let arguments: Vec<_> = given.filter_map(|entry| entry["arguments"].as_str()).collect();
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
    let nobody = client.run(&["records", "7"]);
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("nobody has records of rank 7"));
    assert_eq!(running.end().code(), 0);
}
