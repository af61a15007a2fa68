//! The whole place: the test plays the root, the supervisors and the ranks.

use super::job_end::ATTACH_NS;
use super::*;
use crate::testing::{Writer, memory};
use invivo_proto::control::encode;
use invivo_proto::control::local::{FromSupervisor, Outcome, ToSupervisor};
use invivo_proto::control::results::{JobStatus, RankState};
use invivo_proto::control::tree::{Acks, Ended, Partial, Query};
use invivo_proto::ids::{CommandId, Rank, RegionId, WaveId};
use invivo_proto::mpi::ABORT;
use invivo_proto::record::{Call, Facts};
use invivo_proto::shm::{inside, phase};
use invivo_tbon::limits::SILENCE_NS_MAX;
use rustix::net::{RecvFlags, recv};
use std::sync::atomic::Ordering;

mod scene;
use scene::*;

const MATRIX: Query = Query::Matrix {
    side_max: 8,
    past: None,
};

fn call(number: u64) -> Call {
    let facts = Facts {
        region: RegionId(3),
        ..Facts::default()
    };
    Call {
        facts,
        end: 10 * number + 5,
        duration: 4,
        ..Call::default()
    }
}

#[test]
fn a_pause_closes_gates_stops_ranks_and_ends_on_resume() {
    let mut scene = Scene::new();
    let (first, rank0) = scene.attach(0);
    let (second, rank1) = scene.attach(1);
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 60_000 * MS,
        },
    );
    for (supervisor, rank) in [(&first, &rank0), (&second, &rank1)] {
        let control = &rank.page().control;
        assert_eq!(control.gate.load(Ordering::Acquire), 1);
        assert!(control.gate_until_ns.load(Ordering::Acquire) > scene.now.ns);
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Stop { generation: 1 })
        );
        supervisor.say(&FromSupervisor::Acted {
            generation: 1,
            outcome: Outcome::Stopped,
        });
    }
    let acks = Acks {
        targets: 2,
        done: 2,
        slowest: Some((Rank(0), MS)),
        ..Acks::default()
    };
    assert_eq!(
        scene.step(1),
        [Up::Ack {
            command: CommandId(1),
            acks
        }]
    );
    let status = scene.status();
    assert_eq!(status.states[RankState::Paused as usize], 2);
    assert_eq!(status.pause.map(|pause| pause.command), Some(CommandId(1)));
    scene.command(2, Verb::Resume);
    for (supervisor, rank) in [(&first, &rank0), (&second, &rank1)] {
        assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Continue { generation: 1 })
        );
        supervisor.say(&FromSupervisor::Acted {
            generation: 1,
            outcome: Outcome::Running,
        });
    }
    assert!(
        matches!(&scene.step(1)[..], [Up::Ack { command: CommandId(2), acks }] if acks.done == 2)
    );
    assert_eq!(scene.status().states[RankState::Computing as usize], 2);
}

#[test]
fn a_rank_that_comes_during_a_pause_is_held() {
    let mut scene = Scene::new();
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 60_000 * MS,
        },
    );
    let (supervisor, rank) = scene.attach(1);
    assert_eq!(
        supervisor.hear(),
        Some(ToSupervisor::Stop { generation: 1 })
    );
    assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 1);
}

#[test]
fn the_normal_end() {
    let mut scene = Scene::new();
    let mut ranks = [scene.attach(0), scene.attach(1)];
    for (_, rank) in &mut ranks {
        rank.open();
        (0..3).for_each(|number| rank.call(&call(number), &[]));
        rank.leave();
        rank.page().phase.store(phase::DRAINED, Ordering::Release);
    }
    assert_eq!(scene.step(1), [Up::Drained]);
    let status = scene.status();
    assert_eq!(status.states[RankState::Finished as usize], 2);
    assert!(status.named.iter().all(|rank| rank.entered == 3));
    // That the processes end now is no news.
    ranks[0].0.say(&FromSupervisor::Ended(Ended::Code(3)));
    assert_eq!(scene.step(1), []);
    scene.down(Down::Shutdown);
    assert_eq!(scene.place.exit(), Some(Exit::Finalize));
}

#[test]
fn records_of_a_dead_rank_are_taken_before_its_report() {
    let mut scene = Scene::new();
    let (supervisor, mut rank) = scene.attach(0);
    let (_other, drained) = scene.attach(1);
    rank.open();
    (0..5).for_each(|number| rank.call(&call(number), &[]));
    supervisor.say(&FromSupervisor::Ended(Ended::Signal(11)));
    let mut said = scene.step(1);
    said.extend(scene.step(1));
    let ended = RankEnded {
        rank: Rank(0),
        how: Ended::Signal(11),
        inside: None,
    };
    assert_eq!(said, [Up::RankEnded(ended)]);
    scene.ask(2, MATRIX);
    let [Up::Partial { coverage, .. }] = &scene.said()[..] else {
        panic!("no answer")
    };
    assert_eq!((coverage.ledger.entered, coverage.ledger.kept), (5, 5));
    assert_eq!(
        supervisor.hear(),
        None,
        "it must stay until the result is made"
    );
    scene.down(Down::Release);
    assert_eq!(supervisor.hear(), Some(ToSupervisor::Leave));
    drained
        .page()
        .phase
        .store(phase::DRAINED, Ordering::Release);
    assert_eq!(
        scene.step(1),
        [],
        "the launcher is to see the rank's end first"
    );
    drop(supervisor);
    assert_eq!(scene.step(1), [Up::Drained]);
    scene.down(Down::Shutdown);
    assert_eq!(scene.place.exit(), Some(Exit::Abandon));
}

#[test]
fn what_a_rank_does_behind_its_supervisors_end_is_taken() {
    let mut scene = Scene::new();
    let (descriptor, region) = memory(0, 4);
    region.page().phase.store(phase::RUNNING, Ordering::Release);
    let mut process = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let supervisor = scene.connect();
    supervisor.attach_process(0, process.id(), Some(&descriptor));
    scene.step(1);
    let mut rank = Writer::new(region);
    rank.open();
    rank.call(&call(0), &[]);
    drop(supervisor);
    assert_eq!(scene.step(1), [], "it is still there");
    rank.call(&call(1), &[]);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(matches!(&scene.step(1)[..], [Up::RankEnded(_)]));
    scene.ask(2, MATRIX);
    let [Up::Partial { coverage, .. }] = &scene.said()[..] else {
        panic!("no answer")
    };
    assert_eq!((coverage.ledger.entered, coverage.ledger.kept), (2, 2));
}

/// A rank that outlives its supervisor is not waited for for ever.
#[test]
fn waiting_for_an_orphaned_rank_ends() {
    let mut scene = Scene::new();
    let (descriptor, region) = memory(0, 4);
    region.page().phase.store(phase::RUNNING, Ordering::Release);
    let supervisor = scene.connect();
    supervisor.attach_process(0, std::process::id(), Some(&descriptor));
    scene.step(1);
    drop(supervisor);
    assert_eq!(scene.step(1), []);
    assert!(matches!(&scene.step(1000)[..], [Up::RankEnded(_)]));
}

/// A supervisor does not stay for a question that it gets at the end.
/// Who left with a question unread has said how its rank ended.
#[test]
fn an_end_is_known_behind_an_unread_question() {
    let mut scene = Scene::new();
    let (supervisor, _rank) = scene.attach(0);
    scene.down(Down::Query {
        wave: WaveId(2),
        query: Query::Stacks {
            chosen: invivo_proto::control::stacks::Chosen::ALL,
            threads: false,
        },
    });
    supervisor.say(&FromSupervisor::Ended(Ended::Code(3)));
    drop(supervisor);
    let said = scene.step(1);
    let how = said.iter().find_map(|up| match up {
        Up::RankEnded(ended) => Some(ended.how),
        _ => None,
    });
    assert_eq!(how, Some(Ended::Code(3)), "{said:?}");
}

#[test]
fn a_rank_that_aborted_is_told_by_its_own_code() {
    let mut scene = Scene::new();
    let (supervisor, rank) = scene.attach(1);
    rank.page().abort_code.store(7, Ordering::Release);
    rank.page().phase.store(phase::ABORTING, Ordering::Release);
    supervisor.say(&FromSupervisor::Ended(Ended::Signal(9)));
    let ended = RankEnded {
        rank: Rank(1),
        how: Ended::Code(7),
        inside: Some(ABORT),
    };
    assert_eq!(scene.step(1), [Up::RankEnded(ended)]);
}

#[test]
fn a_lost_root_ends_the_pause_and_the_place() {
    let mut scene = Scene::new();
    let (supervisor, rank) = scene.attach(0);
    let (_other, second) = scene.attach(1);
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 600_000 * MS,
        },
    );
    assert_eq!(
        supervisor.hear(),
        Some(ToSupervisor::Stop { generation: 1 })
    );
    scene.step(SILENCE_NS_MAX / MS - 1);
    assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 1);
    scene.step(2);
    assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
    assert_eq!(
        supervisor.hear(),
        Some(ToSupervisor::Continue { generation: 1 })
    );
    scene.step(60_000);
    assert_eq!(scene.place.exit(), None, "the application runs on");
    for rank in [&rank, &second] {
        rank.page().phase.store(phase::DRAINED, Ordering::Release);
    }
    scene.step(1);
    scene.step(1);
    assert_eq!(scene.place.exit(), Some(Exit::RootLost));
}

/// A rank whose library gave up does not hold the end back.
#[test]
fn a_silent_rank_does_not_hold_the_end_back() {
    let mut scene = Scene::new();
    let (_first, rank) = scene.attach(0);
    let (_second, other) = scene.attach(1);
    rank.page().phase.store(phase::SILENT, Ordering::Release);
    other.page().phase.store(phase::DRAINED, Ordering::Release);
    assert_eq!(scene.step(1), [Up::Drained]);
    assert_eq!(scene.status().notes.len(), 1);
}

/// A rank that nobody attached does not hold the end back for ever.
#[test]
fn waiting_for_a_rank_that_never_attached_ends() {
    let mut scene = Scene::new();
    let (_first, rank) = scene.attach(0);
    rank.page().phase.store(phase::DRAINED, Ordering::Release);
    for _ in 0..ATTACH_NS / MS / 1000 {
        scene.down(Down::Heartbeat);
        assert_eq!(scene.step(1000 - 1), []);
    }
    scene.down(Down::Heartbeat);
    assert_eq!(scene.step(1000), [Up::Drained]);
}

/// Whoever does not belong here is turned away and nobody else notices.
#[test]
fn strangers_are_turned_away_without_harm() {
    let mut scene = Scene::new();
    let (descriptor, _region) = memory(0, 4);
    let (foreign, _region) = memory(1, 4);
    let strangers: Vec<OneSupervisor> = (0..6).map(|_| scene.connect()).collect();
    strangers[0].send(b"\xff\xff garbage");
    strangers[1].attach(7, Some(&descriptor));
    strangers[2].attach(0, None);
    strangers[3].say(&FromSupervisor::Ended(Ended::Code(0)));
    strangers[4].send(&[0; 20_000]);
    strangers[5].attach(0, Some(&foreign));
    scene.step(1);
    let notes = scene.status().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes.iter().any(|note| note.contains("the first of 5")),
        "{notes:?}"
    );
    for index in [0, 1, 2, 3, 4] {
        assert_eq!(
            recv(&strangers[index].0, &mut [0u8; 1][..], RecvFlags::empty())
                .unwrap()
                .0,
            0
        );
    }
    drop(strangers);
    scene.step(1);
    let (supervisor, rank) = scene.attach(0);
    scene.command(1, Verb::Pause { lease_ns: MS });
    assert_eq!(
        supervisor.hear(),
        Some(ToSupervisor::Stop { generation: 1 })
    );
    assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 1);
}

#[test]
fn packets_that_are_not_their_senders_are_refused_and_counted() {
    let mut scene = Scene::new();
    let (_supervisor, mut rank) = scene.attach(0);
    rank.open();
    rank.call(&call(0), &[]);
    let message = rank.send();
    let mut corrupt = message.clone();
    corrupt[100] ^= 1;
    scene.place.packet(WorldRank(0), Some(&corrupt));
    scene.place.packet(WorldRank(1), Some(&message));
    scene.place.packet(WorldRank(9), Some(&message));
    scene.place.packet(WorldRank(0), Some(&message[..50]));
    scene.place.packet(WorldRank(0), None);
    scene.ask(1, MATRIX);
    let [Up::Partial { coverage, .. }] = &scene.said()[..] else {
        panic!("no answer")
    };
    assert_eq!(
        (
            coverage.packets_refused,
            coverage.ledger.kept,
            coverage.ledger.in_flight
        ),
        (4, 0, 1)
    );
    let notes = scene.status().notes;
    assert!(
        notes.len() == 1 && notes[0].contains("the first of 5"),
        "{notes:?}"
    );
    scene.place.packet(WorldRank(0), Some(&message));
    scene.ask(2, MATRIX);
    let [Up::Partial { coverage, .. }] = &scene.said()[..] else {
        panic!("no answer")
    };
    assert_eq!((coverage.ledger.entered, coverage.ledger.kept), (1, 1));
    scene.place.down(scene.now, &[0xff; 20]);
    assert_eq!(scene.status().notes.len(), 2);
}

mod hang;
mod held;
mod intervals;
mod iterations;
mod kept;
mod measuring;
mod messages;
mod recorded;
mod rest;
mod salvage;
mod sampling;
mod saving;
mod selecting;
mod sites;
mod stacks;
mod switches;
mod timeline;

/// A place that does not keep up says so, and what to ask for.
#[test]
fn a_place_that_falls_behind_says_what_to_ask_for() {
    let mut scene = Scene::new();
    let (_first, mut rank0) = scene.attach(0);
    rank0.open();
    rank0.call(&call(0), &[]);
    scene.step(1);
    assert!(scene.status().notes.is_empty());
    let status = &rank0.page().status[0];
    status.entered.fetch_add(7, Ordering::Release);
    status.dropped[0].store(7, Ordering::Release);
    let notes = scene.status().notes;
    assert_eq!(
        notes,
        [
            "the tool place of ranks 0 to 1 does not keep up: 7 calls dropped for want of a free \
             packet; --fan-in 1 gives them two"
        ]
    );
}

/// A place that failed in itself holds nothing any more; its ranks run on, are told of when they
/// die, and let the job end.
#[test]
fn a_failed_place_lets_its_ranks_go_on() {
    let mut scene = Scene::new();
    let (first, mut rank0) = scene.attach(0);
    let (second, mut rank1) = scene.attach(1);
    for rank in [&mut rank0, &mut rank1] {
        rank.open();
        (0..3).for_each(|number| rank.call(&call(number), &[]));
    }
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 60_000 * MS,
        },
    );
    for supervisor in [&first, &second] {
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Stop { generation: 1 })
        );
    }
    scene.place.lose(scene.now);
    for (supervisor, rank) in [(&first, &rank0), (&second, &rank1)] {
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Continue { generation: 1 })
        );
        let control = &rank.page().control;
        assert_eq!(control.gate.load(Ordering::Acquire), 0);
        let recording = control.recording.load(Ordering::Acquire);
        assert!(!invivo_proto::shm::recording::is_on(recording));
    }
    scene.step(1);
    let status = scene.status();
    assert!(
        status.notes.iter().any(|note| note.contains("is lost")),
        "{:?}",
        status.notes
    );
    let ledger = scene.place.local.coverage(scene.now).ledger;
    assert_eq!((ledger.entered, ledger.dropped_by_place), (6, 6));
    assert_eq!(invivo_tbon::coverage::balance(&ledger), Ok(()));
    rank0.call(&call(3), &[]);
    let packet = rank0.send();
    scene.place.packet(WorldRank(0), Some(&packet));
    rank0.leave();
    rank0.page().phase.store(phase::DRAINED, Ordering::Release);
    assert_eq!(scene.step(1), []);
    second.say(&FromSupervisor::Ended(Ended::Signal(9)));
    let said = scene.step(1);
    assert!(
        matches!(&said[0], Up::RankEnded(ended) if ended.how == Ended::Signal(9)),
        "{said:?}"
    );
    scene.down(Down::Release);
    assert_eq!(second.hear(), Some(ToSupervisor::Leave));
}
