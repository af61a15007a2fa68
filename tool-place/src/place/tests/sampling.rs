//! Samples: ordered of supervisors, acknowledged when all have answered, and added up.

use super::*;
use invivo_proto::control::profile::{NoSamples, Node, Profile, Sampled};
use invivo_proto::control::sampling::Sampling as How;
use invivo_proto::control::stacks::{Chosen, Frame};

mod one_by_one;

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
            how,
            halvings: 0,
        }) if how.frequency == hertz => sampling,
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
    scene.command(1, Verb::Sampling(How::perf(251)));
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
    scene.command(4, Verb::Sampling(How::perf(10)));
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
        sampling: How::perf(99),
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
    scene.command(2, Verb::Sampling(How::perf(0)));
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
    scene.command(1, Verb::Sampling(How::perf(251)));
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
    scene.command(1, Verb::Sampling(How::perf(251)));
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

/// Behind `MPI_Finalize` nobody is sampled, whatever is ordered for the others.
#[test]
fn a_rank_that_is_through_is_not_sampled_again() {
    let mut scene = Scene::new();
    let (supervisor, rank) = scene.attach(0);
    scene.command(1, Verb::Sampling(How::perf(251)));
    let number = ordered(&supervisor, 251);
    answer(&supervisor, number, Ok(()));
    rank.page().phase.store(phase::DRAINED, Ordering::Release);
    scene.step(200);
    scene.step(1);
    ordered(&supervisor, 0);
    scene.command(2, Verb::Sampling(How::perf(997)));
    ordered(&supervisor, 997);
    scene.step(1);
    ordered(&supervisor, 0);
    scene.step(200);
    assert_eq!(supervisor.hear(), None);
}

fn ask(scene: &mut Scene) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Profile {
            chosen: Chosen::ALL,
            past: None,
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
            query: Query::Profile {
                chosen: only,
                past: None,
            },
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

/// Timers count other intervals than events, however often.
#[test]
fn another_kind_of_samples_is_numbered_anew() {
    let mut scene = Scene::new();
    let (supervisor, _rank) = scene.attach(0);
    for (command, how, expected, by) in [
        (1, How::perf(200), How::perf(200), 0),
        (2, How::timer(100), How::timer(100), 0),
        (3, How::timer(50), How::timer(100), 1),
        (4, How::OFF, How::timer(0), 1),
    ] {
        scene.command(command, Verb::Sampling(how));
        let Some(ToSupervisor::Sample {
            sampling,
            how: told,
            halvings,
        }) = supervisor.hear()
        else {
            panic!("no order");
        };
        assert_eq!((told, halvings), (expected, by), "{how}");
        answer(&supervisor, sampling, Ok(()));
        scene.step(1);
    }
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
        scene.command(command, Verb::Sampling(How::perf(frequency)));
        let Some(ToSupervisor::Sample {
            sampling,
            how: told,
            halvings: by,
        }) = supervisor.hear()
        else {
            panic!("no order");
        };
        assert_eq!((told.frequency, by), (base, halvings), "{frequency}");
        answer(&supervisor, sampling, Ok(()));
        scene.step(1);
    }
}
