use super::*;
use invivo_mpi_link::clock::Reading;
use invivo_proto::record::Facts;

const MIB: u64 = 1 << 20;

fn clock() -> NodeClock {
    let reading = |at| Reading {
        ticks: 3 * at,
        ns: at,
        width_ticks: 0,
    };
    NodeClock::from_readings(reading(0), reading(1_000_000_000))
}

fn keeping(text: &str) -> Keeping {
    Keeping::new(Strategy::parse(text).unwrap(), &clock(), KeepsSamples::No)
}

fn call(number: u64, region: u16, duration: u64) -> Call {
    Call {
        facts: Facts {
            region: RegionId(region),
            ..Facts::default()
        },
        end: 1_000_000 + 100 * number,
        duration,
        ..Call::default()
    }
}

/// More than a process can address: no system gives it.
const TOO_MUCH: u64 = 1 << 50;

/// Memory that the system does not give is as good as spent.
#[test]
fn memory_that_cannot_be_had_counts_as_spent() {
    let mut budget = Budget::new(TOO_MUCH, 4 * TOO_MUCH);
    let mut store = Store::new(&mut budget);
    assert!(store.buffer().is_none() && budget.is_spent());
    store.call(&call(1, 1, 5), &[], Attributes::default());
    assert_eq!(store.taken().dropped_by_place, 1);
}

/// A buffer that is given back is accounted for and taken again.
#[test]
fn a_returned_buffer_is_accounted_for_and_reused() {
    let mut budget = Budget::new(MIB, 2 * MIB);
    let (mut first, second) = (Store::new(&mut budget), Store::new(&mut budget));
    let mut third = Store::new(&mut budget);
    assert!(second.buffer().is_some() && third.buffer().is_none() && budget.is_spent());
    for number in 0..10 {
        first.call(&call(number, 1, 5), &[], Attributes::default());
        third.call(&call(number, 1, 5), &[], Attributes::default());
    }
    first.give_back(&mut budget);
    third.adopt(&mut budget);
    assert_eq!((budget.recycled(), budget.is_spent()), (1, true));
    third.call(&call(10, 1, 5), &[], Attributes::default());
    first.call(&call(10, 1, 5), &[], Attributes::default());
    assert_eq!(
        first.taken(),
        Ledger {
            reduced: 10,
            dropped_by_place: 1,
            ..Ledger::default()
        }
    );
    assert_eq!(
        third.taken(),
        Ledger {
            kept: 1,
            dropped_by_place: 10,
            ..Ledger::default()
        }
    );
}

#[test]
fn long_calls_stay_whatever_the_clock() {
    let mut budget = Budget::new(MIB, MIB);
    budget.keep(&keeping("duration:1us")).unwrap();
    let mut store = Store::new(&mut budget);
    // 3000 ticks are a microsecond.
    for number in 0..1_000_000 {
        let duration = if number % 1000 == 0 {
            3000
        } else {
            number % 1000
        };
        store.call(
            &call(number, (number % 500) as u16, duration),
            &[],
            Attributes::default(),
        );
    }
    let buffer = store.buffer().unwrap();
    assert!(buffer.ledger().kept < 500_000);
    let mut reader = buffer.read();
    let mut long = 0;
    while let Some(contents) = reader.next().unwrap() {
        if let invivo_otfx::Head::Call(call) = contents.head {
            long += u64::from(call.duration == 3000);
        }
    }
    assert_eq!(long, 1000);
}

#[test]
fn iterations_end_with_calls_on_the_world() {
    let mut budget = Budget::new(MIB, MIB);
    budget.keep(&keeping("iterations:2@MPI_Barrier")).unwrap();
    let mut store = Store::new(&mut budget);
    let barrier = budget.keeping().asked.iterations_at().unwrap();
    for (number, comm) in [
        (0, CommLocal::WORLD),
        (1, CommLocal::SELF),
        (2, CommLocal::WORLD),
    ] {
        let mut call = call(number, barrier.0, 5);
        call.facts.comm = comm;
        store.call(&call, &[], Attributes::default());
    }
    let mut reader = store.buffer().unwrap().read();
    let mut iterations = Vec::new();
    while let Some(contents) = reader.next().unwrap() {
        iterations.push(contents.iteration);
    }
    assert_eq!(iterations, [0, 1, 1]);
}

/// What is refused before a job starts is what would not fit.
#[test]
fn the_smallest_buffer_of_a_strategy_is_as_reported() {
    for text in [
        "time",
        "duration:1ms",
        "samples,depth:0",
        "iterations:3@MPI_Barrier,cap=50%",
    ] {
        let keeping = keeping(text);
        let least = keeping.asked.buffer_bytes_min();
        assert!(
            Budget::new(least, least).keep(&keeping).is_ok(),
            "{text} in {least}"
        );
        assert!(
            Budget::new(least - 1, least).keep(&keeping).is_err(),
            "{text} below {least}"
        );
    }
}

#[test]
fn strategies_that_do_not_fit_are_refused_and_change_nothing() {
    let mut budget = Budget::new(128 << 10, MIB);
    let mut store = Store::new(&mut budget);
    let wide = keeping("duration:1ms,depth:0,samples");
    assert!(
        budget.keep(&wide).is_err() && store.bears(&wide).is_err() && store.keep(&wide).is_err()
    );
    assert_eq!(budget.keeping().asked, Strategy::FLIGHT_RECORDER);
    assert!(store.buffer().unwrap().strategy().rules.is_empty());
    let narrow = keeping("iterations:4@MPI_Barrier");
    budget.keep(&narrow).unwrap();
    store.keep(&narrow).unwrap();
    assert_eq!(store.buffer().unwrap().strategy().levels(), 5);
    // Wider than what is there: buffers that are made for it bear it in smaller bins.
    let made = keeping("duration:1ms,depth:0");
    assert!(store.bears(&made).is_err());
    budget.keep(&made).unwrap();
    assert_eq!(
        Store::new(&mut budget)
            .buffer()
            .unwrap()
            .fill()
            .geometry
            .bins,
        128
    );
}

#[test]
fn samples_do_not_count_as_calls() {
    let mut budget = Budget::new(MIB, MIB);
    budget.keep(&keeping("samples")).unwrap();
    let mut store = Store::new(&mut budget);
    for number in 0..10 {
        store.call(&call(number, 1, 5), &[], Attributes::default());
        if number % 2 == 0 {
            store.sample(&sample(number));
        }
    }
    let buffer = store.buffer().unwrap();
    assert_eq!(buffer.ledger().kept, 15);
    assert_eq!(
        store.taken(),
        Ledger {
            kept: 10,
            ..Ledger::default()
        }
    );
}

fn sample(number: u64) -> Sample<'static> {
    Sample {
        time: 1_000_000 + 100 * number,
        ordinal: number + 1,
        context: 1,
        values: &[],
    }
}

/// However many calls there are: the newest samples stay, and the newest calls.
#[test]
fn samples_and_calls_do_not_push_each_other_out() {
    for (of_calls, of_samples) in [(1_000_000, 20_000), (20_000, 1_000_000)] {
        let mut budget = Budget::new(128 << 10, 128 << 10);
        let keeping = Keeping::new(Strategy::FLIGHT_RECORDER, &clock(), KeepsSamples::Now);
        budget.keep(&keeping).unwrap();
        let mut store = Store::new(&mut budget);
        let most = of_calls.max(of_samples);
        for number in 0..most {
            let is_due = |count: u64| number * count / most != (number + 1) * count / most;
            if is_due(of_calls) {
                store.call(&call(number, 1, 5), &[], Attributes::default());
            }
            // They come behind the calls of their time.
            if is_due(of_samples) {
                store.sample(&sample(number.saturating_sub(500)));
            }
        }
        let mut reader = store.buffer().unwrap().read();
        let (mut calls, mut samples) = (Vec::new(), Vec::new());
        while let Some(contents) = reader.next().unwrap() {
            match contents.head {
                invivo_otfx::Head::Call(call) => calls.push(call.end),
                invivo_otfx::Head::Sample { time, ordinal, .. } => {
                    assert_eq!(time, sample(ordinal - 1).time);
                    samples.push(ordinal);
                }
                _ => panic!("there is nothing else"),
            }
        }
        assert!(
            calls.len() > 2_000 && samples.len() > 2_000,
            "{}",
            calls.len()
        );
        let step = most / of_samples;
        assert!(samples.windows(2).all(|two| two[1] - two[0] == step));
        assert!(calls.last() > Some(&(1_000_000 + 100 * (most - 100))));
        assert!(samples.last() > Some(&(most - 700)));
    }
}
