//! Ranks that are held behind their `MPI_Init`.

use super::*;
use invivo_proto::mpi::FUNCTIONS;

fn number(name: &str) -> u16 {
    FUNCTIONS
        .iter()
        .position(|function| function.name == name)
        .unwrap() as u16
}

/// The rank has come to the end of its `MPI_Init`.
fn initialises(rank: &Writer) {
    let status = rank.status();
    status.tid.store(7, Ordering::Release);
    status
        .region
        .store(u32::from(number("MPI_Init")), Ordering::Relaxed);
    let closed = rank.page().control.gate.load(Ordering::Acquire) != 0;
    let now = if closed {
        inside::HELD_AT_LEAVE
    } else {
        inside::APPLICATION
    };
    status.inside.store(now, Ordering::Release);
}

fn held_job() -> JobInfo {
    JobInfo {
        recording: true,
        hold_lease_ns: 60_000 * MS,
        ..JobInfo::default()
    }
}

fn hold(scene: &mut Scene, id: u64) {
    scene.command(
        id,
        Verb::Hold {
            lease_ns: 60_000 * MS,
        },
    );
}

/// A job is held from the start until it is resumed.
#[test]
fn a_job_is_held_from_start_to_resume() {
    let mut scene = Scene::before();
    // As its supervisor makes it: with a closed gate. Its place is there before the root has said
    // anything.
    let (supervisor, rank) = scene.attach_in(0, phase::STARTING, 1);
    scene.begin(held_job());
    let control = &rank.page().control;
    assert_eq!(control.gate.load(Ordering::Acquire), 1);
    assert!(
        control.gate_until_ns.load(Ordering::Acquire) < START_NS + 60_000 * MS,
        "pushed on from now on"
    );
    rank.page().phase.store(phase::RUNNING, Ordering::Release);
    initialises(&rank);
    let (_second, other) = scene.attach_in(1, phase::STARTING, 1);
    hold(&mut scene, 1);
    assert_eq!(scene.step(5), []);
    let status = scene.status();
    assert_eq!(
        (
            status.states[RankState::Held as usize],
            status.states[RankState::Starting as usize]
        ),
        (1, 1)
    );
    other.page().phase.store(phase::RUNNING, Ordering::Release);
    initialises(&other);
    assert!(
        matches!(&scene.step(1)[..], [Up::Ack { command: CommandId(1), acks }] if acks.done == 2)
    );
    scene.step(1000);
    scene.down(Down::Heartbeat);
    assert!(control.gate_until_ns.load(Ordering::Acquire) > scene.now.ns + 1_000 * MS);
    assert_eq!(supervisor.hear(), None, "nobody is stopped");
    scene.command(2, Verb::Resume);
    assert!(
        matches!(&scene.said()[..], [Up::Ack { command: CommandId(2), acks }] if acks.done == 2)
    );
    assert_eq!(control.gate.load(Ordering::Acquire), 0);
}

/// A rank that computes already is not held and told by name.
#[test]
fn a_computing_rank_is_named_instead_of_held() {
    let mut scene = Scene::new();
    let (_first, past) = scene.attach_in(0, phase::RUNNING, 0);
    initialises(&past);
    let (_second, before) = scene.attach_in(1, phase::STARTING, 0);
    hold(&mut scene, 1);
    assert_eq!(past.page().control.gate.load(Ordering::Acquire), 0);
    assert_eq!(before.page().control.gate.load(Ordering::Acquire), 1);
    before.page().phase.store(phase::RUNNING, Ordering::Release);
    initialises(&before);
    let said = scene.step(1);
    let [Up::Ack { acks, .. }] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!((acks.done, acks.failures.len()), (1, 1));
    assert_eq!(acks.failures[0].0, Rank(0));
    assert_eq!(scene.status().states[RankState::Held as usize], 1);
}

#[test]
fn a_gate_that_nobody_wants_closed_is_opened() {
    let mut scene = Scene::before();
    let (_first, early) = scene.attach_in(0, phase::STARTING, 1);
    scene.begin(JobInfo::default());
    let (_second, late) = scene.attach_in(1, phase::STARTING, 1);
    for rank in [early, late] {
        assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
    }
}

/// The directory of the job goes with the last who uses it.
#[test]
fn the_last_user_removes_the_directory_of_the_job() {
    let scene = Scene::new();
    let directory = scene.path.parent().unwrap().to_owned();
    let other = directory.join("other.sock");
    std::fs::write(&other, "").unwrap();
    let Scene { place, _dir, .. } = scene;
    drop(place);
    assert!(directory.exists());
    std::fs::remove_file(other).unwrap();
    let supervisors = Supervisors::listen(&directory.join("place.sock"), 0..2).unwrap();
    drop(supervisors);
    assert!(!directory.exists());
}

/// A rank that is not recorded is past its initialisation or not from the first moment on.
#[test]
fn an_unrecorded_rank_is_known_to_be_past_initialisation() {
    let mut scene = Scene::of(JobInfo::default());
    let (_first, before) = scene.attach_in(0, phase::STARTING, 0);
    let (_second, past) = scene.attach_in(1, phase::RUNNING, 0);
    // One call later: nobody notes which.
    past.status().tid.store(7, Ordering::Release);
    hold(&mut scene, 1);
    // As the preloaded library says it: what it is in, that it is in it, and then that the rank
    // runs.
    let status = before.status();
    status.tid.store(7, Ordering::Release);
    status
        .region
        .store(u32::from(number("MPI_Init")), Ordering::Relaxed);
    status.inside.store(inside::MPI, Ordering::Release);
    before.page().phase.store(phase::RUNNING, Ordering::Release);
    assert_eq!(scene.step(1), [], "on its way to the gate");
    initialises(&before);
    let said = scene.step(1);
    let [Up::Ack { acks, .. }] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!((acks.done, acks.failures.len()), (1, 1));
    assert_eq!(acks.failures[0].0, Rank(1));
}
