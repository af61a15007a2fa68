//! Samples in buffers: each where its thread's calls are, thinned where there is no room, and added
//! up over a time in the past.

use super::*;
use invivo_proto::control::buffers::{Halvings, SampleRow};
use invivo_proto::control::contexts::{Context, Contexts, Taken};
use invivo_proto::control::profile::{KeptTime, NoSamples, Past, Profile};
use invivo_proto::control::stacks::{Chosen, Frame};

fn context(parent: u32, name: &str) -> Context {
    let (module, name) = ("app".into(), name.into());
    Context {
        parent,
        frame: Frame::Function { module, name },
    }
}

/// The thread that a rank's first location has.
const TID: u32 = 4711;

/// A rank with a thread that has a location, sampled so often, whose samples have a function each.
fn sampled(scene: &mut Scene, hertz: u32) -> (OneSupervisor, Writer) {
    let (supervisor, mut writer) = scene.attach(0);
    assert!(writer.open());
    writer.status().tid.store(TID, Ordering::Relaxed);
    let number = ordered(&supervisor, hertz);
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
        let records = super::super::kept::page(scene, 0, 0..u64::MAX, after);
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
        sampling: How::perf(1000),
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene, 1000);
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

    let buffers = super::super::kept::buffers(&mut scene);
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
        sampling: How::perf(1000),
        buffer_bytes: 256 << 10,
        strategy: Box::new("samples".parse().expect("a strategy")),
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene, 1000);
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
                how: How {
                    frequency: 1000, ..
                },
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
    let told = super::super::kept::buffers(&mut scene);
    let named = told.named.iter().find_map(|one| one.halvings);
    let of_both = Halvings {
        buffer: halvings,
        known: halvings,
    };
    assert_eq!(named, Some(of_both));
    let thinned = told.thinned.map(|of| (of.untold, of.least, of.most));
    assert_eq!(thinned, Some((0, halvings, halvings)));
    // What is left is evenly spaced over all of the time.
    let (samples, _) = kept(&mut scene);
    let all: Vec<u64> = samples.iter().map(|sample| sample.ordinal).collect();
    let step = 1 << halvings;
    assert_eq!(all.first(), Some(&step));
    let uneven = all.windows(2).find(|two| two[1] - two[0] != step);
    assert_eq!(uneven, None);
    assert_eq!(all.last(), Some(&ordinal));
}

fn ask_of(scene: &mut Scene, ms: std::ops::Range<u64>) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Profile {
            chosen: Chosen::ALL,
            past: Some(Past {
                from_ns: job(ms.start),
                to_ns: job(ms.end),
            }),
        },
    });
}

fn answered(said: Vec<Up>) -> Option<Profile> {
    said.into_iter().find_map(|up| match up {
        Up::Partial {
            partial: Partial::Profile(profile),
            ..
        } => Some(*profile),
        _ => None,
    })
}

/// The answer, which takes some steps of the place.
fn profile_of(scene: &mut Scene, ms: std::ops::Range<u64>) -> Profile {
    ask_of(scene, ms);
    assert!(answered(scene.said()).is_none(), "packets are taken first");
    let mut steps = (0..1000).map(|_| answered(scene.step(0)));
    steps.find_map(|answer| answer).expect("a profile")
}

/// Names of functions with their time here and below, and their own, in ms.
fn times(profile: &Profile) -> Vec<(&str, u64, u64)> {
    let of = profile.nodes.iter().map(|node| match &node.frame {
        Frame::Function { name, .. } => (name.as_str(), node.ns / MS, node.own_ns / MS),
        other => panic!("{other:?}"),
    });
    of.collect()
}

#[test]
fn a_time_in_the_past_has_its_own_samples() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        sampling: How::perf(1000),
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene, 1000);
    scene.step(100);
    // Every fourth one writes.
    let context = |n: u64| if n.is_multiple_of(4) { 3 } else { 2 };
    let all: Vec<(u64, u64, u32)> = (1..=60).map(|n| (n * MS, n, context(n))).collect();
    take(&supervisor, TID, 0, &all);
    scene.step(1);

    let profile = profile_of(&mut scene, 10..50);
    assert_eq!(
        times(&profile),
        [("main", 40, 0), ("solve", 30, 30), ("write", 10, 10)]
    );
    let seen = profile.seen;
    assert_eq!((seen.samples, seen.frequency), (40, (1000, 1000)));
    assert_eq!((seen.cpu_ns / MS, seen.elapsed_ns / MS), (40, 40));
    assert_eq!((profile.ranks, profile.sampled), (2, 1));
    let why: Vec<NoSamples> = profile.without.keys().copied().collect();
    assert_eq!(why, [NoSamples::Starting]);
    let of = Past {
        from_ns: job(10),
        to_ns: job(50),
    };
    let (cut_ranks, gone_until_ns, not_kept) = (0, 0, 2);
    let kept = KeptTime {
        of,
        cut_ranks,
        gone_until_ns,
        not_kept,
    };
    assert_eq!(profile.kept, Some(kept));

    // Halved: each stands for two intervals.
    let more: Vec<(u64, u64, u32)> = (31..=40).map(|n| (2 * n * MS, 2 * n, 2)).collect();
    take(&supervisor, TID, 1, &more);
    scene.step(1);
    let profile = profile_of(&mut scene, 50..90);
    assert_eq!((profile.seen.samples, profile.seen.cpu_ns / MS), (21, 31));
    assert_eq!(profile.seen.frequency, (500, 1000));

    // What lies ahead is no time in which it was sampled; nor is what comes behind its end.
    let now = (scene.now.ns - START_NS) / MS;
    take(&supervisor, TID, 1, &[(now * MS, now & !1, 2)]);
    scene.step(10);
    let profile = profile_of(&mut scene, now - 10..now + 1000);
    assert_eq!(
        profile.seen.elapsed_ns / MS,
        10,
        "as far as samples have come"
    );
    let now = now + 10;
    scene.command(1, Verb::Sampling(How::perf(0)));
    let number = ordered(&supervisor, 0);
    answer(&supervisor, number, Ok(()));
    scene.step(1);
    scene.step(99);
    let profile = profile_of(&mut scene, now + 20..now + 90);
    assert!(
        profile.without.contains_key(&NoSamples::NotThen),
        "{profile:?}"
    );
    assert_eq!(profile.sampled, 0);
}

/// The newest are kept, and the answer says what is missing.
#[test]
fn a_time_of_which_samples_are_gone_says_so() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        sampling: How::perf(10_000),
        buffer_bytes: 128 << 10,
        ..JobInfo::default()
    });
    let (supervisor, _writer) = sampled(&mut scene, 10_000);
    // Closer than their pace says: the buffer is to be full before the clock is measured again.
    const ALL_MS: u64 = 600;
    const IN_MS: u64 = 100;
    scene.step(ALL_MS);
    let all: Vec<(u64, u64, u32)> = (1..=IN_MS * ALL_MS)
        .map(|n| (n * MS / IN_MS, n, 2))
        .collect();
    for some in all.chunks(250) {
        take(&supervisor, TID, 0, some);
        scene.step(0);
    }
    let profile = profile_of(&mut scene, 0..ALL_MS);
    let kept = profile.kept.expect("of a time");
    assert_eq!(kept.cut_ranks, 1);
    let whole = (job(ALL_MS) - kept.gone_until_ns) / (MS / IN_MS);
    assert!((5_000..IN_MS * ALL_MS).contains(&whole), "{whole}");
    assert!(
        profile.seen.samples.abs_diff(whole) <= 1,
        "{whole}: {:?}",
        profile.seen
    );
    let profile = profile_of(&mut scene, ALL_MS - 50..ALL_MS);
    assert_eq!(profile.kept.map(|kept| kept.cut_ranks), Some(0));
    assert_eq!(times(&profile), [("main", 500, 0), ("solve", 500, 500)]);

    // What takes too long is told as far as it is known, to all who asked it.
    ask_of(&mut scene, 0..ALL_MS);
    ask_of(&mut scene, 0..ALL_MS);
    let said = scene.step(760);
    assert_eq!(said.len(), 2, "{said:?}");
    let late = answered(said).expect("an answer");
    assert_eq!((late.ranks, late.sampled), (2, 0));
    let silent = late.without.get(&NoSamples::Silent).map(|of| of.ranks);
    assert_eq!(silent, Some(2));
}
