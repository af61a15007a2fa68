//! Windows: the same time on all ranks.

use super::*;

/// A window is the same time on all ranks and is acknowledged when it is taken.
#[test]
fn a_window_is_the_same_time_on_all_ranks() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_first, mut rank) = scene.attach(0);
        let (_second, mut other) = scene.attach(1);
        for writer in [&mut rank, &mut other] {
            writer.open();
            writer.call(&call(5, 6), &[]);
        }
        scene.command(1, window(100, 200, 1));
        until(&mut scene, 100);
        // In front of the window, across its beginning, in it, across its end; behind it.
        for (begin, end) in [(90, 95), (98, 105), (110, 120), (195, 210), (211, 212)] {
            rank.call(&call(begin, end), &[]);
        }
        let message = rank.send();
        rank.sent();
        // The other rank waits all the time.
        other.enter(3, 50 * MS);
        assert_eq!(until(&mut scene, 199), []);
        let status = recording(&mut scene);
        assert_eq!((status.on, status.since_ns), (2, job(100)));
        assert_eq!(
            until(&mut scene, 205),
            [],
            "a packet is between the two processes"
        );
        assert_eq!(
            rank.page().control.recording.load(Ordering::Acquire),
            word(1, false)
        );
        assert_eq!(
            recording(&mut scene).window.map(|window| window.complete),
            Some(1)
        );
        scene.place.packet(WorldRank(0), Some(&message));
        let acks = acks(&until(&mut scene, 230), 1);
        assert_eq!((acks.done, acks.failures.len()), (2, 0));
        assert_eq!((acks.clipped, acks.open), (3, 1));
        assert_eq!(
            (acks.from.unwrap().latest_ns, acks.to.unwrap().latest_ns),
            (job(100), job(200))
        );
        assert_eq!(acks.complete_ns, job(230));
        let (row, coverage) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!((row.time.count, row.clipped), (3, 2));
        assert_eq!(row.time.sum_ns, (5 + 10 + 5) * MS);
        assert_eq!(
            (
                coverage.ledger.kept,
                coverage.ledger.reset,
                coverage.ledger.open
            ),
            (3, 4, 1)
        );
        // What was open then belongs to the window as far as it lies in it.
        other.call(&call(50, 300), &[]);
        other.resume();
        until(&mut scene, 500);
        let (row, _) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!(
            (row.time.count, row.clipped, row.time.max_ns),
            (4, 3, 100 * MS)
        );
        let window = recording(&mut scene).window.unwrap();
        assert_eq!(
            (window.from_ns, window.to_ns, window.complete),
            (job(100), job(200), 2)
        );
    });
}

/// A call that nobody noted is open across a window if it was entered before.
#[test]
fn an_unnoted_call_from_before_a_window_is_open() {
    on_both_sides(|| {
        let mut scene = Scene::of(JobInfo::default());
        let (_first, waits) = scene.attach(0);
        let (_second, computes) = scene.attach(1);
        assert_eq!(waits.page().control.recording.load(Ordering::Acquire), 0);
        // Entered while nothing was recorded: no region, and the epoch in the place of the time.
        waits.status().inside.store(inside::MPI, Ordering::Release);
        scene.command(1, window(50, 100, 1));
        assert_eq!(
            waits.page().control.recording.load(Ordering::Acquire),
            word(1, true)
        );
        until(&mut scene, 60);
        // Entered behind the switch.
        computes
            .status()
            .entered_at
            .store(u64::from(word(1, true)), Ordering::Release);
        computes
            .status()
            .inside
            .store(inside::MPI, Ordering::Release);
        let acks = acks(&until(&mut scene, 101), 1);
        assert_eq!((acks.done, acks.open, acks.clipped), (2, 1, 1));
        assert_eq!(
            asked(&mut scene).1.ledger.open,
            0,
            "it counts as entered when it leaves"
        );
    });
}

#[test]
fn places_that_hear_at_other_times_cut_alike() {
    // A few commands with their cuts; whatever comes of the first arrivals comes of all others that
    // are in time.
    on_both_sides(|| {
        let mut all = Vec::new();
        for delay in [0, 9, 39] {
            let mut scene = Scene::new();
            let (_supervisor, rank) = scene.attach(0);
            for (id, at, verb) in [
                (1, 100, switched(false, 0, 140)),
                (2, 200, switched(true, 1, 240)),
                (3, 300, window(340, 420, 2)),
                (4, 390, switched(true, 3, 430)),
            ] {
                until(&mut scene, at + delay);
                scene.command(id, verb);
            }
            until(&mut scene, 500);
            all.push((
                rank.page().control.recording.load(Ordering::Acquire),
                recording(&mut scene).since_ns,
            ));
        }
        assert_eq!(all, [(word(3, true), job(340)); 3]);
    });
}
