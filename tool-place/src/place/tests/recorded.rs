//! What is recorded: resets, switches, windows, the end of the measurement. Ticks are ns of the place.

use super::*;
use invivo_proto::control::results::{Coverage, FunctionStats, RecordingStatus};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::record::{Kind, Part};
use invivo_proto::shm::recording::word;
use invivo_tbon::coverage::balance;

fn call(begin_ms: u64, end_ms: u64) -> Call {
    Call {
        facts: Facts {
            region: RegionId(3),
            ..Facts::default()
        },
        end: end_ms * MS,
        duration: (end_ms - begin_ms) * MS,
        ..Call::default()
    }
}

/// Steps to `ms` after the beginning; what the place says.
fn until(scene: &mut Scene, ms: u64) -> Vec<Up> {
    let now_ms = scene.now.ticks / MS;
    scene.step(ms - now_ms)
}

fn acks(said: &[Up], id: u64) -> Acks {
    let of = |up: &Up| match up {
        Up::Ack { command, acks } if command.0 == id => Some(acks.clone()),
        _ => None,
    };
    said.iter()
        .find_map(of)
        .unwrap_or_else(|| panic!("no answer to {id} in {said:?}"))
}

/// The function table's row of the only function there is, and how much of the truth it is. The books balance.
fn asked(scene: &mut Scene) -> (Option<FunctionStats>, Coverage) {
    scene.down(Down::Query {
        wave: WaveId(7),
        query: Query::Functions { rank_rows_max: 0 },
    });
    match scene.said().pop() {
        Some(Up::Partial {
            partial: Partial::Functions(table),
            coverage,
            ..
        }) => {
            assert_eq!(balance(&coverage.ledger), Ok(()), "{:?}", coverage.ledger);
            (table.rows.get(&RegionId(3)).copied(), coverage)
        }
        other => panic!("no table but {other:?}"),
    }
}

fn recording(scene: &mut Scene) -> RecordingStatus {
    scene.status().recording
}

/// A place begins while the ranks do: they may be some calls ahead when it sees them.
#[test]
fn the_time_observed_begins_behind_the_initialisation() {
    let mut scene = Scene::new();
    scene.step(30);
    let (_supervisor, mut rank) = scene.attach(0);
    let mut init = call(0, 10);
    init.facts.region = RegionId(
        FUNCTIONS
            .iter()
            .position(|function| function.name == "MPI_Init")
            .unwrap() as u16,
    );
    rank.open();
    rank.call(&init, &[]);
    rank.call(&call(11, 30), &[]);
    rank.leave();
    rank.page().phase.store(phase::DRAINED, Ordering::Release);
    until(&mut scene, 40);
    let status = scene.status();
    assert_eq!(status.observed_ns, 30 * MS);
    assert_eq!(status.named[0].mpi_ns, 19 * MS);
}

#[test]
fn after_a_reset_no_call_of_before_is_seen_whichever_way_it_comes() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_first, mut rank) = scene.attach(0);
        let (_second, mut other) = scene.attach(1);
        // Three calls taken, three in a packet on its way over MPI, and one that is open across the cut.
        other.open();
        (10..13).for_each(|ms| other.call(&super::recorded::call(ms, ms + 1), &[]));
        other.leave();
        until(&mut scene, 20);
        assert_eq!(asked(&mut scene).0.unwrap().time.count, 3);
        rank.open();
        (20..23).for_each(|ms| rank.call(&super::recorded::call(ms, ms + 1), &[]));
        let message = rank.send();
        rank.open();
        rank.enter(3, 30 * MS);
        scene.command(1, Verb::Reset { at_ns: job(60) });
        assert_eq!(until(&mut scene, 59), []);
        assert_eq!(asked(&mut scene).0.unwrap().time.count, 3);
        let acks = acks(&until(&mut scene, 60), 1);
        assert_eq!((acks.targets, acks.done, acks.clipped), (2, 2, 1));
        let from = acks.from.unwrap();
        assert_eq!((from.earliest_ns, from.latest_ns), (job(60), job(60)));
        let (row, coverage) = asked(&mut scene);
        assert_eq!(row, None);
        assert_eq!(
            (coverage.ledger.reset, coverage.ledger.kept, coverage.ledger.open),
            (6, 0, 1)
        );
        // The packet that was taken from shared memory comes now; then the open call ends, then one behind the cut.
        scene.place.packet(WorldRank(0), Some(&message));
        rank.call(&call(30, 70), &[]);
        rank.resume();
        rank.call(&call(72, 75), &[]);
        rank.leave();
        until(&mut scene, 80);
        let (row, coverage) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!((row.time.count, row.clipped), (2, 1));
        assert_eq!(
            (row.time.max_ns, row.time.sum_ns),
            (10 * MS, 13 * MS),
            "from the cut on"
        );
        assert_eq!(
            (
                coverage.ledger.entered,
                coverage.ledger.reset,
                coverage.ledger.kept
            ),
            (8, 6, 2)
        );
        assert_eq!(recording(&mut scene).since_ns, job(60));
    });
}

#[test]
fn a_packet_from_both_sides_of_a_cut_is_read_before_anybody_looks_at_the_clock() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_supervisor, mut rank) = scene.attach(0);
        rank.open();
        (10..20).for_each(|ms| rank.call(&super::recorded::call(ms, ms + 1), &[]));
        scene.command(1, Verb::Reset { at_ns: job(15) });
        let message = rank.send();
        scene.place.packet(WorldRank(0), Some(&message));
        rank.sent();
        let (row, coverage) = asked(&mut scene);
        assert_eq!(row.unwrap().time.count, 5);
        assert_eq!((coverage.ledger.reset, coverage.ledger.kept), (5, 5));
        assert_eq!(acks(&until(&mut scene, 20), 1).done, 2);
    });
}

#[test]
fn recording_goes_off_at_the_cut_and_on_with_a_new_epoch() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_supervisor, mut rank) = scene.attach(0);
        let control = &rank.page().control;
        scene.command(
            1,
            Verb::Record {
                on: false,
                epoch: 0,
                at_ns: job(30),
            },
        );
        until(&mut scene, 29);
        assert_eq!(control.recording.load(Ordering::Acquire), word(0, true));
        assert_eq!(acks(&until(&mut scene, 31), 1).done, 2);
        assert_eq!(control.recording.load(Ordering::Acquire), word(0, false));
        // One under way counts whole; one that the rank began a moment too late to know does not count.
        rank.open();
        rank.call(&call(25, 40), &[]);
        rank.call(&call(41, 42), &[]);
        rank.leave();
        assert_eq!((recording(&mut scene).on, recording(&mut scene).off), (0, 1));
        scene.command(
            2,
            Verb::Record {
                on: true,
                epoch: 6,
                at_ns: job(60),
            },
        );
        assert_eq!(control.recording.load(Ordering::Acquire), word(6, true));
        let since = control.recording_since.load(Ordering::Acquire);
        assert!(since < scene.now.ticks, "what is under way now began before");
        // A rank that comes now is told the same.
        let (_late, late) = scene.attach(1);
        assert_eq!(
            late.page().control.recording.load(Ordering::Acquire),
            word(6, true)
        );
        let acks = acks(&until(&mut scene, 60), 2);
        assert_eq!((acks.done, acks.clipped), (2, 0));
        rank.open();
        rank.call(
            &Call {
                duration: 70 * MS - since,
                ..call(0, 70)
            },
            &[],
        );
        rank.leave();
        until(&mut scene, 80);
        let (row, coverage) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!((row.time.count, row.clipped), (2, 1));
        assert_eq!((row.time.max_ns, row.time.min_ns), (15 * MS, 10 * MS));
        assert_eq!(coverage.ledger.reset, 1);
    });
}

#[test]
fn a_window_is_the_same_time_on_all_ranks_and_is_acknowledged_when_it_is_taken() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_first, mut rank) = scene.attach(0);
        let (_second, mut other) = scene.attach(1);
        for writer in [&mut rank, &mut other] {
            writer.open();
            writer.call(&call(5, 6), &[]);
        }
        scene.command(
            1,
            Verb::Window {
                from_ns: job(100),
                to_ns: job(200),
                epoch: 1,
            },
        );
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
            (coverage.ledger.kept, coverage.ledger.reset, coverage.ledger.open),
            (3, 4, 1)
        );
        // What was open then belongs to the window as far as it lies in it.
        other.call(&call(50, 300), &[]);
        other.resume();
        until(&mut scene, 500);
        let (row, _) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!((row.time.count, row.clipped, row.time.max_ns), (4, 3, 100 * MS));
        let window = recording(&mut scene).window.unwrap();
        assert_eq!(
            (window.from_ns, window.to_ns, window.complete),
            (job(100), job(200), 2)
        );
    });
}

#[test]
fn a_call_that_nobody_noted_is_open_across_a_window_if_it_was_entered_before() {
    on_both_sides(|| {
        let mut scene = Scene::of(JobInfo::default());
        let (_first, waits) = scene.attach(0);
        let (_second, computes) = scene.attach(1);
        assert_eq!(waits.page().control.recording.load(Ordering::Acquire), 0);
        // Entered while nothing was recorded: no region, and the epoch in the place of the time.
        waits.status().inside.store(inside::MPI, Ordering::Release);
        scene.command(
            1,
            Verb::Window {
                from_ns: job(50),
                to_ns: job(100),
                epoch: 1,
            },
        );
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
        computes.status().inside.store(inside::MPI, Ordering::Release);
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
fn a_job_that_begins_unobserved_has_nothing_from_before_the_ranks_knew() {
    on_both_sides(|| {
        let mut scene = Scene::before();
        let (_supervisor, mut rank) = scene.attach(0);
        rank.open();
        rank.call(&call(0, 1), &[]);
        rank.leave();
        scene.begin(JobInfo::default());
        assert_eq!(rank.page().control.recording.load(Ordering::Acquire), 0);
        until(&mut scene, 200);
        let (row, coverage) = asked(&mut scene);
        assert_eq!(row, None);
        assert_eq!((coverage.ledger.entered, coverage.ledger.reset), (1, 1));
        assert_eq!((recording(&mut scene).on, recording(&mut scene).off), (0, 1));
    });
}

#[test]
fn the_measurement_ends_and_the_job_goes_on_to_its_own_end() {
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
        assert_eq!(supervisor.hear(), Some(ToSupervisor::Stop { generation: 1 }));
        rank.open();
        rank.call(&call(1, 2), &[]);
        scene.command(2, Verb::Shutdown);
        assert_eq!(rank.page().control.gate.load(Ordering::Acquire), 0);
        assert_eq!(rank.page().control.recording.load(Ordering::Acquire), 0);
        assert_eq!(supervisor.hear(), Some(ToSupervisor::Continue { generation: 1 }));
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
fn what_follows_of_a_call_from_before_a_reset_is_from_before() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_supervisor, mut rank) = scene.attach(0);
        let sent = |count: usize| {
            let facts = Facts {
                kind: Kind::CompletedSend,
                peer: 1,
                bytes_out: 8,
                ..Facts::default()
            };
            vec![
                Part {
                    facts: Facts {
                        kind: Kind::Send,
                        ..facts
                    },
                    request: 0,
                    posted: 0
                };
                count
            ]
        };
        let matrix = |scene: &mut Scene| {
            scene.down(Down::Query {
                wave: WaveId(7),
                query: Query::Matrix { side_max: 8 },
            });
            match scene.said().pop() {
                Some(Up::Partial {
                    partial: Partial::Matrix(matrix),
                    ..
                }) => matrix,
                other => panic!("no matrix but {other:?}"),
            }
        };
        rank.open();
        rank.call(&call(10, 11), &sent(2));
        until(&mut scene, 200);
        let before = matrix(&mut scene);
        assert_ne!(before, Default::default());
        scene.command(1, Verb::Reset { at_ns: job(220) });
        until(&mut scene, 230);
        let empty = matrix(&mut scene);
        rank.more(&sent(3));
        rank.leave();
        until(&mut scene, 400);
        assert_eq!(matrix(&mut scene), empty);
    });
}

#[test]
fn places_that_hear_at_other_times_cut_alike() {
    // A few commands with their cuts; whatever comes of the first arrivals comes of all others that are in time.
    on_both_sides(|| {
        let mut all = Vec::new();
        for delay in [0, 9, 39] {
            let mut scene = Scene::new();
            let (_supervisor, rank) = scene.attach(0);
            for (id, at, verb) in [
                (
                    1,
                    100,
                    Verb::Record {
                        on: false,
                        epoch: 0,
                        at_ns: job(140),
                    },
                ),
                (
                    2,
                    200,
                    Verb::Record {
                        on: true,
                        epoch: 1,
                        at_ns: job(240),
                    },
                ),
                (
                    3,
                    300,
                    Verb::Window {
                        from_ns: job(340),
                        to_ns: job(420),
                        epoch: 2,
                    },
                ),
                (
                    4,
                    390,
                    Verb::Record {
                        on: true,
                        epoch: 3,
                        at_ns: job(430),
                    },
                ),
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
        // One is left in shared memory, one comes over MPI; both are over between two questions for the result.
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
