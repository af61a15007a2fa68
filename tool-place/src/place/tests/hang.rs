//! What ranks wait for: seen on their pages, asked of their supervisors.

use super::*;
use invivo_proto::control::hang::{CollectiveCall, Doing, Hang, Operation, Partner, Side};
use invivo_proto::control::local::{Need, PendingCall, PendingOperation};
use invivo_proto::ids::{CommId, CommLocal};
use invivo_proto::mpi::peer;

const SECOND: u64 = 1000 * MS;
const RECV: RegionId = RegionId(2);

fn ask(scene: &mut Scene) {
    scene.down(Down::Query {
        wave: WaveId(3),
        query: Query::Hang { older_ns: SECOND },
    });
}

fn answer(said: Vec<Up>) -> Option<Hang> {
    said.into_iter().find_map(|up| match up {
        Up::Partial {
            wave: WaveId(3),
            partial: Partial::Hang(waits),
            ..
        } => Some(*waits),
        _ => None,
    })
}

/// The rank is in a call since this time of the scene. Its ticks are the machine's: several of them
/// may be a nanosecond, so that calls that are old here are ten times as old as need be.
fn stands(rank: &Writer, region: RegionId, since_ms: u64) {
    let status = &rank.page().status[0];
    status.region.store(u32::from(region.0), Ordering::Relaxed);
    status.entered_at.store(since_ms * MS, Ordering::Relaxed);
    status.entered.store(1, Ordering::Relaxed);
    status.inside.store(inside::MPI, Ordering::Release);
}

fn seen(since_ms: u64, need: Need) -> PendingCall {
    PendingCall {
        entered_at: since_ms * MS,
        need,
        passed: vec![(CommLocal::WORLD, 4)],
        site: Some("a.c:7".into()),
        ..PendingCall::default()
    }
}

#[test]
fn a_rank_that_stands_is_looked_at_by_its_supervisor() {
    let mut scene = Scene::new();
    let (first, waiting) = scene.attach(0);
    let (second, young) = scene.attach(1);
    stands(&waiting, RECV, 10);
    stands(&young, RECV, 19_900);
    scene.step(20_000);
    ask(&mut scene);
    assert_eq!(answer(scene.said()), None, "it waits for the supervisor");
    assert_eq!(first.hear(), Some(ToSupervisor::Inspect { inspection: 1 }));
    assert_eq!(second.hear(), None, "a young call may come back");
    let receive = PendingOperation {
        waited: true,
        side: Side::Recv,
        peer: 1,
        comm: CommLocal::WORLD,
        tag: 9,
    };
    let any = PendingOperation {
        peer: peer::ANY,
        waited: false,
        ..receive
    };
    first.say(&FromSupervisor::Inspected {
        inspection: 1,
        call: Some(PendingCall {
            operations: vec![receive, any],
            ..seen(10, Need::All)
        }),
    });
    let waits = answer(scene.step(1)).expect("an answer");
    assert_eq!(waits.ranks, 2);
    let [one] = &waits.pending[..] else {
        panic!("{waits:?}")
    };
    assert_eq!(
        (one.rank, one.doing, one.any),
        (Rank(0), Doing::Messages(RECV), false)
    );
    let operation = Operation {
        waited: true,
        side: Side::Recv,
        peer: Partner::Rank(Rank(1)),
        comm: CommId::WORLD,
        tag: 9,
    };
    let other = Operation {
        waited: false,
        peer: Partner::Any,
        ..operation
    };
    assert_eq!(one.operations, [operation, other]);
    assert_eq!(one.passed, [(CommId::WORLD, 4)].into());
    assert_eq!(one.site.as_deref(), Some("a.c:7"));
    assert_eq!(waits.classes[&Doing::InMpi(RECV)].named, [Rank(1)]);
}

#[test]
fn a_collective_is_told_with_its_place_on_its_communicator() {
    let mut scene = Scene::new();
    let (first, rank) = scene.attach(0);
    stands(&rank, RegionId(9), 10);
    scene.step(20_000);
    ask(&mut scene);
    let need = Need::Collective {
        comm: CommLocal::WORLD,
        ordinal: 4,
        root: peer::NONE,
        shared: 0,
    };
    first.say(&FromSupervisor::Inspected {
        inspection: 1,
        call: Some(seen(10, need)),
    });
    let waits = answer(scene.step(1)).expect("an answer");
    let barrier = Doing::Collective(CollectiveCall {
        comm: CommId::WORLD,
        ordinal: 4,
        region: RegionId(9),
        root: peer::NONE,
        shared: 0,
    });
    assert_eq!(waits.classes[&barrier].ranks, 1);
    assert_eq!(
        waits.classes[&Doing::Starting].ranks,
        1,
        "rank 1 is not here yet"
    );
}

#[test]
fn what_was_seen_of_another_call_is_not_told() {
    let mut scene = Scene::new();
    let (first, rank) = scene.attach(0);
    stands(&rank, RECV, 10);
    scene.step(20_000);
    ask(&mut scene);
    first.say(&FromSupervisor::Inspected {
        inspection: 1,
        call: Some(seen(11, Need::All)),
    });
    let waits = answer(scene.step(1)).expect("an answer");
    assert_eq!(waits.pending, []);
    assert_eq!(waits.classes[&Doing::InMpi(RECV)].ranks, 1);
}

/// A supervisor that does not answer is not waited for long.
#[test]
fn a_silent_supervisor_is_not_waited_for_long() {
    let mut scene = Scene::new();
    let (first, rank) = scene.attach(0);
    stands(&rank, RECV, 10);
    scene.step(20_000);
    ask(&mut scene);
    assert_eq!(answer(scene.step(499)), None);
    let waits = answer(scene.step(1)).expect("an answer");
    assert_eq!((waits.pending.len(), waits.ranks), (0, 2));
    // It comes too late.
    first.say(&FromSupervisor::Inspected {
        inspection: 1,
        call: None,
    });
    assert_eq!(answer(scene.step(1)), None);
}
