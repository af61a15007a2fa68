//! Samples by timers in the ranks, where perf events are forbidden: shares and threads are seen,
//! and what the program does with the signal of the timers stays its own affair.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Ended, Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, marked_line, program, shares};
use rustix::time::{ClockId, clock_getres};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const RANKS: u32 = 2;

/// In a system that forbids perf events, as Docker does by default: with a filter of system calls
/// under which every process of the job lives.
const WITHOUT_PERF: &str = r#"exec python3 -c '
import ctypes, errno, os, struct, sys
perf_event_open, x86_64 = 298, 0xC000003E
def op(code, yes, no, value): return struct.pack("HBBI", code, yes, no, value)
program = (op(0x20, 0, 0, 4) + op(0x15, 0, 3, x86_64) + op(0x20, 0, 0, 0)
    + op(0x15, 0, 1, perf_event_open) + op(0x06, 0, 0, 0x50000 | errno.EPERM)
    + op(0x06, 0, 0, 0x7fff0000))
held = ctypes.create_string_buffer(program, len(program))
head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, head, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])' "$@""#;

/// The most samples a second: timers fire with the tick of the kernel.
fn most() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse).tv_nsec;
    u32::try_from(1_000_000_000 / tick).expect("a tick")
}

/// A profile of all ranks with so many samples.
fn sampled(job: &mut Running, enough: u64) -> Value {
    job.until("enough samples", |job| {
        let profile = job.client().try_json(&["profile"])?;
        let is_whole = number(&profile, "/sampled_ranks") == u64::from(RANKS)
            && profile["samples_unnamed"] == 0;
        (is_whole && number(&profile, "/samples") > enough).then_some(profile)
    })
}

/// A share of all time, in points; nothing where the function was not seen.
fn points(profile: &Value, function: &str) -> f64 {
    let all = profile["functions"].as_array().expect("functions");
    let of = all.iter().find(|of| of["function"] == function);
    let ns = of.map_or(0, |of| number(of, "/ns"));
    100.0 * ns as f64 / number(profile, "/cpu_ns") as f64
}

/// A rank's own shares, in points.
fn own(logs: &Path) -> Vec<(String, f64)> {
    let mut all = std::collections::BTreeMap::<String, f64>::new();
    for rank in 0..RANKS {
        let text = std::fs::read_to_string(logs.join(format!("{rank}.shares"))).expect("shares");
        for line in text.lines() {
            let (name, ns) = line.split_once(' ').expect("a name and a number");
            *all.entry(name.to_owned()).or_default() += ns.parse::<f64>().expect("ns");
        }
    }
    let whole = all["all"];
    let parts = ["heavy", "middle", "light", "MPI_Allreduce"];
    let part = |name: &str| (name.to_owned(), 100.0 * all[name] / whole);
    parts.map(part).into()
}

/// Where perf events are forbidden, it is said what helps, and that helps.
fn shares_without_perf(family: Family) {
    let (_, command) = shares(family).swap_remove(0);
    let job = Job::run_by_invivo(family, RANKS, &command);
    let mut job = job.behind(WITHOUT_PERF).start();
    job.wait_for_answers();
    let refused = job.client().run(&["sampling", "on"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("invivo sampling timer"), "{family:?}: {said}");

    // At the tick itself samples are lost wherever others have the processor.
    let often = (most() * 2 / 5).min(200);
    let done = job.client().json(&["sampling", &format!("timer:{often}")]);
    assert_eq!(number(&done, "/done"), u64::from(RANKS), "{done}");
    let profile = sampled(&mut job, 1600);
    assert_eq!(number(&profile, "/ranks_by_timer"), u64::from(RANKS));
    assert_eq!(
        number(&profile, "/frequency_max"),
        u64::from(often),
        "{profile}"
    );
    let [taken, lost] = ["samples", "samples_lost"].map(|of| number(&profile, &format!("/{of}")));
    assert!(lost * 4 <= taken, "{lost} lost beside {taken}");

    // Each with its time, in the buffers, too.
    let kept = job.client().json(&["profile", "--since", "2s"]);
    assert!(
        number(&kept, "/cpu_ns") > 1_500_000_000,
        "{family:?}: {kept}"
    );
    let status = job.client().json(&["status"]);
    let measuring = &status["status"]["measuring"];
    assert_eq!(measuring["sampling_by_timer"], true, "{status}");

    let text = job.client().run(&["profile", "--tree"]);
    let tree = String::from_utf8_lossy(&text.stdout).into_owned();
    let heavy = format!("heavy ({}", marked_line("shares", Language::C, "heavy"));
    assert!(tree.contains(&heavy), "{tree}");
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    for (part, measured) in own(&ended.logs()) {
        let seen = points(&profile, &part);
        println!("{family:?} {part}: {seen:.2} %, itself {measured:.2} %");
        // Nobody knows where lost ones would have been; none is lost where nobody takes the
        // processor away.
        let within = 6.0 + 100.0 * lost as f64 / (taken + lost) as f64;
        assert!(
            (seen - measured).abs() < within,
            "{family:?}: {part}: {seen:.2} % of the samples, {measured:.2} % by its own clock"
        );
    }
}

#[test]
fn shares_are_seen_where_perf_is_forbidden_on_open_mpi() {
    shares_without_perf(Family::Ompi);
}

#[test]
fn shares_are_seen_where_perf_is_forbidden_on_mpich() {
    shares_without_perf(Family::Mpich);
}

/// What each rank has printed: signals that it has handled, sleeps that were disturbed, all sleeps.
fn printed(ended: &Ended) -> Vec<[u32; 3]> {
    let text = ended.stdout().concat();
    let numbers = |line: &str| {
        let words = line.split([' ', ':']).filter_map(|word| word.parse().ok());
        let words: Vec<u32> = words.collect();
        // Behind the number of the rank.
        <[u32; 3]>::try_from(words.get(1..)?).ok()
    };
    text.lines().filter_map(numbers).collect()
}

fn urgent(family: Family, arguments: &[&str]) -> Vec<OsString> {
    let mut command = program(family, "urgent", []);
    command.extend(arguments.iter().map(OsString::from));
    command
}

/// From the start, threads that never call MPI, and a switch to and fro between both ways.
#[test]
fn timers_see_all_threads_and_can_be_switched() {
    for family in Family::ALL {
        let job = Job::run_by_invivo(family, RANKS, &urgent(family, &[]));
        let mut job = job.options(["--sampling=timer"]).start();
        job.wait_for_answers();
        let profile = sampled(&mut job, 400);
        assert_eq!(number(&profile, "/frequency_max"), 99, "{profile}");
        let (between, beside) = (points(&profile, "between"), points(&profile, "beside"));
        assert!(
            between > 5.0 && beside > 5.0,
            "{family:?}: {between:.1} % between calls, {beside:.1} % beside them: {profile}"
        );

        // By perf, which adds to it; by a timer again; off.
        job.client().json(&["sampling", "on"]);
        let by_perf = job.client().json(&["profile"]);
        assert_eq!(number(&by_perf, "/ranks_by_timer"), 0, "{by_perf}");
        assert_eq!(number(&by_perf, "/frequency_max"), 251, "{by_perf}");
        job.client().json(&["sampling", "timer:50"]);
        let before = job.client().json(&["profile"]);
        let more = job.until("more samples", |job| {
            let now = job.client().try_json(&["profile"])?;
            let before = number(&before, "/samples");
            (number(&now, "/samples") > before + 50).then_some(now)
        });
        assert_eq!(number(&more, "/frequency_max"), 50, "{more}");
        job.client().json(&["sampling", "off"]);
        let off = number(&job.client().json(&["profile"]), "/samples");
        std::thread::sleep(Duration::from_secs(1));
        let still = number(&job.client().json(&["profile"]), "/samples");
        assert_eq!(still, off, "{family:?}");

        // More than the kernel's tick allows is refused, with the most.
        let refused = job
            .client()
            .run(&["sampling", &format!("timer:{}", most() + 1)]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            said.contains(&format!("{} times a second", most())),
            "{said}"
        );
        job.client().json(&["sampling", "timer"]);
        job.tell("stop");
        let ended = job.end();
        assert_eq!(ended.code(), 0, "{family:?}");
        let printed = printed(&ended);
        assert_eq!(printed.len(), RANKS as usize, "{:?}", ended.stdout());
        for [handled, disturbed, sleeps] in printed {
            println!("{family:?}: {disturbed} of {sleeps} sleeps disturbed");
            assert_eq!(handled, 0);
            // A thread that is on its way to sleep may be met: seldom.
            assert!(disturbed * 50 <= sleeps, "{disturbed} of {sleeps}");
        }
    }
}

/// A program that handles the signal itself is not sampled so, and has all its signals.
#[test]
fn a_programs_own_urgent_signals_stay_its_own() {
    for family in Family::ALL {
        let mut job = Job::run_by_invivo(family, RANKS, &urgent(family, &["handles"])).start();
        job.wait_for_answers();
        let refused = job.until("a refusal", |job| {
            let refused = job.client().run(&["sampling", "timer"]);
            (!refused.status.success()).then_some(refused)
        });
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("SIGURG"), "{family:?}: {said}");
        let none = job.client().run(&["profile"]);
        let said = String::from_utf8_lossy(&none.stderr).into_owned();
        assert!(said.contains("SIGURG"), "{family:?}: {said}");
        job.tell("stop");
        let ended = job.end();
        assert_eq!(ended.code(), 0);
        let printed = printed(&ended);
        assert_eq!(printed.len(), RANKS as usize, "{:?}", ended.stdout());
        for [handled, ..] in printed {
            assert_eq!(handled, 10, "{family:?}");
        }
    }
}

/// One that begins to handle it later gets its timers deleted.
#[test]
fn a_program_that_takes_the_signal_over_is_left_alone() {
    let family = Family::Ompi;
    let job = Job::run_by_invivo(family, RANKS, &urgent(family, &["later"]));
    let mut job = job.options(["--sampling=timer"]).start();
    job.wait_for_answers();
    let before = sampled(&mut job, 100);
    assert_eq!(number(&before, "/frequency_max"), 99, "{before}");
    job.tell("handle");
    let after = job.until("no timers any more", |job| {
        let profile = job.client().try_json(&["profile"])?;
        let is_whole = number(&profile, "/sampled_ranks") == u64::from(RANKS);
        (is_whole && number(&profile, "/frequency_max") == 0).then_some(profile)
    });
    assert!(number(&after, "/samples") >= number(&before, "/samples"));
    assert_eq!(number(&after, "/ranks_untimed"), u64::from(RANKS));
    let text = job.client().run(&["profile"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("handles SIGURG itself"), "{text}");
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    let printed = printed(&ended);
    assert_eq!(printed.len(), RANKS as usize, "{:?}", ended.stdout());
    for [handled, ..] in printed {
        println!("{handled} handled");
        assert!(
            handled >= 10,
            "{handled} of ten, and of timers until they were deleted"
        );
    }
}

/// Timers that a process has, as the kernel lists them.
fn timers(pid: i32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{pid}/timers")).expect("a list of timers");
    text.lines().filter(|line| line.starts_with("ID:")).count()
}

/// Who switches sampling off deletes them; and a rank whose tools have died does by itself.
#[test]
fn timers_end_with_those_who_want_them() {
    let family = Family::Mpich;
    let job = Job::run_by_invivo(family, RANKS, &urgent(family, &[]));
    let mut job = job.options(["--sampling=timer"]).start();
    job.wait_for_answers();
    let all = |job: &Running| -> usize {
        let ranks = job.named("urgent");
        ranks.iter().map(|rank| timers(rank.pid)).sum()
    };
    // The computing threads of both ranks at least, and their sleeping ones.
    job.until("timers", |job| (all(job) >= 6).then_some(()));
    job.client().json(&["sampling", "off"]);
    job.until("no timers", |job| (all(job) == 0).then_some(()));
    job.client().json(&["sampling", "timer"]);
    job.until("timers again", |job| (all(job) >= 6).then_some(()));
    for sampler in job.named("invivo-sampler") {
        let pid = rustix::process::Pid::from_raw(sampler.pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    }
    job.until("no timers any more", |job| (all(job) == 0).then_some(()));
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    assert_eq!(printed(&ended).len(), RANKS as usize);
}
