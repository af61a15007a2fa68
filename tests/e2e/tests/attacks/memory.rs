//! A rank that writes nonsense into the memory that it shares with its supervisor and its place,
//! and whose code says nonsense about itself. Questions about it are answered, and other ranks, the
//! supervisors and the tool processes do not care.

use crate::is_chosen;
use invivo_e2e::clients::number;
use invivo_e2e::cluster::control_group::ControlGroup;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::processes::{marked, resident_bytes};
use invivo_e2e::programs::program;
use invivo_e2e::results::report::RankEnded;
use invivo_proto::shm::{Page, SLOT_BYTES, SlotHeader, region_bytes};
use std::mem::offset_of;
use std::time::{Duration, Instant};

/// An attack's name, and the lines that make it.
type Attack = (&'static str, fn() -> String);

/// What a rank is told to do, by name: lines for `tests/apps/hostile.c`.
pub const NAMES: &[Attack] = &[
    ("table_of_2_62_slots", || {
        let count = offset_of!(Page, library.requests.slot_count);
        format!("{count} 8 {}\n", 1_u64 << 62)
    }),
    ("communicators_without_end", || {
        let slots = offset_of!(Page, library.comms.slot_count);
        let entries = offset_of!(Page, library.comms.entry_count);
        format!("{slots} 8 {}\n{entries} 8 {}\n", 1_u64 << 63, u64::MAX)
    }),
    ("tables_at_address_zero", || {
        let slots = offset_of!(Page, library.comms.slots);
        let entries = offset_of!(Page, library.requests.entries);
        format!("{slots} 8 1\n{entries} 8 18446744073709551615\n")
    }),
    ("request_handles_of_4_gigabytes", || {
        let bytes = offset_of!(Page, library.request_bytes);
        format!("{bytes} 4 {}\n", u32::MAX)
    }),
    ("more_locations_than_there_are", || {
        format!("{} 4 {}\n", offset_of!(Page, locations), u32::MAX)
    }),
    ("process_number_of_another", || {
        format!("{} 4 1\n", offset_of!(Page, pid))
    }),
    ("stack_that_is_nowhere", || {
        let status = offset_of!(Page, status);
        let stack = status + offset_of!(invivo_proto::shm::Status, stack);
        let frame = status + offset_of!(invivo_proto::shm::Status, frame);
        format!("{stack} 8 {}\n{frame} 8 {}\n", u64::MAX, u64::MAX - 8)
    }),
    ("definitions_ahead_of_their_ring", || {
        let head = offset_of!(Page, ring.head);
        format!("{head} 8 {}\n", u64::MAX / 2)
    }),
    ("packets_longer_than_their_slots", || {
        let last = region_bytes(16) - SLOT_BYTES;
        let at = |field: usize| last + field;
        format!(
            "{} 4 {}\n{} 4 3\n{} 8 {}\n",
            at(offset_of!(SlotHeader, committed)),
            u32::MAX,
            at(offset_of!(SlotHeader, owner)),
            at(offset_of!(SlotHeader, sequence)),
            u64::MAX
        )
    }),
    ("bell_of_another_process", || {
        format!("{} 4 1\n", offset_of!(Page, control.bell))
    }),
    ("punched_holes", || {
        let ring = offset_of!(Page, ring.bytes).next_multiple_of(4096);
        format!("hole {ring} {}\n", 8 * 4096)
    }),
    // All packets, the one that is being written included: whoever reads them next pays for pages
    // of zeroes.
    ("packets_punched_by_fallocate", punch_packets),
    ("memory_cut_and_grown", || "cut\n".to_owned()),
    ("flood_of_the_supervisor", || "flood\n".to_owned()),
    ("frame_information_without_end", || "loop\n".to_owned()),
];

/// The attack that ends its job, and is one: [`under_a_memory_limit`].
pub const UNDER_A_LIMIT: &str = "holes_under_a_memory_limit";
/// Memory of that job in its control group: enough until a rank takes the rest.
const GROUP_BYTES: u64 = 384 << 20;

fn punch_packets() -> String {
    let first = region_bytes(0);
    format!("punch {first} {}\n", region_bytes(16) - first)
}

/// The attacks that MPICH's jobs suffer in the usual tests: what stands in the rank's memory is
/// written by a library that is built for each family.
pub const IN_PART: [&str; 4] = [
    "definitions_ahead_of_their_ring",
    "packets_longer_than_their_slots",
    "packets_punched_by_fallocate",
    "memory_cut_and_grown",
];

/// What a process may grow by.
const GROWTH_MAX: u64 = 64 << 20;
/// The longest that all questions about the rank may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// A rank gives the pages of its shared memory back and takes all that there is for itself: when
/// others touch them again there is none left. The kernel kills who has most, which is that rank,
/// and its death is reported as any.
pub fn under_a_memory_limit(family: Family) {
    let Some(group) = ControlGroup::with_memory(GROUP_BYTES) else {
        return;
    };
    let job = Job::observed(family, 2, &program(family, "hostile", []));
    let job = job.behind(&format!("{}; exec \"$@\"", group.join()));
    let mut running = job.limit(Duration::from_secs(120)).start();
    running.wait_for_answers();
    poke(&running, 0, &format!("{}hoard\n", punch_packets()));
    let ended = running.end();
    assert_ne!(ended.code(), 0, "{family:?}");
    let report = ended.report();
    let killed = |end: &RankEnded| end.rank == 1 && end.signal == Some(9);
    assert!(report.ended.iter().any(killed), "{:?}", report.ended);
    let coverage = &report.coverage;
    assert_eq!(
        (coverage.ranks_reporting, coverage.members_missing),
        (2, 0),
        "{family:?}: no tool process died: {coverage:?}"
    );
    ended.assert_nothing_left();
}

/// Makes the attacks of these names, or all.
pub fn on_a_hostile_rank(family: Family, of: Option<&[&str]>) {
    let command = program(family, "hostile", []);
    let mut running = Job::observed(family, 2, &command)
        .limit(Duration::from_secs(300))
        .start();
    running.wait_for_answers();
    let all = marked(running.mark());
    let before: Vec<u64> = all.iter().map(resident_bytes).collect();
    let is_of = |name: &&str| of.is_none_or(|names| names.contains(name));
    let chosen = NAMES
        .iter()
        .filter(|(name, _)| is_of(name) && is_chosen(name));
    for (round, (name, lines)) in chosen.enumerate() {
        one(&mut running, round, name, &lines());
        for (process, before) in all.iter().zip(&before) {
            let now = resident_bytes(process);
            assert!(
                now > 0 && now < before + GROWTH_MAX,
                "{name}: {process:?} has {now} bytes"
            );
        }
        println!("{name}");
    }
    running.tell("stop");
    let ended = running.end();
    assert_eq!(ended.code(), 0);
    ended.assert_printed(|rank| format!("rank {rank}: done\n"));
    ended.assert_nothing_left();
}

/// Tells the rank what to do.
fn poke(running: &Running, round: usize, lines: &str) {
    let logs = running.logs();
    // Whole at once: the rank looks for it all the time.
    std::fs::write(logs.join("next"), lines).expect("written");
    std::fs::rename(logs.join("next"), logs.join(format!("pokes.{round}"))).expect("there");
}

fn one(running: &mut Running, round: usize, name: &str, lines: &str) {
    poke(running, round, lines);
    let poked = format!("1.poked.{round}");
    running.until(&poked, |job| job.logs().join(&poked).exists().then_some(()));

    let begun = Instant::now();
    for words in [
        &["stacks"][..],
        &["hang"],
        &["buffers"],
        &["functions"],
        &["status"],
    ] {
        let output = running.client().run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {words:?}: {stderr}");
    }
    // Rank 0 computes: a stop reaches it, whatever rank 1 says of itself.
    let paused = running.client().json(&["pause", "--lease", "30s"]);
    assert!(number(&paused, "/done") >= 1, "{name}: {paused}");
    running.client().run(&["resume"]);
    let took = begun.elapsed();
    assert!(took < ANSWERED_WITHIN, "{name}: answers took {took:?}");
    running.tell(&format!("unpoke.{round}"));
}
