//! Samples tell where ranks spend their time: by function, below their callers, as the program
//! itself has measured it; and taking them disturbs nobody.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, marked_line, plain_name as name, program, shares};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

const RANKS: u32 = 4;
/// Ranks of which shares are compared: as many as there are processors. Where more wait for each
/// other they give theirs away again and again, and what the kernel needs for that is in no sample.
const COMPARED: u32 = 2;
/// Time on a processor that is sampled before anything is looked at: shares are known to a point
/// then.
const ENOUGH_NS: u64 = 6_000_000_000;

/// Time in each function with its callees, in ns.
fn by_function(profile: &Value) -> BTreeMap<String, u64> {
    let functions = profile["functions"].as_array().expect("functions").iter();
    functions
        .map(|of| {
            let function = of["function"].as_str().expect("a name");
            (name(function).to_owned(), number(of, "/ns"))
        })
        .collect()
}

/// What the ranks have written down, summed.
fn written(logs: &Path, ranks: u32) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for rank in 0..ranks {
        let file = logs.join(format!("{rank}.shares"));
        let text = std::fs::read_to_string(file).expect("a rank's own shares");
        for line in text.lines() {
            let (name, ns) = line.split_once(' ').expect("a name and a number");
            *all.entry(name.to_owned()).or_default() += ns.parse::<u64>().expect("ns");
        }
    }
    all
}

/// Samples until there is enough.
fn sampled(job: &mut Running) -> Value {
    job.until("enough samples", |job| {
        let profile = job.client().try_json(&["profile"])?;
        let is_enough = number(&profile, "/cpu_ns") > ENOUGH_NS;
        (is_enough && profile["samples_unnamed"] == 0).then_some(profile)
    })
}

fn points(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// Shares of known functions, with their lines, whichever the language.
fn shares_are_known(family: Family, language: &str, command: &[OsString]) {
    let mut job = Job::observed(family, COMPARED, command).start();
    job.wait_for_answers();
    let refused = job.client().run(&["profile"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("invivo sampling on"), "{family:?}: {text}");
    // No multiple of the kernel's own clock.
    let done = job.client().json(&["sampling", "997"]);
    assert_eq!(number(&done, "/done"), u64::from(COMPARED), "{done}");
    let profile = sampled(&mut job);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);

    let told = by_function(&profile);
    let (whole, own) = (
        number(&profile, "/cpu_ns"),
        written(&ended.logs(), COMPARED),
    );
    for part in ["heavy", "middle", "light", "MPI_Allreduce"] {
        let Some(measured) = own.get(part) else {
            continue;
        };
        let sampled = points(told.get(part).copied().unwrap_or(0), whole);
        let measured = points(*measured, own["all"]);
        println!("{family:?} {language}: {part}: {sampled:.2} %, itself {measured:.2} %");
        assert!(
            (sampled - measured).abs() < 2.0,
            "{family:?} {language}: {part}: {sampled:.2} % of the samples, {measured:.2} % of its \
             own time: {told:?}"
        );
    }
    // Its callers are told apart, with the lines from which they call.
    let (language, extension) = match language {
        "Fortran" => (Language::Fortran, "f90"),
        _ => (Language::C, "c"),
    };
    let nodes = profile["nodes"].as_array().expect("nodes");
    for part in ["heavy", "middle", "light"] {
        let at = nodes
            .iter()
            .position(|node| name(node["function"].as_str().unwrap_or("")) == part);
        let at = at.unwrap_or_else(|| panic!("no {part}: {profile}"));
        let node = &nodes[at];
        // A sample or two may be in the kernel of the system, which interrupts it.
        let depth = number(node, "/depth");
        let below = nodes[at + 1..].iter();
        let below = below.take_while(|below| number(below, "/depth") > depth);
        let below = below.max_by_key(|below| number(below, "/ns"));
        let below = below.unwrap_or_else(|| panic!("nothing below {part}: {profile}"));
        let line = node["lines"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(
            line,
            marked_line("shares", language, part),
            "{family:?} {extension}"
        );
        assert_eq!(
            name(below["function"].as_str().unwrap_or("")),
            "kernel",
            "{below}"
        );
        assert_eq!(number(below, "/depth"), depth + 1);
    }
    assert_eq!(number(&profile, "/sampled_ranks"), u64::from(COMPARED));
}

#[test]
fn shares_are_those_of_the_program_on_open_mpi() {
    for (language, command) in shares(Family::Ompi) {
        shares_are_known(Family::Ompi, language, &command);
    }
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn shares_are_those_of_the_program_on_mpich() {
    for (language, command) in shares(Family::Mpich) {
        shares_are_known(Family::Mpich, language, &command);
    }
}

/// Time that a process has had on a processor, in ns.
fn cpu_ns(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it runs");
    text.split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .expect("ns")
}

/// Sampling from the start, a look at some seconds, other frequencies, off and on again.
#[test]
fn sampling_is_steered_while_the_job_runs() {
    let (_, command) = shares(Family::Ompi).swap_remove(0);
    let job = Job::run_by_invivo(Family::Ompi, RANKS, &command);
    let mut job = job.options(["--sampling=500"]).start();
    job.wait_for_answers();
    let profile = sampled(&mut job);
    assert_eq!(number(&profile, "/frequency_min"), 500);

    // Of one rank, as long as the kernel's own account of it.
    let ranks: Vec<i32> = job
        .named("shares_c")
        .iter()
        .map(|process| process.pid)
        .collect();
    assert_eq!(ranks.len(), RANKS as usize);
    let all_ns = || ranks.iter().map(|pid| cpu_ns(*pid)).sum::<u64>();
    // An answer is of some time between the question and its arrival.
    let profile = || {
        let asked = all_ns();
        (asked, job.client().json(&["profile"]), all_ns())
    };
    let before = profile();
    std::thread::sleep(Duration::from_secs(2));
    let after = profile();
    let (least, most) = (after.0 - before.2, after.2 - before.0);
    let seen = number(&after.1, "/cpu_ns") - number(&before.1, "/cpu_ns");
    let within = |part: f64, of: u64| (of as f64 * part) as u64;
    assert!(
        (within(0.6, least)..=within(1.4, most)).contains(&seen),
        "{seen} ns seen, {least} to {most} ns had"
    );
    let lost = number(&after.1, "/samples_lost");
    let samples = number(&after.1, "/samples");
    println!("{samples} samples, {lost} lost; {seen} of {least} to {most} ns");
    assert!(lost * 100 <= samples, "{lost} of {samples} lost");

    let one = job
        .client()
        .json(&["profile", "--rank", "2", "--seconds", "1"]);
    assert_eq!(
        (number(&one, "/ranks"), number(&one, "/sampled_ranks")),
        (1, 1)
    );
    let of_one = number(&one, "/cpu_ns");
    assert!((50_000_000..2_000_000_000).contains(&of_one), "{of_one}");

    let folded = job.client().run(&["profile", "--folded"]);
    let folded = String::from_utf8(folded.stdout).expect("text");
    let is_path = |line: &str| line.contains("main;step;heavy;kernel ");
    assert!(folded.lines().any(is_path), "{folded}");
    let tree = job.client().run(&["profile", "--tree"]);
    let tree = String::from_utf8(tree.stdout).expect("text");
    println!("{tree}");
    // A sample may be at another of its lines: behind the one with the most time.
    let heavy = format!("heavy ({}", marked_line("shares", Language::C, "heavy"));
    assert!(tree.contains(&heavy), "{tree}");

    // Off: nothing more comes; on again: it is added to what was there.
    job.client().json(&["sampling", "off"]);
    let off = number(&job.client().json(&["profile"]), "/samples");
    std::thread::sleep(Duration::from_millis(500));
    let still = job.client().json(&["profile"]);
    assert_eq!(number(&still, "/samples"), off);
    let state = job.client().run(&["sampling"]);
    assert!(String::from_utf8_lossy(&state.stdout).contains("switched off"));
    job.client().json(&["sampling", "50"]);
    let again = job.until("samples again", |job| {
        let profile = job.client().try_json(&["profile"])?;
        (number(&profile, "/samples") > off + 100).then_some(profile)
    });
    assert_eq!(number(&again, "/frequency_max"), 50);
    let refused = job.client().run(&["sampling", "10001"]);
    assert!(!refused.status.success());
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

/// A rank of which the sampler is killed runs on, says so, and can be sampled again.
#[test]
fn a_sampler_that_dies_harms_nobody() {
    let (_, command) = shares(Family::Mpich).swap_remove(0);
    let job = Job::run_by_invivo(Family::Mpich, RANKS, &command);
    let mut job = job.options(["--sampling=500"]).start();
    job.wait_for_answers();
    let samplers = job.until("samplers", |job| {
        let all = job.named("invivo-sampler");
        (all.len() == RANKS as usize).then_some(all)
    });
    let pid = rustix::process::Pid::from_raw(samplers[0].pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    let profile = job.until("its absence to be told", |job| {
        let profile = job.client().try_json(&["profile"])?;
        (number(&profile, "/sampled_ranks") == u64::from(RANKS) - 1).then_some(profile)
    });
    assert_eq!(profile["without"][0]["reason"], "broken", "{profile}");
    let done = job.client().json(&["sampling", "on"]);
    assert_eq!(number(&done, "/done"), u64::from(RANKS), "{done}");
    job.until("all to be sampled", |job| {
        let profile = job.client().try_json(&["profile"])?;
        (number(&profile, "/sampled_ranks") == u64::from(RANKS)).then_some(())
    });
    // A pause reaches ranks that are sampled, and a stopped rank has no samples.
    job.client().json(&["pause"]);
    let paused = job.client().json(&["profile"]);
    std::thread::sleep(Duration::from_millis(500));
    let later = job.client().json(&["profile"]);
    let more = number(&later, "/samples") - number(&paused, "/samples");
    // What was in the kernel's rings came a little later.
    // Ranks that are held in MPI go on to look for messages.
    assert!(more < 400, "{more} samples of ranks that stand still");
    job.client().json(&["resume"]);
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

/// Ten thousand looks a second: no call is interrupted, no signal lost.
#[test]
fn sampling_disturbs_no_thread() {
    for family in Family::ALL {
        let command = program(family, "sleeping_threads", []);
        let mut job = Job::observed(family, 1, &command).start();
        job.wait_for_answers();
        let done = job.client().json(&["sampling", "10kHz"]);
        assert_eq!(number(&done, "/done"), 1, "{done}");
        let begun = Instant::now();
        job.until("samples for a while", |job| {
            let profile = job.client().try_json(&["profile"])?;
            let is_long = begun.elapsed() > Duration::from_secs(3);
            (is_long && number(&profile, "/samples") > 100).then_some(())
        });
        job.tell("stop");
        let ended = job.end();
        assert_eq!(ended.code(), 0);
        let text = ended.stdout().concat();
        let calls = text
            .lines()
            .filter(|line| line.ends_with(": 0 interrupted, 0 early, 0 wrong"));
        assert_eq!(calls.count(), 9, "{family:?}: {text}");
        assert!(
            text.contains("rank 0: 2000 signals\n"),
            "{family:?}: {text}"
        );
    }
}
