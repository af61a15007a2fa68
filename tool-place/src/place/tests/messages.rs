//! Messages of the place's ranks among themselves, and with ranks of other places.

use super::*;
use invivo_proto::control::decode;
use invivo_proto::control::peer::Endpoints;
use invivo_proto::control::results::Messages;
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::record::RecordKind;

fn call(kind: RecordKind, peer: i32, begin_ms: u64, end_ms: u64) -> Call {
    Call {
        facts: Facts {
            kind,
            region: RegionId(3),
            peer,
            tag: 5,
            bytes_out: 8,
            bytes_in: 8,
            ..Facts::default()
        },
        end: end_ms * MS,
        duration: (end_ms - begin_ms) * MS,
        ..Call::default()
    }
}

fn asked(scene: &mut Scene) -> Messages {
    scene.down(Down::Query {
        wave: WaveId(7),
        query: Query::Messages { past: None },
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Messages(messages),
            ..
        }) => *messages,
        other => panic!("no messages but {other:?}"),
    }
}

/// Ranks 0 and 1 of this place, 2 and 3 of the next; records are looked at as they come.
fn scene() -> (Scene, [(OneSupervisor, Writer); 2]) {
    let mut scene = Scene::in_layout("4:2,8:tail", 4);
    scene.begin(JobInfo {
        recording: true,
        ..JobInfo::default()
    });
    let ranks = [0, 1].map(|rank| scene.attach(rank));
    scene.step(1);
    (scene, ranks)
}

/// What the place has for the next one.
fn to_the_next(scene: &mut Scene, credit: bool) -> Vec<Endpoints> {
    let sent = scene.place.take_peers(scene.now, |_| credit);
    let open = |(to, bytes): (WorldRank, Vec<u8>)| {
        assert_eq!(to, WorldRank(5));
        decode(&bytes).expect("endpoints")
    };
    sent.into_iter().map(open).collect()
}

#[test]
fn a_late_sender_below_the_same_place() {
    on_both_sides(|| {
        let (mut scene, [(_first, mut sender), (_second, mut receiver)]) = scene();
        receiver.open();
        receiver.call(&call(RecordKind::Recv, 0, 10, 40), &[]);
        sender.open();
        sender.call(&call(RecordKind::Send, 1, 30, 35), &[]);
        scene.step(200);
        let messages = asked(&mut scene);
        assert_eq!((messages.sent.messages, messages.matched.messages), (1, 1));
        assert_eq!(messages.transfer.sum_ns, 10 * MS);
        assert_eq!(
            (messages.late_sender.sum_ns, messages.late_sender.max_rank),
            (20 * MS, Rank(1))
        );
        assert_eq!(to_the_next(&mut scene, true), []);
    });
}

/// A send to another place goes there and one from there is matched here.
#[test]
fn sends_are_matched_across_places() {
    on_both_sides(|| {
        let (mut scene, [(_first, mut sender), (_second, mut receiver)]) = scene();
        sender.open();
        sender.call(&call(RecordKind::Send, 2, 30, 35), &[]);
        receiver.open();
        receiver.call(&call(RecordKind::Recv, 3, 50, 60), &[]);
        scene.step(200);
        assert_eq!(to_the_next(&mut scene, false), [], "it takes nothing");
        scene.step(20);
        let sent = to_the_next(&mut scene, true);
        let [endpoints] = &sent[..] else {
            panic!("{sent:?}")
        };
        let [send] = endpoints.sends[..] else {
            panic!("{endpoints:?}")
        };
        assert_eq!(
            (endpoints.from, send.destination, send.source, send.tag),
            (WorldRank(4), Rank(2), 0, 5)
        );
        assert_eq!(send.begin_ns, job(30));
        // As if it had been sent by rank 3 to rank 1, at the same time.
        let mut from_there = endpoints.clone();
        from_there.from = WorldRank(5);
        from_there.sends[0].destination = Rank(1);
        from_there.sends[0].source = 3;
        scene
            .place
            .peer(WorldRank(5), &encode(&from_there).unwrap());
        let messages = asked(&mut scene);
        assert_eq!((messages.sent.messages, messages.matched.messages), (1, 1));
        assert_eq!(
            (messages.transfer.sum_ns, messages.late_sender.count),
            (30 * MS, 0)
        );
        assert!(scene.status().notes.is_empty());
    });
}

/// What comes from no place or is no message is noted and not used.
#[test]
fn peer_messages_of_strangers_are_noted_and_not_used() {
    on_both_sides(|| {
        let (mut scene, _ranks) = scene();
        let endpoints = encode(&Endpoints::new(WorldRank(5), 0, Vec::new())).unwrap();
        for (from, bytes) in [
            (5, &[0xff; 9][..]),
            (4, &endpoints),
            (6, &endpoints),
            (0, &endpoints),
            (99, &endpoints),
        ] {
            scene.place.peer(WorldRank(from), bytes);
        }
        let notes = scene.status().notes;
        assert!(
            notes.len() == 1 && notes[0].contains("the first of 5"),
            "{notes:?}"
        );
    });
}

/// What lies before a reset does not count and keeps its order.
#[test]
fn messages_before_a_reset_only_keep_the_order() {
    on_both_sides(|| {
        let (mut scene, [(_first, mut sender), (_second, mut receiver)]) = scene();
        sender.open();
        sender.call(&call(RecordKind::Send, 1, 10, 11), &[]);
        scene.command(1, Verb::Reset { at_ns: job(50) });
        scene.step(100);
        receiver.open();
        receiver.call(&call(RecordKind::Recv, 0, 60, 70), &[]);
        sender.call(&call(RecordKind::Send, 1, 71, 72), &[]);
        receiver.call(&call(RecordKind::Recv, 0, 80, 90), &[]);
        scene.step(200);
        let messages = asked(&mut scene);
        assert_eq!((messages.sent.messages, messages.received.messages), (1, 2));
        assert_eq!((messages.matched.messages, messages.unmatched.cut), (1, 1));
        assert_eq!(messages.transfer.sum_ns, 19 * MS);
    });
}

/// The end waits a little for what goes to other places.
#[test]
fn the_end_waits_for_messages_to_other_places() {
    on_both_sides(|| {
        let (mut scene, mut ranks) = scene();
        ranks[0].1.open();
        ranks[0].1.call(&call(RecordKind::Send, 2, 10, 11), &[]);
        for (supervisor, rank) in &ranks {
            rank.page().phase.store(phase::DRAINED, Ordering::Release);
            supervisor.say(&FromSupervisor::Ended(Ended::Code(0)));
        }
        assert_eq!(scene.step(50), []);
        assert_eq!(scene.step(50), [], "the next place has not taken it");
        assert_eq!(to_the_next(&mut scene, true).len(), 1);
        assert_eq!(scene.step(1), [Up::Drained]);
    });
}

/// A place that takes nothing does not hold the end up.
#[test]
fn a_place_that_takes_nothing_delays_no_end() {
    on_both_sides(|| {
        let (mut scene, mut ranks) = scene();
        ranks[0].1.open();
        ranks[0].1.call(&call(RecordKind::Send, 2, 10, 11), &[]);
        for (_, rank) in &ranks {
            rank.page().phase.store(phase::DRAINED, Ordering::Release);
        }
        let mut said = Vec::new();
        for _ in 0..7 {
            said.extend(scene.step(100));
        }
        assert_eq!(said, [Up::Drained]);
        assert_eq!(asked(&mut scene).sent.messages, 1);
    });
}

/// Before job time is known messages wait and then they have their time.
#[test]
fn messages_wait_for_job_time() {
    on_both_sides(|| {
        let mut scene = Scene::in_layout("4:2,8:tail", 4);
        scene.has_clock = false;
        scene.begin(JobInfo {
            recording: true,
            ..JobInfo::default()
        });
        let [(_first, mut sender), (_second, mut receiver)] = [0, 1].map(|rank| scene.attach(rank));
        sender.open();
        receiver.open();
        sender.call(&call(RecordKind::Send, 1, 10, 11), &[]);
        sender.call(&call(RecordKind::Send, 2, 12, 13), &[]);
        scene.step(200);
        assert!(!scene.place.hears_peers());
        assert_eq!(to_the_next(&mut scene, true), []);
        let messages = asked(&mut scene);
        assert_eq!((messages.sent.messages, messages.matched.messages), (2, 0));
        // The first question is answered late, those behind it at once.
        let (asked_ns, now_ns) = (scene.first_asked_ns.unwrap(), scene.now.ns);
        scene.has_clock = true;
        scene.down(Down::Time {
            asked_ns,
            job_ns: job(0) + asked_ns + (now_ns - asked_ns) / 2 - START_NS,
            error_ns: 0,
            parent_ns: 0,
            here: Whereabouts::default(),
        });
        scene.step(1);
        assert!(
            !scene.place.hears_peers(),
            "that is known to a tenth of a second only"
        );
        for _ in 0..10 {
            scene.step(20);
        }
        assert!(scene.place.hears_peers());
        let sent = to_the_next(&mut scene, true);
        // To as well as job time is known then.
        assert!(sent[0].sends[0].begin_ns.abs_diff(job(12)) <= MS);
        let ms = scene.now.ticks / MS;
        receiver.call(&call(RecordKind::Recv, 0, ms + 20, ms + 30), &[]);
        scene.step(200);
        let messages = asked(&mut scene);
        assert_eq!((messages.matched.messages, messages.untimed), (1, 0));
        assert!(messages.transfer.sum_ns.abs_diff((ms + 20) * MS) <= MS);
        assert!(messages.clock_error_ns <= MS);
    });
}

/// What comes before the job is told is put together and what comes before a switch is not.
#[test]
fn messages_before_a_switch_are_not_matched() {
    on_both_sides(|| {
        let mut scene = Scene::in_layout("4:2,8:tail", 4);
        let [(_first, mut sender), (_second, mut receiver)] = [0, 1].map(|rank| scene.attach(rank));
        let matched = |scene: &mut Scene| {
            scene.step(150);
            let messages = asked(scene);
            (messages.matched.messages, messages.transfer.sum_ns)
        };
        sender.open();
        receiver.open();
        scene.step(50);
        sender.call(&call(RecordKind::Send, 1, 10, 11), &[]);
        scene.begin(JobInfo {
            recording: true,
            ..JobInfo::default()
        });
        receiver.call(&call(RecordKind::Recv, 0, 60, 70), &[]);
        assert_eq!(matched(&mut scene), (1, 60 * MS));
        // This place comes to record later than that of a sender, whose first message is received
        // unseen.
        for (id, on) in [(1, false), (2, true)] {
            let at_ns = job(scene.now.ticks / MS + 10);
            scene.command(
                id,
                Verb::Record {
                    on,
                    epoch: id as u32,
                    at_ns,
                },
            );
            scene.step(20);
        }
        let ms = scene.now.ticks / MS;
        sender.call(&call(RecordKind::Send, 1, ms - 25, ms - 24), &[]);
        sender.call(&call(RecordKind::Send, 1, ms + 1, ms + 2), &[]);
        receiver.call(&call(RecordKind::Recv, 0, ms + 3, ms + 4), &[]);
        assert_eq!(matched(&mut scene), (2, 63 * MS));
    });
}
