//! Samples of real processes, one by one.

use super::profiles::{answer_among, is_told};
use super::program::Program;
use super::*;
use invivo_proto::control::contexts::{Context, Taken};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;

/// What was told of single samples.
#[derive(Default)]
struct Told {
    /// The names of the functions, innermost first, by the numbers of contexts.
    paths: BTreeMap<u32, Vec<Frame>>,
    /// By thread, with the halvings.
    samples: BTreeMap<u32, Vec<(u32, Taken)>>,
    left_out: u64,
}

impl Told {
    fn hear(&mut self, message: FromSupervisor) {
        match message {
            FromSupervisor::Contexts { first, contexts } => self.add(first, contexts),
            FromSupervisor::Samples {
                tid,
                halvings,
                left_out,
                taken,
            } => {
                let known = |one: &Taken| one.context == 0 || self.paths.contains_key(&one.context);
                assert!(taken.iter().all(known), "contexts come before: {taken:?}");
                assert!(left_out >= self.left_out);
                self.left_out = left_out;
                let all = self.samples.entry(tid).or_default();
                all.extend(taken.into_iter().map(|one| (halvings, one)));
            }
            FromSupervisor::Profiled { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    fn add(&mut self, first: u32, contexts: Vec<Context>) {
        assert_eq!(first as usize, self.paths.len() + 1, "without a gap");
        for (number, context) in (first..).zip(contexts) {
            assert!(context.parent < number);
            let callers = self.paths.get(&context.parent).cloned();
            let mut path = vec![context.frame];
            path.extend(callers.unwrap_or_default());
            self.paths.insert(number, path);
        }
    }

    /// Waits for all samples of a sampler that is off, and gives how many its profile has.
    fn wait(&mut self, sampler: &mut Sampler) -> Sampled {
        assert!(sampler.ask(1));
        let (seen, _) = answer_among(sampler, 1, |message| self.hear(message));
        let until = Instant::now() + Duration::from_secs(10);
        while self.count() as u64 + self.left_out < seen.samples {
            assert!(Instant::now() < until, "not all are told");
            match sampler.receive() {
                Received::Message(message) => self.hear(message),
                Received::Nothing => std::thread::sleep(Duration::from_millis(10)),
                Received::Ended => panic!("the sampler has ended"),
            }
        }
        seen
    }

    fn count(&self) -> usize {
        self.samples.values().map(Vec::len).sum()
    }

    /// The samples of the only thread.
    fn only(&self) -> &[(u32, Taken)] {
        assert_eq!(self.samples.len(), 1);
        self.samples.values().next().expect("a thread")
    }

    /// How many of these are in a function or in what it calls.
    fn within(&self, samples: &[(u32, Taken)], function: &str) -> usize {
        let is_it =
            |frame: &Frame| matches!(frame, Frame::Function { name, .. } if name == function);
        let is_within = |(_, one): &&(u32, Taken)| {
            let path = self.paths.get(&one.context);
            path.is_some_and(|path| path.iter().any(is_it))
        };
        samples.iter().filter(is_within).count()
    }
}

fn monotonic_ns() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).expect("a time");
    now.as_nanos() as u64
}

#[test]
fn each_sample_is_told_with_its_time_and_context() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    let begun = monotonic_ns();
    let spent = program.run("both 1.0");
    let ended = monotonic_ns();
    assert_eq!(sampler.switch(Sampling::perf(0), 0), Ok(()));
    let mut told = Told::default();
    let seen = told.wait(&mut sampler);
    assert_eq!(told.count() as u64 + told.left_out, seen.samples);
    assert_eq!(told.left_out, 0);
    assert_eq!(
        told.samples.keys().next(),
        Some(&program.pid().as_raw_nonzero().get().unsigned_abs())
    );
    let samples = told.only();
    assert!(is_told(
        (samples.len() as u64 + seen.lost) * 1_000_000,
        spent
    ));
    // Before and after it, the program waits.
    let within = |one: &&(u32, Taken)| (begun..=ended).contains(&one.1.at_ns);
    assert!(samples.iter().filter(within).count() + 5 >= samples.len());
    let two_by_two = || samples.windows(2).map(|two| (two[0].1, two[1].1));
    assert!(two_by_two().all(|(one, next)| one.at_ns < next.at_ns));
    assert_eq!(samples[0].1.ordinal, 1);
    let gaps = two_by_two().map(|(one, next)| next.ordinal - one.ordinal - 1);
    assert!(gaps.sum::<u64>() <= seen.lost, "{seen:?}");
    let both = told.within(samples, "both");
    assert!(
        both * 10 >= samples.len() * 9,
        "{both} of {}",
        samples.len()
    );
}

#[test]
fn a_halved_thread_has_multiples_for_its_numbers() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("both 0.4");
    assert_eq!(sampler.switch(Sampling::perf(1000), 2), Ok(()));
    let (before, _) = profile(&mut sampler);
    assert_eq!(before.frequency, (250, 250));
    let spent = program.run("both 0.8");
    let (after, _) = profile(&mut sampler);
    let counted = after.cpu_ns - before.cpu_ns + 4_000_000 * (after.lost - before.lost);
    assert!(is_told(counted, spent), "{before:?} {after:?} {spent}");
}

#[test]
fn numbers_go_on_while_the_frequency_is_the_same() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("both 0.3");
    // Off and on between them changes nothing.
    for (frequency, halvings) in [(0, 0), (1000, 2), (0, 7), (1000, 0), (500, 1)] {
        assert_eq!(sampler.switch(Sampling::perf(frequency), halvings), Ok(()));
        program.run("both 0.3");
    }
    assert_eq!(sampler.switch(Sampling::perf(0), 0), Ok(()));
    let mut told = Told::default();
    let seen = told.wait(&mut sampler);
    assert_eq!(told.count() as u64 + told.left_out, seen.samples);
    let runs: Vec<&[(u32, Taken)]> = told.only().chunk_by(|one, next| one.0 == next.0).collect();
    let halvings: Vec<u32> = runs.iter().map(|run| run[0].0).collect();
    assert_eq!(halvings, [0, 2, 0, 1], "{seen:?}");
    for run in &runs {
        let unit = 1 << run[0].0;
        let is_right = |(_, one): &(u32, Taken)| one.ordinal > 0 && one.ordinal % unit == 0;
        assert!(run.iter().all(is_right), "{run:?}");
        assert!(
            run.windows(2)
                .all(|two| two[0].1.ordinal < two[1].1.ordinal)
        );
        assert!(
            told.within(run, "both") * 10 >= run.len() * 8,
            "{}",
            run.len()
        );
    }
    let ends = |run: usize| {
        (
            runs[run][0].1.ordinal,
            runs[run][runs[run].len() - 1].1.ordinal,
        )
    };
    for (before, after) in [(ends(0).1, ends(1).0), (ends(1).1, ends(2).0)] {
        let most = before + 4 * (1 + seen.lost);
        assert!(after > before && after <= most, "{before} {after} {seen:?}");
    }
    // Another unit.
    assert!(ends(3).0 <= 2 * (1 + seen.lost), "{:?}", ends(3));
}

#[test]
fn samples_of_threads_are_told_apart() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("thread");
    assert_eq!(sampler.switch(Sampling::perf(0), 0), Ok(()));
    let mut told = Told::default();
    told.wait(&mut sampler);
    let beside = |samples: &&Vec<(u32, Taken)>| told.within(samples, "beside") * 2 > samples.len();
    let of_thread: Vec<_> = told.samples.values().filter(beside).collect();
    assert_eq!(of_thread.len(), 1);
    assert_eq!(of_thread[0][0].1.ordinal, 1);
}

/// The last ones, which are too few to be told at once.
#[test]
fn samples_are_told_after_the_process_has_ended() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    program.run("both 0.3");
    program.leave();
    let mut told = Told::default();
    let until = Instant::now() + Duration::from_secs(10);
    while told.count() == 0 {
        assert!(Instant::now() < until, "nobody asks");
        std::thread::sleep(Duration::from_millis(10));
        if let Received::Message(message) = sampler.receive() {
            told.hear(message);
        }
    }
    let seen = told.wait(&mut sampler);
    assert_eq!(told.count() as u64 + told.left_out, seen.samples);
}

/// Whoever hears that an order is done knows whose numbers are whose.
#[test]
fn samples_of_before_come_before_another_frequency() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 1000);
    for frequency in [500, 2000, 1000] {
        program.run("both 0.3");
        assert_eq!(sampler.switch(Sampling::perf(frequency), 0), Ok(()));
        let mut all: Vec<Taken> = Vec::new();
        while let Received::Message(message) = sampler.receive() {
            if let FromSupervisor::Samples { taken, .. } = message {
                all.extend(taken);
            }
        }
        assert!(all.len() >= 10, "{}", all.len());
        assert!(all[0].ordinal <= 3, "anew: {:?}", all[0]);
        assert!(all.windows(2).all(|two| two[0].ordinal < two[1].ordinal));
    }
}

/// A supervisor that reads nothing costs samples and no contexts.
#[test]
fn what_a_supervisor_does_not_read_is_counted() {
    let mut program = Program::new();
    let mut sampler = sampled(&program, 10_000);
    program.run("both 3.5");
    assert_eq!(sampler.switch(Sampling::perf(0), 0), Ok(()));
    let mut told = Told::default();
    let seen = told.wait(&mut sampler);
    assert_eq!(
        told.count() as u64 + told.left_out,
        seen.samples,
        "{seen:?}"
    );
    println!("{} of {} left out", told.left_out, seen.samples);
    assert!(told.within(told.only(), "both") * 10 >= told.count() * 9);
}
