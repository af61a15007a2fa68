//! Real processes that spend known shares of their time in known functions.

mod profiles;
mod program;
mod single;

use super::*;
use crate::apart::once;
use invivo_proto::control::profile::Sampled;
use invivo_proto::control::stacks::Frame;
use invivo_proto::ids::Rank;
use profiles::{answer, is_share, is_told, name, profile, time};
use program::Program;
use rustix::process::Signal;

fn of_rank(rank: Rank, pid: Pid) -> OfRank {
    let page = None;
    OfRank { rank, pid, page }
}

fn sampled(program: &Program, frequency: u32) -> Sampler {
    Sampler::start(
        of_rank(Rank(3), program.pid()),
        Sampling::perf(frequency),
        0,
        || (),
    )
    .expect("perf events")
}

#[test]
fn shares_and_callers_of_functions_are_seen() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    let spent = program.run("both 1.2");
    let (seen, nodes) = profile(&mut sampler);
    let (heavy, light) = (["main", "both", "heavy"], ["main", "both", "light"]);
    let (heavy, light) = (time(&nodes, &heavy), time(&nodes, &light));
    assert!(
        is_share(heavy, heavy + light, 0.75, 0.04),
        "{heavy} {light}"
    );
    // Whatever path they are at the end of.
    assert!(heavy + light >= seen.cpu_ns * 9 / 10, "{seen:?} {nodes:#?}");
    assert!(time(&nodes, &["lost"]) <= seen.cpu_ns / 50, "{nodes:#?}");

    let told = seen.cpu_ns + seen.lost * 1_000_000;
    assert!(is_told(told, spent), "{seen:?} {spent}");
    assert_eq!(seen.cpu_ns, seen.samples * 1_000_000);
    assert_eq!(seen.frequency, (1000, 1000));
    assert!(seen.elapsed_ns >= spent && seen.sampler_cpu_ns > 0);
    let cost = |seen: &Sampled| seen.sampler_cpu_ns / seen.samples;
    println!("{} ns for a sample, {told} ns of {spent}", cost(&seen));

    let roots = nodes.iter().filter(|node| node.depth == 0);
    assert_eq!(roots.map(|node| node.ns).sum::<u64>(), seen.cpu_ns);
    assert!(nodes.iter().all(|node| node.most == (Rank(3), node.ns)));
    let inner = nodes
        .iter()
        .find(|node| name(node) == "heavy")
        .expect("seen");
    let is_line = |line: &String| line.starts_with("spinner.c:");
    assert!(
        !inner.lines.is_empty() && inner.lines.keys().all(is_line),
        "{inner:?}"
    );
    // Its clock is the kernel's.
    let kernel = time(&nodes, &["[kernel]"]);
    assert_eq!(seen.without_kernel == 0, kernel > 0, "{nodes:#?}");
}

#[test]
fn a_thread_that_begins_later_is_seen() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    let spent = program.run("thread");
    let (seen, nodes) = profile(&mut sampler);
    let beside = time(&nodes, &["beside", "heavy"]);
    // What was lost while the sampler had no processor may have been of it.
    let lost = seen.lost * 1_000_000;
    assert!(
        beside + lost >= spent / 3 && beside <= spent * 14 / 10,
        "{seen:?} {spent}"
    );

    // Its event, which stays hung up, is not waited for.
    std::thread::sleep(Duration::from_secs(1));
    let (later, _) = profile(&mut sampler);
    let busy = later.sampler_cpu_ns - seen.sampler_cpu_ns;
    assert!(busy < 100_000_000, "it waits: {busy}");
}

#[test]
fn of_a_crowd_of_threads_the_oldest_are_seen() {
    let mut program = Program::new();
    program.run("crowd");
    let mut sampler = sampled(&program, 1000);
    let spent = program.run("both 0.5");
    let (seen, nodes) = profile(&mut sampler);
    let both = time(&nodes, &["main", "both"]);
    let lost = seen.lost * 1_000_000;
    assert!(is_told(both + lost, spent), "{seen:?} {spent}");
}

#[test]
fn a_path_deeper_than_the_copied_stack_has_lost_callers() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("deep");
    let (seen, nodes) = profile(&mut sampler);
    let lost = nodes.iter().find(|node| node.frame == Frame::Lost);
    let lost = lost.expect("a path without its callers");
    assert!(lost.depth == 0 && lost.ns >= seen.cpu_ns / 2, "{seen:?}");
    let inner = time(&nodes, &["deep", "deep", "heavy"]);
    assert!(inner >= seen.cpu_ns * 8 / 10, "{seen:?} {nodes:#?}");
    assert!(time(&nodes, &["lost", "deep", "deep"]) >= inner * 9 / 10);
}

#[test]
fn a_process_of_another_user_is_forbidden() {
    let told = once(Duration::from_secs(30), &[], || {
        if rustix::process::geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_uid(nobody).expect("root may");
        }
        match Sampler::start(of_rank(Rank(0), Pid::INIT), Sampling::perf(100), 0, || ()) {
            Err(NoSamples::Forbidden { paranoid }) => vec![paranoid as u8],
            _ => Vec::new(),
        }
    });
    assert_eq!(told, Some(vec![paranoid() as u8]));
}

#[test]
fn a_file_that_is_mapped_later_has_names() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    // The files are read now.
    program.run("both 0.1");
    program.run("plugin");
    let (seen, nodes) = profile(&mut sampler);
    let plugin = time(&nodes, &["main", "plugin_work"]);
    assert!(plugin >= seen.cpu_ns / 2, "{seen:?} {nodes:#?}");
}

#[test]
fn a_process_that_sleeps_gives_few_samples() {
    let program = Program::new();
    let mut sampler = sampled(&program, 1000);
    std::thread::sleep(Duration::from_millis(500));
    let (seen, _) = profile(&mut sampler);
    assert!(seen.samples <= 5, "{seen:?}");
    assert!(seen.elapsed_ns >= 500_000_000);
}

#[test]
fn a_frequency_can_be_changed_and_switched_off() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    let often = program.run("both 0.4");
    assert_eq!(sampler.switch(Sampling::perf(100), 0), Ok(()));
    let seldom = program.run("both 0.8");
    assert_eq!(sampler.switch(Sampling::perf(0), 0), Ok(()));
    let (before, _) = profile(&mut sampler);
    program.run("both 0.2");
    let (seen, _) = profile(&mut sampler);
    assert_eq!(seen.samples, before.samples);
    assert_eq!(seen.elapsed_ns, before.elapsed_ns, "only while it was on");
    assert!(is_told(seen.cpu_ns, often + seldom), "{seen:?}");
    let expected = (often / 1_000_000 + seldom / 10_000_000) as f64;
    assert!(
        (0.6..=1.4).contains(&((seen.samples + seen.lost) as f64 / expected)),
        "{seen:?}"
    );
    // A clock of another process that runs may lag by a tick.
    let took = sampler.cpu_time() + Duration::from_millis(20);
    assert!(took.as_nanos() as u64 >= seen.sampler_cpu_ns, "{seen:?}");
    assert!(sampler.cpu_time() > Duration::ZERO);
    assert_eq!(sampler.switch(Sampling::perf(500), 0), Ok(()));
    program.run("both 0.2");
    let (again, _) = profile(&mut sampler);
    let taken = |seen: &Sampled| seen.samples + seen.lost;
    assert!(taken(&again) >= taken(&seen) + 30 && again.frequency == (500, 500));
}

/// What the samples so far took from the rank.
fn told(sampler: &mut Sampler) -> (Duration, Sampled) {
    let until = Instant::now() + Duration::from_secs(20);
    while sampler.in_rank().is_none() {
        assert!(Instant::now() < until, "it has not tried what one costs");
        std::thread::sleep(Duration::from_millis(10));
    }
    // Before it answers it has told what it answers of.
    let (seen, _) = profile(sampler);
    (sampler.in_rank().expect("it is not written now"), seen)
}

/// By the same cost for each, whatever happens to the frequency and to the rank.
#[test]
fn what_samples_take_from_a_rank_only_grows() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    let mut all = Vec::new();
    for frequency in [1000, 2000, 0, 500] {
        assert_eq!(sampler.switch(Sampling::perf(frequency), 0), Ok(()));
        program.run("both 0.2");
        all.push(told(&mut sampler));
    }
    program.leave();
    std::thread::sleep(Duration::from_millis(300));
    all.push(told(&mut sampler));

    let of_one = |(time, seen): &(Duration, Sampled)| {
        time.as_nanos() as u64 / (seen.samples + seen.lost).max(1)
    };
    let cost = of_one(&all[0]);
    println!("{cost} ns of a rank for a sample");
    assert!((500..=1_000_000).contains(&cost), "{cost}");
    for two in all.windows(2) {
        assert!(two[0].0 <= two[1].0, "{all:?}");
        assert!(of_one(&two[1]).abs_diff(cost) <= cost / 10, "{all:?}");
    }
    let while_off = all[2].0 - all[1].0;
    assert!(while_off <= Duration::from_nanos(10 * cost), "{all:?}");
}

#[test]
fn a_process_that_has_ended_is_still_told() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("both 0.4");
    program.leave();
    // It is noticed at the next look.
    std::thread::sleep(Duration::from_millis(300));
    let (before, _) = profile(&mut sampler);
    std::thread::sleep(Duration::from_secs(1));
    let (seen, nodes) = profile(&mut sampler);
    assert!(
        time(&nodes, &["main", "both", "heavy"]) >= seen.cpu_ns / 2,
        "{nodes:#?}"
    );
    assert_eq!(seen.elapsed_ns, before.elapsed_ns);
    let busy = seen.sampler_cpu_ns - before.sampler_cpu_ns;
    assert!(busy < 100_000_000, "it waits: {busy}");
    assert_eq!(
        sampler.switch(Sampling::perf(100), 0),
        Err(NoSamples::Ended)
    );
    let gone = Sampler::start(
        of_rank(Rank(0), program.pid()),
        Sampling::perf(100),
        0,
        || (),
    );
    assert_eq!(gone.err(), Some(NoSamples::Ended));
}

#[test]
fn a_sampler_that_dies_or_hangs_holds_nobody_back() {
    let program = Program::new();
    for (signal, has_ended) in [(Signal::KILL, true), (Signal::STOP, false)] {
        let mut sampler = sampled(&program, 100);
        let pid = sampler.child.pid();
        rustix::process::kill_process(pid, signal).expect("ours");
        // Signals take effect at some time.
        std::thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        let expected = if has_ended {
            NoSamples::Broken
        } else {
            NoSamples::Silent
        };
        assert_eq!(sampler.switch(Sampling::perf(200), 0), Err(expected));
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(sampler.ask(1), !has_ended);
        let expected = if has_ended {
            Received::Ended
        } else {
            Received::Nothing
        };
        assert_eq!(sampler.receive(), expected);
        drop(sampler);
        assert!(
            rustix::process::test_kill_process(pid).is_err(),
            "waited for"
        );
    }
}

#[test]
fn a_supervisor_that_reads_late_gets_the_last_answer() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 2000);
    program.run("both 0.2");
    let mut last = 0;
    for number in 1..300 {
        if sampler.ask(number) {
            last = number;
        }
    }
    program.run("both 0.2");
    let (seen, nodes) = answer(&mut sampler, last);
    assert!(seen.samples > 0 && !nodes.is_empty());
    program.run("both 0.2");
    let (later, _) = profile(&mut sampler);
    assert!(later.samples > seen.samples, "it goes on");
}
