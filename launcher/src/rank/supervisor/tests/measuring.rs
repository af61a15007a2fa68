//! A rank that computes is measured and sampled; the test plays the place.

use super::*;
use invivo_proto::control::metrics::{Measured, MetricSet, Reading, SystemMetric};
use invivo_proto::control::sampling::Sampling;

const COMPUTES: &str = "welcome; until [ -e go ]; do :; done; exit 3";
const MS: u64 = 1_000_000;

/// A rank that has called MPI.
fn in_mpi(job: &Job) -> (OwnedFd, Region) {
    let (connection, pid, region) = job.attached();
    region.page().pid.store(pid as u32, Ordering::Release);
    region.page().phase.store(phase::DRAINED, Ordering::Release);
    (connection, region)
}

fn end(job: &Job, supervisor: JoinHandle<Ended>) {
    std::fs::write(job.dir.path().join("go"), "").expect("written");
    assert_eq!(supervisor.join().expect("ended"), Ended::Code(3));
}

/// What comes until this is true of a message, with that message.
fn until(
    connection: &OwnedFd,
    is_it: impl Fn(&FromSupervisor) -> bool,
) -> Vec<(Instant, FromSupervisor)> {
    let mut all = Vec::new();
    loop {
        let message = hear(connection).expect("it is there");
        let was_it = is_it(&message);
        all.push((Instant::now(), message));
        if was_it {
            return all;
        }
    }
}

fn measure(connection: &OwnedFd, measuring: u32, interval_ns: u64, set: MetricSet) {
    let measured = Measured { interval_ns, set };
    tell(
        connection,
        &ToSupervisor::Measure {
            measuring,
            measured,
        },
    );
}

fn is_acknowledged(measuring: u32) -> impl Fn(&FromSupervisor) -> bool {
    move |message| match message {
        FromSupervisor::Measuring {
            measuring: of,
            outcome,
        } => {
            assert!(outcome.is_ok(), "{outcome:?}");
            *of == measuring
        }
        _ => false,
    }
}

fn readings(heard: &[(Instant, FromSupervisor)]) -> Vec<(Instant, &Reading)> {
    let readings = heard.iter().filter_map(|(at, message)| match message {
        FromSupervisor::Measured(reading) => Some((*at, reading)),
        _ => None,
    });
    readings.collect()
}

/// Those of a quarter of a second come together, and those that wait before another set begins.
#[test]
fn readings_come_in_bursts_and_none_is_left_out() {
    let job = Job::new();
    let supervisor = job.run(COMPUTES);
    let (connection, _region) = in_mpi(&job);
    let set = MetricSet::of(SystemMetric::CpuTime);
    measure(&connection, 1, 20 * MS, set);
    until(&connection, is_acknowledged(1));

    let begin = Instant::now();
    let second = begin + Duration::from_secs(1);
    let mut heard = until(&connection, |_| Instant::now() >= second);
    measure(&connection, 2, 60_000 * MS, set);
    heard.extend(until(&connection, is_acknowledged(2)));
    let before = readings(&heard);
    assert!(
        before.iter().all(|(_, one)| one.measuring == 1),
        "{before:?}"
    );
    // A busy machine may leave out some.
    assert!(before.len() >= 10, "{before:?}");
    let is_later = |two: &[(Instant, &Reading)]| two[0].1.at_ns < two[1].1.at_ns;
    assert!(before.windows(2).all(is_later), "{before:?}");
    // The first one, four or five times in the second, and those before the other set.
    let apart = |two: &&[(Instant, &Reading)]| two[1].0 - two[0].0 > Duration::from_millis(15);
    let bursts = 1 + before.windows(2).filter(apart).count();
    let mut quarters: Vec<u64> = (before.iter().map(|(_, one)| one.at_ns / (250 * MS))).collect();
    quarters.dedup();
    let most = quarters.len() + before.len() / 4;
    assert!(bursts <= most, "{bursts} of {most}: {before:?}");

    let first = hear(&connection);
    assert!(
        matches!(&first, Some(FromSupervisor::Measured(one)) if one.measuring == 2),
        "{first:?}"
    );
    // What waits is told before its end.
    measure(&connection, 3, 100 * MS, set);
    until(&connection, is_acknowledged(3));
    std::thread::sleep(Duration::from_millis(450));
    end(&job, supervisor);
    let heard = until(&connection, |one| matches!(one, FromSupervisor::Ended(_)));
    assert!(readings(&heard).len() >= 2, "{heard:?}");
}

/// What samples take from the rank is told beside what the sampler takes, and neither ever falls.
#[test]
fn what_samples_take_is_told() {
    let job = Job::new();
    let supervisor = job.run(COMPUTES);
    let (connection, _region) = in_mpi(&job);
    let sample = |sampling, frequency| {
        let order = ToSupervisor::Sample {
            sampling,
            how: Sampling::perf(frequency),
            halvings: 0,
        };
        tell(&connection, &order);
        let heard = until(
            &connection,
            |one| matches!(one, FromSupervisor::Sampling { sampling: of, .. } if *of == sampling),
        );
        match heard.into_iter().next_back() {
            Some((_, FromSupervisor::Sampling { outcome, .. })) => outcome,
            other => panic!("{other:?}"),
        }
    };
    if let Err(why) = sample(1, 1000) {
        println!("nothing can be sampled here: {why:?}");
        return end(&job, supervisor);
    }
    let told = |at_least: u64| {
        let heard = until(
            &connection,
            |one| matches!(one, FromSupervisor::Spent { in_rank_ns, .. } if *in_rank_ns > at_least),
        );
        match heard.last() {
            Some((_, FromSupervisor::Spent { cpu_ns, in_rank_ns })) => (*cpu_ns, *in_rank_ns),
            other => panic!("{other:?}"),
        }
    };
    let first = told(0);
    assert_eq!(sample(2, 200), Ok(()));
    let second = told(first.1);
    assert!(second.0 >= first.0, "{first:?} {second:?}");
    assert_eq!(sample(3, 0), Ok(()));
    end(&job, supervisor);
    let heard = until(&connection, |one| matches!(one, FromSupervisor::Ended(_)));
    for (_, message) in &heard {
        if let FromSupervisor::Spent { cpu_ns, in_rank_ns } = message {
            assert!(*cpu_ns >= second.0 && *in_rank_ns >= second.1, "{heard:?}");
        }
    }
}
