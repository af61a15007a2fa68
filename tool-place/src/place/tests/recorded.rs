//! What is recorded: resets and switches here, windows and the end of the measurement beside. Ticks
//! are ns of the place.

mod shutdown;
mod windows;

use super::*;
use invivo_proto::control::results::{Coverage, FunctionStats, RecordingStatus};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::record::{Part, RecordKind};
use invivo_proto::shm::recording::word;
use invivo_tbon::coverage::balance;

pub(super) fn call(begin_ms: u64, end_ms: u64) -> Call {
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

/// Recording goes on or off.
fn switched(on: bool, epoch: u32, at_ms: u64) -> Verb {
    Verb::Record {
        on,
        epoch,
        at_ns: job(at_ms),
    }
}

/// A window is recorded.
fn window(from_ms: u64, to_ms: u64, epoch: u32) -> Verb {
    Verb::Window {
        from_ns: job(from_ms),
        to_ns: job(to_ms),
        epoch,
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

/// The function table's row of the only function there is, and how much of the truth it is. The
/// books balance.
fn asked(scene: &mut Scene) -> (Option<FunctionStats>, Coverage) {
    scene.down(Down::Query {
        wave: WaveId(7),
        query: Query::Functions {
            rank_rows_max: 0,
            past: None,
        },
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
    let most = status.named.last().unwrap();
    assert_eq!(most.mpi_ns, 19 * MS);
}

#[test]
fn time_paused_in_a_call_is_no_time_in_mpi() {
    let mut scene = Scene::new();
    let (supervisor, mut rank) = scene.attach(0);
    scene.step(10);
    rank.enter(5, scene.now.ticks);
    scene.step(20);
    let in_mpi = |scene: &mut Scene| {
        let status = scene.status();
        let named = status.named.iter().find(|line| line.rank == Rank(0));
        named.expect("rank 0").mpi_ns / MS
    };
    assert_eq!(in_mpi(&mut scene), 20);
    scene.command(
        1,
        Verb::Pause {
            lease_ns: 60_000 * MS,
        },
    );
    supervisor.say(&FromSupervisor::Acted {
        generation: 1,
        outcome: Outcome::HeldInMpi,
    });
    scene.step(1);
    let before = in_mpi(&mut scene);
    scene.step(100);
    assert_eq!(in_mpi(&mut scene), before);
}

/// After a reset no call of before is seen whichever way it comes.
#[test]
fn no_call_from_before_a_reset_is_seen_later() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_first, mut rank) = scene.attach(0);
        let (_second, mut other) = scene.attach(1);
        // Three calls taken, three in a packet on its way over MPI, and one that is open across the
        // cut.
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
            (
                coverage.ledger.reset,
                coverage.ledger.kept,
                coverage.ledger.open
            ),
            (6, 0, 1)
        );
        // The packet that was taken from shared memory comes now; then the open call ends, then one
        // behind the cut.
        scene.place.packet(WorldRank(0), Some(&message));
        rank.call(&call(30, 70), &[]);
        rank.resume();
        rank.call(&call(72, 75), &[]);
        rank.leave();
        until(&mut scene, 80);
        let (row, coverage) = asked(&mut scene);
        let row = row.unwrap();
        assert_eq!((row.time.count, row.clipped), (2, 1));
        let named = scene.status().named;
        let calls: u64 = named.iter().map(|line| line.entered).sum();
        assert_eq!(calls, row.time.count, "as the time beside it");
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

/// A packet from both sides of a cut is read before anybody looks at the clock.
#[test]
fn a_packet_across_a_cut_may_be_read_early() {
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

/// Recording goes off at the cut and on with a new epoch.
#[test]
fn switching_recording_on_begins_a_new_epoch() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_supervisor, mut rank) = scene.attach(0);
        let control = &rank.page().control;
        scene.command(1, switched(false, 0, 30));
        until(&mut scene, 29);
        assert_eq!(control.recording.load(Ordering::Acquire), word(0, true));
        assert_eq!(acks(&until(&mut scene, 31), 1).done, 2);
        assert_eq!(control.recording.load(Ordering::Acquire), word(0, false));
        // One under way counts whole; one that the rank began a moment too late to know does not
        // count.
        rank.open();
        rank.call(&call(25, 40), &[]);
        rank.call(&call(41, 42), &[]);
        rank.leave();
        assert_eq!(
            (recording(&mut scene).on, recording(&mut scene).off),
            (0, 1)
        );
        scene.command(2, switched(true, 6, 60));
        assert_eq!(control.recording.load(Ordering::Acquire), word(6, true));
        let since = control.recording_since.load(Ordering::Acquire);
        assert!(
            since < scene.now.ticks,
            "what is under way now began before"
        );
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

/// A job that begins unobserved has nothing from before the ranks knew.
#[test]
fn an_unobserved_start_leaves_no_records() {
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
        assert_eq!(
            (recording(&mut scene).on, recording(&mut scene).off),
            (0, 1)
        );
    });
}

/// What follows of a call from before a reset is from before.
#[test]
fn continuations_belong_to_the_side_of_their_call() {
    on_both_sides(|| {
        let mut scene = Scene::new();
        let (_supervisor, mut rank) = scene.attach(0);
        let sent = |count: usize| {
            let facts = Facts {
                kind: RecordKind::CompletedSend,
                peer: 1,
                bytes_out: 8,
                ..Facts::default()
            };
            vec![
                Part {
                    facts: Facts {
                        kind: RecordKind::Send,
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
                query: Query::Matrix {
                    side_max: 8,
                    past: None,
                },
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
