//! The measurement ends before the job does.

use super::*;

/// The measurement ends and the job goes on to its own end.
#[test]
fn the_job_goes_on_when_the_measurement_ends() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (supervisor, mut rank) = scene.attach(0);
        let (_second, other) = scene.attach(1);
        scene.command(
            1,
            Verb::Pause {
                lease_ns: 60_000 * MS,
            },
        );
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Stop { generation: 1 })
        );
        rank.open();
        rank.call(&call(1, 2), &[]);
        scene.command(2, Verb::Shutdown);
        assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
        assert_eq!(rank.page().control.recording.load(Ordering::Acquire), 0);
        assert_eq!(
            supervisor.hear(),
            Some(ToSupervisor::Continue { generation: 1 })
        );
        assert!(!scene.place.is_over());
        let acks_of = acks(&until(&mut scene, 5), 2);
        assert_eq!((acks_of.done, acks_of.failures.len()), (2, 0));
        assert!(scene.place.is_over());
        assert!(recording(&mut scene).shut_down);
        assert_eq!(asked(&mut scene).1.ledger.kept, 1);
        scene.command(
            3,
            Verb::Pause {
                lease_ns: 60_000 * MS,
            },
        );
        assert_eq!(acks(&scene.said(), 3).failures.len(), 2);
        assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
        for rank in [&rank, &other] {
            rank.page().phase.store(phase::DRAINED, Ordering::Release);
        }
        assert_eq!(until(&mut scene, 10), [Up::Drained]);
        scene.down(Down::Shutdown);
        assert_eq!(scene.place.exit(), Some(Exit::Finalize));
    });
}

#[test]
fn what_ends_behind_the_measurement_is_in_no_answer() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_first, mut rank) = scene.attach(0);
        let (_second, mut other) = scene.attach(1);
        for writer in [&mut rank, &mut other] {
            writer.open();
            writer.call(&call(1, 2), &[]);
            writer.enter(3, 3 * MS);
        }
        until(&mut scene, 5);
        scene.command(1, Verb::Shutdown);
        let acks = acks(&until(&mut scene, 10), 1);
        assert_eq!((acks.done, acks.open), (2, 2));
        let (before, _) = asked(&mut scene);
        // One is left in shared memory, one comes over MPI; both are over between two questions for
        // the result.
        rank.call(&call(3, 12), &[]);
        rank.resume();
        rank.leave();
        other.call(&call(3, 13), &[]);
        other.resume();
        let message = other.send();
        scene.place.packet(WorldRank(1), Some(&message));
        other.sent();
        until(&mut scene, 300);
        let (after, coverage) = asked(&mut scene);
        assert_eq!(before, after);
        assert_eq!(
            (
                coverage.ledger.entered,
                coverage.ledger.kept,
                coverage.ledger.in_flight
            ),
            (4, 2, 2)
        );
        for rank in [&rank, &other] {
            rank.page().phase.store(phase::DRAINED, Ordering::Release);
        }
        assert_eq!(until(&mut scene, 310), [Up::Drained]);
    });
}
