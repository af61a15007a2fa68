//! When the place rests for long, who wakes it, and what it takes before it answers.

use super::*;
use invivo_mpi_link::bell::whereabouts;
use invivo_mpi_link::idle::{Pace, REST_CALM};
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::results::Group;
use invivo_proto::control::tree::Partial;
use invivo_proto::definition::{Definition, Run};
use invivo_proto::ids::{CommId, CommLocal, Rank};
use invivo_proto::record::RecordKind;
use invivo_tbon::limits::ALERT_NS;

/// A place whose two ranks are there and can ring, and whose root is on its node.
fn on_one_node() -> (Scene, Vec<(OneSupervisor, Writer)>) {
    let mut scene = Scene::before();
    scene.has_clock = false;
    scene.place = scene.place.located(whereabouts());
    scene.begin_with_usual(JobInfo {
        recording: true,
        ..JobInfo::default()
    });
    let attach = |rank| {
        let (descriptor, region) = memory(rank, 4);
        region.page().phase.store(phase::RUNNING, Ordering::Release);
        let supervisor = scene.connect();
        supervisor.attach_process(rank, std::process::id(), Some(&descriptor));
        (supervisor, Writer::new(region))
    };
    let ranks: Vec<_> = [0, 1].map(attach).into();
    scene.step(1);
    scene.down(Down::Time {
        asked_ns: scene.now.ns,
        job_ns: scene.now.ns,
        error_ns: 0,
        parent_ns: scene.now.ns,
        here: whereabouts(),
    });
    (scene, ranks)
}

/// Nobody does anything for as long as the place stays alert; the root lives.
fn quiet(scene: &mut Scene) {
    for _ in 0..4 {
        scene.down(Down::Heartbeat);
        scene.step(ALERT_NS / MS / 3);
    }
    scene.down(Down::Heartbeat);
}

#[test]
fn a_quiet_place_asks_its_ranks_to_wake_it() {
    let (mut scene, ranks) = on_one_node();
    quiet(&mut scene);
    assert_eq!(scene.place.pace(scene.now), Pace::Calm(REST_CALM));
    assert!(scene.place.ask_to_be_woken() && !scene.place.ask_to_be_woken());
    for (_, rank) in &ranks {
        let bell = &rank.page().control.bell;
        assert_eq!(bell.swap(0, Ordering::Relaxed), std::process::id());
    }
    assert!(scene.place.ask_to_be_woken(), "they have rung");

    // Who has more to say behind it wakes the place.
    scene.command(1, Verb::Resume);
    scene.step(1);
    assert_eq!(scene.place.pace(scene.now), Pace::Calm(REST_CALM));
}

#[test]
fn pauses_and_ending_ranks_keep_it_alert() {
    let (mut scene, ranks) = on_one_node();
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 60_000 * MS,
        },
    );
    for (supervisor, _) in &ranks {
        supervisor.say(&FromSupervisor::Acted {
            generation: 1,
            outcome: Outcome::Stopped,
        });
    }
    scene.step(1);
    quiet(&mut scene);
    assert_eq!(scene.place.pace(scene.now), Pace::Alert);
    scene.command(2, Verb::Resume);
    for (supervisor, _) in &ranks {
        supervisor.say(&FromSupervisor::Acted {
            generation: 2,
            outcome: Outcome::Running,
        });
    }
    scene.step(1);
    quiet(&mut scene);
    assert_eq!(scene.place.pace(scene.now), Pace::Calm(REST_CALM));

    ranks[1].0.say(&FromSupervisor::Ended(Ended::Signal(9)));
    scene.step(1);
    assert_eq!(scene.place.pace(scene.now), Pace::Alert);
}

#[test]
fn the_first_answer_has_what_came_during_a_rest() {
    let (mut scene, mut ranks) = on_one_node();
    scene.step(ALERT_NS / MS);
    scene.step(1);
    let rank = &mut ranks[0].1;
    let call = Call {
        facts: Facts {
            region: RegionId(3),
            ..Facts::default()
        },
        end: scene.now.ticks,
        duration: 4,
        ..Call::default()
    };
    assert!(rank.open());
    rank.call(&call, &[]);
    scene.now.ns += 200 * MS;
    scene.now.ticks += 200 * MS;
    scene.down(Down::Query {
        wave: WaveId(7),
        query: Query::Functions {
            rank_rows_max: 0,
            past: None,
        },
    });
    let Some(Up::Partial {
        partial: Partial::Functions(table),
        coverage,
        ..
    }) = scene.said().pop()
    else {
        panic!("no function table");
    };
    let calls: u64 = table.rows.values().map(|row| row.time.count).sum();
    assert_eq!((calls, coverage.lag_ns), (1, 0));
}

#[test]
fn the_first_answer_knows_communicators_of_a_rest() {
    for is_told in [true, false] {
        let (mut scene, mut ranks) = on_one_node();
        scene.down(Down::Analyses(AnalysisSet::of(Analysis::Matrix)));
        scene.step(ALERT_NS / MS);
        scene.step(1);
        let id = CommId {
            leader: Rank(1),
            counter: 1,
        };
        let rank = &mut ranks[0].1;
        rank.define(&Definition::Communicator {
            local: CommLocal(5),
            id,
            rank: 1,
            size: 2,
            remote: None,
        });
        let send = Call {
            facts: Facts {
                kind: RecordKind::Send,
                region: RegionId(3),
                comm: CommLocal(5),
                peer: 0,
                bytes_out: 8,
                ..Facts::default()
            },
            end: scene.now.ticks,
            duration: 4,
            ..Call::default()
        };
        assert!(rank.open());
        rank.call(&send, &[]);
        scene.now.ns += 200 * MS;
        scene.now.ticks += 200 * MS;
        for wave in [7, 8] {
            scene.down(Down::Query {
                wave: WaveId(wave),
                query: Query::Matrix {
                    side_max: 4,
                    past: None,
                },
            });
        }
        assert_eq!(scene.said(), [Up::WantGroups(vec![id])], "who is rank 0?");
        assert_eq!(scene.step(1), [], "nobody knows yet");

        let member = Run {
            first: Rank(1),
            stride: -1,
            count: 2,
        };
        let group = Group {
            pieces: [(0, vec![member])].into(),
        };
        if is_told {
            scene.down(Down::Groups([(id, group)].into()));
        }
        let answers = scene.step(if is_told { 1 } else { LATENCY_NS / MS - 1 });
        assert_eq!(answers.len(), 2);
        for answer in answers {
            let Up::Partial {
                partial: Partial::Matrix(matrix),
                ..
            } = answer
            else {
                panic!("no matrix but {answer:?}");
            };
            let to_1 = matrix.sent.get(&(0, 1)).map_or(0, |sent| sent.messages);
            let unresolved = matrix.unresolved.messages;
            assert_eq!([to_1, unresolved], [is_told, !is_told].map(u64::from));
        }
    }
}
