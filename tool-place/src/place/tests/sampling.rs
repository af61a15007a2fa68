//! Samples: ordered of supervisors, acknowledged when all have answered, and added up.

use super::*;
use invivo_proto::control::buffers::SampleRow;
use invivo_proto::control::contexts::{Context, Contexts, Taken};
use invivo_proto::control::profile::{NoSamples, Node, Profile, Sampled};
use invivo_proto::control::stacks::{Chosen, Frame};

fn sampling(said: Vec<Up>) -> Option<(u64, Acks)> {
    said.into_iter().find_map(|up| match up {
        Up::Ack { command, acks } => Some((command.0, acks)),
        _ => None,
    })
}

/// The number of an order, which is for this frequency.
fn ordered(supervisor: &OneSupervisor, hertz: u32) -> u32 {
    match supervisor.hear() {
        Some(ToSupervisor::Sample {
            sampling,
            frequency,
            halvings: 0,
        }) if frequency == hertz => sampling,
        other => panic!("no order to sample at {hertz} Hz but {other:?}"),
    }
}

fn answer(supervisor: &OneSupervisor, sampling: u32, outcome: Result<(), NoSamples>) {
    supervisor.say(&FromSupervisor::Sampling { sampling, outcome });
}

#[test]
fn sampling_is_acknowledged_when_every_supervisor_has_answered() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    scene.command(1, Verb::Sampling { frequency: 251 });
    let numbers = [&first, &second].map(|supervisor| ordered(supervisor, 251));
    answer(&first, numbers[0], Ok(()));
    assert_eq!(sampling(scene.step(3)), None);
    answer(
        &second,
        numbers[1],
        Err(NoSamples::Forbidden { paranoid: 3 }),
    );
    let (command, acks) = sampling(scene.step(1)).expect("acknowledged");
    assert_eq!((command, acks.targets, acks.done), (1, 2, 1));
    assert_eq!(acks.slowest.map(|(rank, _)| rank), Some(Rank(1)));
    let (rank, why) = &acks.failures[0];
    assert_eq!(*rank, Rank(1));
    assert!(why.contains("kernel.perf_event_paranoid is 3"), "{why}");
}

#[test]
fn a_supervisor_that_is_silent_is_named_in_time() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (_second, _other) = scene.attach(1);
    scene.command(4, Verb::Sampling { frequency: 10 });
    let number = ordered(&first, 10);
    answer(&first, number, Ok(()));
    assert_eq!(sampling(scene.step(1000)), None);
    let (_, acks) = sampling(scene.step(600)).expect("acknowledged");
    assert_eq!(acks.done, 1);
    assert!(acks.failures[0].1.contains("did not answer"));
    // Its answer to an order that is over changes nothing.
    answer(&first, number, Err(NoSamples::Broken));
    assert_eq!(sampling(scene.step(1)), None);
}

#[test]
fn a_rank_that_comes_later_is_sampled_as_the_others() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        sampling: 99,
        ..JobInfo::default()
    });
    let (first, _rank) = scene.attach(0);
    let number = ordered(&first, 99);
    answer(&first, number, Err(NoSamples::NoRoom));
    scene.step(1);
    let notes = scene.status().notes;
    let told = notes
        .iter()
        .any(|note| note.contains("rank 0 is not sampled"));
    assert!(told, "{notes:?}");
    scene.command(2, Verb::Sampling { frequency: 0 });
    let number = ordered(&first, 0);
    answer(&first, number, Ok(()));
    let (_, acks) = sampling(scene.step(1)).expect("acknowledged");
    assert_eq!((acks.targets, acks.done), (2, 2), "the other has not come");
    // And it is not told anything when it comes: sampling is off.
    let (second, _other) = scene.attach(1);
    assert_eq!(second.hear(), None);
}

#[test]
fn the_end_of_the_measurement_ends_sampling() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    scene.command(1, Verb::Sampling { frequency: 251 });
    let number = ordered(&first, 251);
    answer(&first, number, Ok(()));
    scene.step(1);
    scene.command(2, Verb::Shutdown);
    assert_eq!(ordered(&first, 0), 0);
}

/// Nobody waits for a rank that ends meanwhile.
#[test]
fn a_rank_that_ends_is_not_waited_for() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    scene.command(1, Verb::Sampling { frequency: 251 });
    ask(&mut scene);
    let number = ordered(&first, 251);
    answer(&first, number, Ok(()));
    say(&first, 100, &[node(0, "main", 100, 100)], 0);
    drop(second);
    let said = scene.step(1);
    let (_, acks) = sampling(said.clone()).expect("acknowledged");
    assert_eq!((acks.done, acks.failures), (2, vec![]));
    let profile = profile(said).expect("an answer");
    assert_eq!((profile.ranks, profile.sampled), (2, 1));
    assert!(profile.without.contains_key(&NoSamples::Ended));
}

fn ask(scene: &mut Scene) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Profile {
            chosen: Chosen::ALL,
        },
    });
}

fn profile(said: Vec<Up>) -> Option<Profile> {
    said.into_iter().find_map(|up| match up {
        Up::Partial {
            wave: WaveId(3),
            partial: Partial::Profile(profile),
            ..
        } => Some(*profile),
        _ => None,
    })
}

fn node(depth: u8, name: &str, ns: u64, own_ns: u64) -> Node {
    Node {
        depth,
        frame: Frame::Function {
            module: "app".into(),
            name: name.into(),
        },
        ns,
        own_ns,
        // What a supervisor says of other ranks does not matter.
        most: (Rank(77), 1),
        lines: [("a.c:1".to_owned(), ns)].into(),
    }
}

fn say(supervisor: &OneSupervisor, cpu_ns: u64, nodes: &[Node], rest: u32) {
    let seen = Sampled {
        samples: 10,
        cpu_ns,
        ..Sampled::default()
    };
    supervisor.say(&FromSupervisor::Profiled {
        profile: 1,
        seen: Ok(seen),
        nodes: nodes.to_vec(),
        rest,
    });
}

#[test]
fn samples_of_all_ranks_are_one_tree() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    ask(&mut scene);
    let question = Some(ToSupervisor::Profile { profile: 1 });
    assert_eq!((first.hear(), second.hear()), (question.clone(), question));
    say(&first, 100, &[node(0, "main", 100, 30)], 1);
    say(&second, 50, &[node(0, "main", 50, 50)], 0);
    assert_eq!(profile(scene.step(1)), None, "a part is to come");
    say(&first, 100, &[node(1, "solve", 70, 70)], 0);
    let profile = profile(scene.step(1)).expect("an answer");
    assert_eq!((profile.ranks, profile.sampled), (2, 2));
    assert_eq!((profile.seen.cpu_ns, profile.seen.samples), (150, 20));
    let told: Vec<(u8, u64, u64, (Rank, u64))> = profile
        .nodes
        .iter()
        .map(|node| (node.depth, node.ns, node.own_ns, node.most))
        .collect();
    assert_eq!(
        told,
        [(0, 150, 80, (Rank(0), 100)), (1, 70, 70, (Rank(0), 70))]
    );
}

/// A sampler answers one question at a time: what is asked meanwhile is asked behind it, once for
/// all.
#[test]
fn questions_that_come_together_are_asked_together() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (_second, _other) = scene.attach(1);
    ask(&mut scene);
    assert_eq!(first.hear(), Some(ToSupervisor::Profile { profile: 1 }));
    let only = Chosen::of(&[(Rank(0), Rank(0))]).expect("one range");
    for wave in [4, 5] {
        scene.down(Down::Query {
            wave: WaveId(wave),
            query: Query::Profile { chosen: only },
        });
    }
    assert_eq!(first.hear(), None);
    say(&first, 100, &[node(0, "main", 100, 30)], 0);
    assert!(
        profile(scene.step(800)).is_some(),
        "the other one is silent"
    );
    assert_eq!(first.hear(), Some(ToSupervisor::Profile { profile: 2 }));
    assert_eq!(first.hear(), None);
    first.say(&FromSupervisor::Profiled {
        profile: 2,
        seen: Err(NoSamples::Off),
        nodes: Vec::new(),
        rest: 0,
    });
    let answered = scene.step(1).into_iter().filter_map(|up| match up {
        Up::Partial { wave, partial, .. } => Some((wave.0, partial)),
        _ => None,
    });
    let ranks = answered.map(|(wave, partial)| match partial {
        Partial::Profile(profile) => (wave, profile.ranks, profile.sampled),
        other => panic!("{other:?}"),
    });
    assert_eq!(ranks.collect::<Vec<_>>(), [(4, 1, 0), (5, 1, 0)]);
}

#[test]
fn a_rank_of_which_half_has_come_counts_as_silent() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    ask(&mut scene);
    say(&first, 100, &[node(0, "main", 100, 30)], 1);
    second.say(&FromSupervisor::Profiled {
        profile: 1,
        seen: Err(NoSamples::Off),
        nodes: Vec::new(),
        rest: 0,
    });
    assert_eq!(profile(scene.step(100)), None);
    let profile = profile(scene.step(800)).expect("an answer");
    assert_eq!(
        (profile.ranks, profile.sampled, profile.nodes.len()),
        (2, 0, 0)
    );
    let why: Vec<NoSamples> = profile.without.keys().copied().collect();
    assert_eq!(why, [NoSamples::Off, NoSamples::Silent]);
}

fn context(parent: u32, name: &str) -> Context {
    let (module, name) = ("app".into(), name.into());
    Context {
        parent,
        frame: Frame::Function { module, name },
    }
}

/// The thread that a rank's first location has.
const TID: u32 = 4711;

/// A rank with a thread that has a location, sampled at 1 kHz, whose samples have a function each.
fn sampled(scene: &mut Scene) -> (OneSupervisor, Writer) {
    let (supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    writer.status().tid.store(TID, Ordering::Relaxed);
    let number = ordered(&supervisor, 1000);
    answer(&supervisor, number, Ok(()));
    supervisor.say(&FromSupervisor::Contexts {
        first: 1,
        contexts: vec![context(0, "main"), context(1, "solve"), context(1, "write")],
    });
    (supervisor, writer)
}

fn take(supervisor: &OneSupervisor, tid: u32, halvings: u32, taken: &[(u64, u64, u32)]) {
    let taken = taken.iter().map(|(at_ns, ordinal, context)| Taken {
        at_ns: START_NS + at_ns,
        ordinal: *ordinal,
        context: *context,
    });
    supervisor.say(&FromSupervisor::Samples {
        tid,
        halvings,
        left_out: 2,
        taken: taken.collect(),
    });
}

/// All samples that the buffer of the first rank holds, with their contexts.
fn kept(scene: &mut Scene) -> (Vec<SampleRow>, Contexts) {
    let (mut samples, mut contexts) = (Vec::new(), Contexts::new());
    let mut after = None;
    loop {
        let records = super::kept::page(scene, 0, 0..u64::MAX, after);
        samples.extend(records.samples);
        contexts.extend(records.contexts);
        after = records.next;
        if after.is_none() {
            return (samples, contexts);
        }
    }
}

#[test]
fn samples_stand_in_the_buffer_of_their_thread() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        sampling: 1000,
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene);
    scene.step(10);
    let all = [(1_000, 1, 2), (1_000_000, 2, 2), (2_000_000, 3, 9)];
    take(&supervisor, TID, 0, &all);
    // A thread that has never called MPI.
    take(&supervisor, TID + 1, 0, &[(1_500_000, 1, 1)]);
    scene.step(1);
    let (samples, contexts) = kept(&mut scene);
    let told: Vec<(u64, u32)> = samples.iter().map(|of| (of.ordinal, of.context)).collect();
    // Nobody has said what the last number means.
    assert_eq!(told, [(1, 2), (2, 2), (3, 0)]);
    assert!(samples.is_sorted_by_key(|sample| sample.at_ns));
    let (main, solve) = (context(0, "main"), context(1, "solve"));
    assert_eq!(contexts, [(1, main), (2, solve)].into());

    let buffers = super::kept::buffers(&mut scene);
    let counters = buffers.samples;
    assert_eq!(
        (counters.kept, counters.dropped, counters.stored),
        (3, 3, 6)
    );
}

#[test]
fn a_rank_whose_buffer_is_full_is_sampled_less_often() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        sampling: 1000,
        buffer_bytes: 256 << 10,
        strategy: "samples".parse().expect("a strategy"),
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene);
    let (mut ordinal, mut halvings) = (0, 0);
    let mut orders = Vec::new();
    for _ in 0..300 {
        let step = 1 << halvings;
        let some: Vec<(u64, u64, u32)> = (1..=500)
            .map(|at| ordinal + at * step)
            .map(|ordinal| (ordinal * 1_000, ordinal, 1 + (ordinal % 3) as u32))
            .collect();
        ordinal += 500 * step;
        scene.step(step);
        take(&supervisor, TID, halvings, &some);
        scene.step(1);
        while let Some(told) = supervisor.hear() {
            let ToSupervisor::Sample {
                frequency: 1000,
                halvings: wanted,
                ..
            } = told
            else {
                panic!("{told:?}");
            };
            assert_eq!(wanted, halvings + 1);
            halvings = wanted;
            ordinal = (ordinal >> halvings) << halvings;
            orders.push(wanted);
        }
    }
    assert!(orders.len() >= 2, "{orders:?}");
    // What is left is evenly spaced over all of the time.
    let (samples, _) = kept(&mut scene);
    let all: Vec<u64> = samples.iter().map(|sample| sample.ordinal).collect();
    let step = 1 << halvings;
    assert_eq!(all.first(), Some(&step));
    let uneven = all.windows(2).find(|two| two[1] - two[0] != step);
    assert_eq!(uneven, None);
    assert_eq!(all.last(), Some(&ordinal));
}

/// A quarter of the frequency is the same grid: nothing that is kept begins anew.
#[test]
fn a_part_of_the_frequency_is_ordered_as_halvings() {
    let mut scene = Scene::new();
    let (supervisor, _rank) = scene.attach(0);
    for (command, frequency, base, halvings) in [
        (1, 251, 251, 0),
        (2, 62, 251, 2),
        (3, 0, 0, 2),
        (4, 125, 251, 1),
        (5, 100, 100, 0),
        (6, 251, 251, 0),
    ] {
        scene.command(command, Verb::Sampling { frequency });
        let Some(ToSupervisor::Sample {
            sampling,
            frequency: told,
            halvings: by,
        }) = supervisor.hear()
        else {
            panic!("no order");
        };
        assert_eq!((told, by), (base, halvings), "{frequency}");
        answer(&supervisor, sampling, Ok(()));
        scene.step(1);
    }
}
