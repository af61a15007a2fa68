//! Page faults and context switches of a stretch are what `perf stat` counts over the same stretch.
//!
//! The kernel counts both twice: for the process (`/proc`, which Invivo reads) and for its perf
//! events. Ranks stand still before and behind a stretch, so it does not matter when exactly who
//! begins and ends.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::perf_stat::{self, Counts, PerfStat};
use invivo_e2e::processes::Process;
use invivo_e2e::programs::stretches;
use invivo_e2e::remarks::remark;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const RANKS: u32 = 2;
const KINDS: [&str; 5] = ["faults", "sleeps", "computing", "everything", "unwritten"];
const METRICS: &str = "page-faults,context-switches,involuntary-switches@20ms";
/// Longer than some readings, and than a column: an interval is widened to whole ones.
const STANDING: Duration = Duration::from_millis(300);

/// Faults by which perf may differ, of each rank and stretch; mostly there is no difference. perf
/// counts what an instruction meets: where a signal comes between, it meets it again, and `/proc`
/// has one. What the kernel meets on its own behalf is in `/proc` alone.
const FAULTS_APART: u64 = 3;
/// The same of pages of a message that nobody has written: MPI may let the kernel fetch them from
/// the sender's memory.
const UNWRITTEN: u64 = 256;

/// What the system has counted of a rank so far, read anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OfSystem {
    faults: u64,
    switches: u64,
    involuntary: u64,
}

fn of_system(pid: i32) -> Option<OfSystem> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // Fields 10 and 12 of the line; the state behind the name is field 3.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let mut sums = OfSystem {
        faults: fields[7].parse::<u64>().ok()? + fields[9].parse::<u64>().ok()?,
        ..OfSystem::default()
    };
    for thread in std::fs::read_dir(folder.join("task")).ok()? {
        let status = std::fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        let of = |label: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(label))?;
            line.trim().parse().ok()
        };
        let involuntary = of("nonvoluntary_ctxt_switches:")?;
        sums.switches += of("voluntary_ctxt_switches:")? + involuntary;
        sums.involuntary += involuntary;
    }
    Some(sums)
}

/// Waits until no thread of these comes to a processor any more.
fn stand_still(job: &mut Running, ranks: &[Process]) -> Vec<OfSystem> {
    let now =
        || -> Option<Vec<OfSystem>> { ranks.iter().map(|rank| of_system(rank.pid)).collect() };
    job.until("ranks that stand still", |_| {
        let before = now()?;
        std::thread::sleep(STANDING);
        now().filter(|after| before == *after)
    })
}

/// Job time, as intervals are given.
fn observed_ns(job: &Running) -> u64 {
    number(&job.client().json(&["status"]), "/status/observed_ns")
}

/// What was measured of each rank from then to then.
fn measured(job: &Running, metric: &str, from_ns: u64, to_ns: u64) -> Vec<u64> {
    let interval = format!("{from_ns}ns..{to_ns}ns");
    let answer = job.client().json(&["metrics", "--interval", &interval]);
    let values = answer["values"].as_array().expect("values");
    let mut values = values.iter();
    let of = values.find(|one| one["name"] == metric);
    let of = of.unwrap_or_else(|| panic!("no {metric} in {answer}"));
    // Of two ranks one has the least and the other the most.
    let mut each = vec![number(of, "/min"); RANKS as usize];
    each[number(of, "/max_rank") as usize] = number(of, "/max");
    assert_eq!(number(of, "/sum"), each.iter().sum::<u64>(), "{of}");
    each
}

/// One stretch; says what was counted of each rank.
fn stretch(job: &mut Running, ranks: &[Process], number_of: usize) -> Vec<Counts> {
    job.wait_for_notes(&format!("ready-{number_of}"));
    let before = stand_still(job, ranks);
    let from_ns = observed_ns(job);
    std::thread::sleep(STANDING);
    let name = |rank: &Process| format!("perf-{number_of}-{}", rank.pid);
    let begin = |rank: &Process| PerfStat::begin(rank.pid, &job.directory().join(name(rank)));
    let perfs: Vec<PerfStat> = ranks.iter().map(begin).collect();
    go_on(job);
    job.wait_for_notes(&format!("ready-{}", number_of + 1));
    let after = stand_still(job, ranks);
    let counts: Vec<Counts> = perfs.into_iter().map(PerfStat::end).collect();
    let to_ns = observed_ns(job);
    let readings = |job: &Running| number(&job.client().json(&["metrics"]), "/readings");
    let so_far = readings(job);
    job.until("more readings", |job| {
        (readings(job) > so_far + 30 * u64::from(RANKS)).then_some(())
    });

    let faults = measured(job, "page-faults", from_ns, to_ns);
    let all = measured(job, "context-switches", from_ns, to_ns);
    let involuntary = measured(job, "involuntary-switches", from_ns, to_ns);
    let kind = KINDS[number_of];
    println!("{kind}: {faults:?} faults, {all:?} switches, {involuntary:?} of them involuntary");
    println!("{kind}: {counts:?}");
    for rank in 0..RANKS as usize {
        let (counted, begun, ended) = (counts[rank], before[rank], after[rank]);
        let told = OfSystem {
            faults: faults[rank],
            switches: all[rank],
            involuntary: involuntary[rank],
        };
        let expected = OfSystem {
            faults: ended.faults - begun.faults,
            switches: ended.switches - begun.switches,
            involuntary: ended.involuntary - begun.involuntary,
        };
        assert_eq!(told, expected, "{kind}: rank {rank}");
        assert_eq!(
            told.switches, counted.context_switches,
            "{kind}: rank {rank}"
        );
        let by_kernel = if kind == "unwritten" { UNWRITTEN } else { 0 };
        let least = counted.page_faults.saturating_sub(FAULTS_APART);
        let most = counted.page_faults + by_kernel + FAULTS_APART;
        assert!(
            (least..=most).contains(&told.faults),
            "{kind}: rank {rank}: {told:?}, {counted:?}"
        );
    }
    counts
}

/// Lets every rank go on.
fn go_on(job: &Running) {
    for rank in 0..RANKS {
        let gate = job.logs().join(format!("{rank}.gate"));
        let gate = OpenOptions::new().write(true).open(gate);
        gate.and_then(|mut gate| gate.write_all(b"x"))
            .expect("a gate");
    }
}

fn counts_are_those_of_perf(family: Family) {
    if !perf_stat::is_possible() {
        return;
    }
    let command = stretches(family, &KINDS);
    let job = Job::observed(family, RANKS, &command);
    let mut job = job.options(["--metrics", METRICS]).start();
    job.wait_for_answers();
    job.wait_for_notes("ready-0");
    let member = |rank| job.member(job.program_name(), rank);
    let ranks: Vec<Process> = (0..RANKS).map(member).collect();
    let mut all = Vec::new();
    for number_of in 0..KINDS.len() {
        all.push(stretch(&mut job, &ranks, number_of));
    }
    // Something was there to be counted, and more of it on rank 1.
    let [faults, sleeps, _, everything, _] = &all[..] else {
        panic!("{all:?}");
    };
    for (rank, times) in [(0, 1), (1, 2)] {
        assert!(faults[rank].page_faults >= 6_000 * times, "{faults:?}");
        assert!(sleeps[rank].context_switches >= 200 * times, "{sleeps:?}");
        assert!(
            everything[rank].page_faults >= 6_000 * times,
            "{everything:?}"
        );
        assert!(everything[rank].context_switches >= 100, "{everything:?}");
    }
    let counted = || all.iter().flatten();
    remark(&format!(
        "{family:?}: perf has counted {} faults and {} switches",
        counted().map(|of| of.page_faults).sum::<u64>(),
        counted().map(|of| of.context_switches).sum::<u64>()
    ));
    go_on(&job);
    let ended = job.end();
    assert_eq!(ended.code(), 0, "{family:?}");
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn faults_and_switches_are_those_of_perf_on_open_mpi() {
    counts_are_those_of_perf(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn faults_and_switches_are_those_of_perf_on_mpich() {
    counts_are_those_of_perf(Family::Mpich);
}
