//! Real processes that do known amounts of what is measured.

mod crowd;
mod program;

use super::*;
use crate::apart::{Apart, once};
use crate::metrics::event::Event;
use crate::perf::paranoid;
use program::{Own, Program};
use rustix::process::{Rlimit, Uid, geteuid, setrlimit};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

fn set(names: &str) -> MetricSet {
    names.parse().expect("a set")
}

fn meter(program: &Program, names: &str) -> Meter {
    Meter::open(program.pid(), set(names)).expect("it can be measured")
}

fn value(meter: &mut Meter, metric: SystemMetric) -> u64 {
    let values = meter.read();
    let found = values.iter().find(|(of, _)| *of == metric);
    found
        .unwrap_or_else(|| panic!("{metric:?} in {values:?}"))
        .1
}

/// All that can be measured here.
fn all(program: &Program) -> MetricSet {
    let not = without(program.pid());
    let can = |metric: &SystemMetric| not.iter().all(|(without, _)| without != metric);
    let can = SystemMetric::ALL.into_iter().filter(can);
    can.map(MetricSet::of)
        .fold(MetricSet::NONE, MetricSet::with)
}

/// What `run` gives in a process of its own.
fn apart(run: impl FnOnce() -> Vec<u8>) -> String {
    let told = once(LONG, &[], run).expect("no fault");
    String::from_utf8_lossy(&told).into_owned()
}

/// Makes of a process of its own that of an ordinary user.
fn become_nobody() {
    if geteuid().is_root() {
        rustix::thread::set_thread_uid(Uid::from_raw(65534)).expect("root may");
    }
}

/// Leaves a process of its own so many descriptors that are not in use.
fn leave_free(free: usize) {
    let is_free = |number: &u64| !std::fs::exists(format!("/proc/self/fd/{number}")).expect("told");
    let next = (0..).filter(is_free).nth(free);
    limit_descriptors(next.expect("numbers do not end"));
}

/// Leaves it descriptors with smaller numbers.
fn limit_descriptors(most: u64) {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(Resource::Nofile, limit).expect("less is allowed");
}

fn descriptors() -> usize {
    // One is the listing's own.
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) - 1
}

/// The kernel lists a thread until a little after whoever waits for its end has gone on.
fn until_one_thread(meter: &mut Meter) {
    let begun = Instant::now();
    while meter.threads.count() != 1 {
        assert!(begun.elapsed() < LONG, "{} threads", meter.threads.count());
        meter.read();
    }
}

#[test]
fn fresh_pages_are_page_faults() {
    let mut program = Program::new();
    let mut meter = meter(&program, "page-faults,major-faults");
    let own = program.run("touch 1");
    let before = value(&mut meter, SystemMetric::PageFaults);
    assert!(before.abs_diff(own.faults) <= 4, "{before} {own:?}");
    let own = program.run("touch 1000");
    let after = value(&mut meter, SystemMetric::PageFaults);
    assert!(
        (1000..=1010).contains(&(after - before)),
        "{before} {after}"
    );
    assert!(after.abs_diff(own.faults) <= 4, "{after} {own:?}");
    let major = value(&mut meter, SystemMetric::MajorFaults);
    assert_eq!(major, own.major_faults);
}

#[test]
fn resident_memory_follows_what_is_touched() {
    let mut program = Program::new();
    let mut meter = meter(&program, "resident-memory");
    let mut resident = || value(&mut meter, SystemMetric::ResidentMemory);
    let before = resident();
    program.run("touch 8192");
    let touched = 8192 * rustix::param::page_size() as u64;
    let grown = resident() - before;
    // Processors may each keep some pages to themselves.
    assert!(
        grown.abs_diff(touched) <= touched / 32,
        "{grown} of {touched}"
    );
    program.run("untouch 8192");
    assert!(resident().abs_diff(before) <= touched / 32);
}

#[test]
fn sleeps_are_context_switches() {
    let mut program = Program::new();
    let mut meter = meter(&program, "context-switches,involuntary-switches");
    let mut switches = || {
        let values = meter.read();
        let [(_, all), (_, involuntary)] = values.try_into().expect("two");
        (all - involuntary, involuntary)
    };
    let (own, before) = (program.run("sleep 1"), switches());
    let (own_later, after) = (program.run("sleep 200"), switches());
    let voluntary = after.0 - before.0;
    // A sleep that is over before the thread has left the processor is no switch.
    assert!(voluntary >= 100, "{voluntary}");
    // At the edges it waits for us.
    assert!(voluntary.abs_diff(own_later.voluntary - own.voluntary) <= 2);
    let involuntary = after.1 - before.1;
    assert!(involuntary.abs_diff(own_later.involuntary - own.involuntary) <= 2);
}

#[test]
fn cpu_time_is_that_of_its_own_clock() {
    let mut program = Program::new();
    let mut meter = meter(&program, "cpu-time");
    for what in ["spin 0.3", "crowd 3", "spin 0.01", "pass 5"] {
        let own = program.run(what).cpu_ns;
        let told = value(&mut meter, SystemMetric::CpuTime);
        // It still had to say it.
        assert!(
            (own..own + 5_000_000).contains(&told),
            "{what}: {told} {own}"
        );
    }
}

#[test]
fn threads_that_share_a_processor_wait_for_it() {
    let mut program = Program::new();
    let mut meter = meter(&program, "run-delay");
    let before = value(&mut meter, SystemMetric::RunDelay);
    program.run("compete 2");
    let delay = value(&mut meter, SystemMetric::RunDelay) - before;
    // Each computes for 0.2 s while the other waits.
    assert!(delay >= 300_000_000, "{delay}");
}

#[test]
fn threads_that_ran_are_active() {
    let mut program = Program::new();
    program.run("compete 2");
    program.run("spin 0.2");
    let mut meter = meter(&program, "active-threads,run-delay");
    std::thread::sleep(Duration::from_millis(50));
    // What they ran before somebody looked is of no time.
    assert_eq!(value(&mut meter, SystemMetric::ActiveThreads), 0);
    let mut active = |program: &mut Program, what: &str| {
        value(&mut meter, SystemMetric::ActiveThreads);
        program.run(what);
        value(&mut meter, SystemMetric::ActiveThreads)
    };
    assert_eq!(active(&mut program, "spin 0.3"), 1);
    assert_eq!(active(&mut program, "compete 2"), 2);
    // What they ran before is no more.
    assert_eq!(active(&mut program, "spin 0.3"), 1);
}

#[test]
fn processors_are_those_of_active_threads() {
    let own = rustix::thread::sched_getaffinity(None)
        .expect("ours")
        .count();
    let mut program = Program::new();
    let mut meter = meter(&program, "processors");
    let mut behind = |program: &mut Program, what: &[&str]| {
        // It looks once a second.
        std::thread::sleep(Duration::from_secs(1));
        for what in what {
            program.run(what);
        }
        value(&mut meter, SystemMetric::Processors)
    };
    let all = u64::from(own);
    assert_eq!(behind(&mut program, &["spin 0.3"]), all);
    // Those that work stand on one of them; the first one waits for them.
    assert_eq!(behind(&mut program, &["compete 2"]), 1);
    // Nobody works.
    assert_eq!(behind(&mut program, &[]), 1);
    assert_eq!(behind(&mut program, &["spin 0.3"]), all);
    // And so it is where it may not run elsewhere.
    assert_eq!(behind(&mut program, &["move 0", "spin 0.3"]), 1);
}

#[test]
fn bytes_are_those_that_the_kernel_told_it() {
    let mut program = Program::new();
    let mut meter = meter(&program, "read-bytes,written-bytes");
    let before = program.run("write 0").written_bytes;
    let own = program.run("write 1000000");
    let told = meter.read();
    let read = (SystemMetric::ReadBytes, own.read_bytes);
    assert_eq!(
        told,
        [read, (SystemMetric::WrittenBytes, own.written_bytes)]
    );
    // File systems in memory have no storage.
    let written = own.written_bytes - before;
    assert!(written == 0 || written >= 1_000_000, "{written}");
}

#[test]
fn moves_between_processors_are_counted() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let mut program = Program::new();
    let pid = program.pid();
    let mut meter = meter(&program, "cpu-migrations");
    let mut moves = |read: &mut dyn FnMut() -> u64| {
        program.run("move 0");
        let before = read();
        program.run("move 20");
        read() - before
    };
    assert_eq!(
        moves(&mut || value(&mut meter, SystemMetric::CpuMigrations)),
        20
    );

    // Who may not count in the kernel is told all the same.
    let mut as_nobody = None;
    let mut nobody = Apart::answering(|_| {
        let meter = as_nobody.get_or_insert_with(|| {
            become_nobody();
            Meter::open(pid, set("cpu-migrations")).expect("it can be measured")
        });
        value(meter, SystemMetric::CpuMigrations)
            .to_le_bytes()
            .into()
    });
    let nobody = nobody.as_mut().expect("a child");
    let ask = &mut || {
        let told = nobody.ask(b"", LONG).expect("an answer");
        u64::from_le_bytes(told.try_into().expect("a number"))
    };
    assert_eq!(moves(ask), 20);
}

#[test]
fn events_of_a_thread_that_ends_are_counted() {
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let may_count = Event::open(own, SystemMetric::CpuMigrations, true).is_ok();
    if !may_count || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let mut program = Program::new();
    let mut meter = meter(&program, "cpu-migrations");
    program.run("mover 1");
    let before = value(&mut meter, SystemMetric::CpuMigrations);
    assert_eq!(meter.threads.count(), 2);
    program.run("go");
    let after = value(&mut meter, SystemMetric::CpuMigrations);
    until_one_thread(&mut meter);
    // The kernel moves threads too.
    assert!((20..40).contains(&(after - before)), "{before} {after}");
}

#[test]
fn sums_never_fall_while_threads_come_and_go() {
    let program = Program::new();
    let set = all(&program);
    let mut meter = Meter::open(program.pid(), set).expect("all of these can");
    let mut threads = 0;
    let mut before: Vec<(SystemMetric, u64)> = Vec::new();
    let look = std::thread::spawn(move || {
        let mut program = program;
        for _ in 0..20 {
            program.run("pass 20");
        }
        program
    });
    while !look.is_finished() {
        let now = meter.read();
        assert_eq!(now.len(), set.system().count(), "{now:?}");
        for ((metric, before), (_, now)) in before.iter().zip(&now) {
            let falls = metric.facts().kind == Kind::Absolute;
            assert!(before <= now || falls, "{metric:?}: {before} {now}");
        }
        before = now;
        threads = threads.max(meter.threads.count());
    }
    let mut program = look.join().expect("no fault");
    assert!(threads >= 2, "some were seen");
    program.run("sleep 1");
    // Those that have ended are forgotten.
    until_one_thread(&mut meter);
}

#[test]
fn what_an_ended_thread_had_stays() {
    let mut program = Program::new();
    let mut meter = meter(&program, "run-delay,context-switches,cpu-migrations");
    program.run("compete 2");
    let before = meter.read();
    // The same process without these threads.
    program.again();
    program.run("sleep 100");
    let after = meter.read();
    assert_eq!(meter.threads.count(), 1);
    assert!(after[0].1 >= before[0].1 && before[0].1 >= 300_000_000);
    assert!(after[1].1 >= before[1].1 + 100, "{before:?} {after:?}");
    assert!(after[2].1 >= before[2].1, "{before:?} {after:?}");
}

#[test]
fn a_process_that_begins_anew_is_still_measured() {
    let mut program = Program::new();
    let set = all(&program);
    let mut meter = Meter::open(program.pid(), set).expect("all of these can");
    program.run("touch 2000");
    let before = meter.read();
    program.again();
    let own = program.run("touch 1000");
    let after = meter.read();
    let of = |values: &[(SystemMetric, u64)], metric| {
        values
            .iter()
            .find(|(of, _)| *of == metric)
            .expect("measured")
            .1
    };
    let faults = of(&after, SystemMetric::PageFaults);
    assert!(faults >= of(&before, SystemMetric::PageFaults) + 1000);
    assert!(faults.abs_diff(own.faults) <= 4, "{faults} {own:?}");
    assert!(of(&after, SystemMetric::ResidentMemory) < of(&before, SystemMetric::ResidentMemory));
    assert_eq!(after.len(), set.system().count(), "{after:?}");
}

#[test]
fn a_process_without_its_first_thread_is_measured() {
    let mut program = Program::new();
    program.run("headless\nsleep 1");
    // The only one of its files that says nothing any more.
    let unreadable = (SystemMetric::ResidentMemory, NoMetric::Unreadable);
    while !without(program.pid()).contains(&unreadable) {
        // It ends while the next one answers already.
        std::thread::yield_now();
    }
    let ended = |(_, why): &(_, NoMetric)| *why == NoMetric::Ended;
    assert!(!without(program.pid()).iter().any(ended));
    let names = "cpu-time,context-switches,page-faults,cpu-migrations";
    let mut meter = meter(&program, names);
    let before = meter.read();
    program.run("touch 100");
    let own = program.run("sleep 100");
    let after = meter.read();
    let grown = before.iter().zip(&after).map(|((_, a), (_, b))| b - a);
    let grown: Vec<u64> = grown.collect();
    assert!(grown[0] > 0 && grown[1] >= 100, "{before:?} {after:?}");
    assert!(
        (100..110).contains(&grown[3]),
        "{before:?} {after:?} {own:?}"
    );
}

#[test]
fn an_ended_process_has_no_values() {
    let mut program = Program::new();
    let pid = program.pid();
    let set = all(&program);
    let mut meter = Meter::open(pid, set).expect("all of these can");
    let before = meter.read();
    program.end();
    // Until somebody has waited for it, its last values are there.
    let last = meter.read();
    for (metric, value) in &last {
        let before = before
            .iter()
            .find(|(of, _)| of == metric)
            .expect("the same");
        let falls = metric.facts().kind == Kind::Absolute;
        assert!(falls || *value >= before.1, "{metric:?}");
        assert_ne!(*metric, SystemMetric::ResidentMemory);
    }
    let gone = (SystemMetric::CpuTime, NoMetric::Ended);
    let ended = SystemMetric::ALL.map(|metric| (metric, NoMetric::Ended));
    assert_eq!(without(pid), ended);
    program.leave();
    assert_eq!(meter.read(), []);
    assert_eq!(meter.read(), []);
    assert_eq!(Meter::open(pid, set).err(), Some(gone));
    assert_eq!(without(pid), ended);
}

#[test]
fn without_descriptors_there_is_no_room() {
    let program = Program::new();
    let told = apart(|| {
        let mut told = Vec::new();
        // The folder takes one, the first look and what is to be kept take one each.
        for free in [2, 1, 0] {
            leave_free(free);
            let opened = Meter::open(program.pid(), set("run-delay,page-faults"));
            told.push(opened.err());
        }
        format!("{told:?}").into()
    });
    let no = |metric| Some((metric, NoMetric::NoRoom));
    let (delay, faults) = (no(SystemMetric::RunDelay), no(SystemMetric::PageFaults));
    assert_eq!(told, format!("{:?}", [faults, delay, delay]));
}

#[test]
fn metrics_can_be_measured_or_have_reasons() {
    let mut program = Program::new();
    let not = without(program.pid());
    let paranoid = paranoid();
    for (metric, why) in &not {
        // Machines differ in what their processors count.
        assert_eq!(metric.facts().source, Source::Event, "{metric:?} {why:?}");
        let reasons = [NoMetric::Unsupported, NoMetric::Forbidden { paranoid }];
        assert!(reasons.contains(why), "{metric:?} {why:?}");
        let refused = Meter::open(program.pid(), MetricSet::of(*metric));
        assert_eq!(refused.err(), Some((*metric, *why)));
    }
    let set = all(&program);
    let mut meter = Meter::open(program.pid(), set).expect("all of these can");
    program.run("spin 0.05");
    let metrics: Vec<SystemMetric> = meter.read().into_iter().map(|(metric, _)| metric).collect();
    assert_eq!(metrics, set.system().collect::<Vec<_>>());
    let none = Meter::open(program.pid(), MetricSet::PROGRAM);
    assert_eq!(none.expect("nothing to measure").read(), []);
}

#[test]
fn anothers_process_is_unreadable_or_forbidden() {
    let told = apart(|| {
        become_nobody();
        format!("{:?}", without(Pid::INIT)).into()
    });
    assert_eq!(told, format!("{:?}", without_of_others()));
}

/// What an ordinary user cannot measure of others.
fn without_of_others() -> Vec<(SystemMetric, NoMetric)> {
    use SystemMetric::{ReadBytes, WrittenBytes};
    let own = without(rustix::process::getpid());
    let files = [ReadBytes, WrittenBytes].map(|metric| (metric, NoMetric::Unreadable));
    let paranoid = paranoid();
    let events = SystemMetric::ALL
        .into_iter()
        .filter(|metric| metric.facts().source == Source::Event);
    let events = events.filter(|metric| *metric != SystemMetric::CpuMigrations);
    let why = |metric: SystemMetric| {
        let lacks = own.contains(&(metric, NoMetric::Unsupported));
        if lacks {
            NoMetric::Unsupported
        } else {
            NoMetric::Forbidden { paranoid }
        }
    };
    files
        .into_iter()
        .chain(events.map(|metric| (metric, why(metric))))
        .collect()
}
