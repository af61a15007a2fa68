//! Iterations go across nothing that was not recorded. Ticks are ns of the place.

use super::*;
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::iterations::{Begin, Iterations};
use invivo_proto::definition::Definition;
use invivo_proto::ids::SiteId;
use invivo_proto::packet::DropReason;
use std::sync::atomic::Ordering;

/// From one call to the next.
const STEP_MS: u64 = 100;

/// A rank that calls in even steps, in each of these times, in ms. What happens in between.
struct Steps {
    scene: Scene,
    _supervisor: OneSupervisor,
    rank: Writer,
}

impl Steps {
    fn new() -> Steps {
        let mut scene = Scene::new();
        let (supervisor, mut rank) = scene.attach(0);
        rank.define(&Definition::Module {
            number: 1,
            build_id: &[7],
            path: b"solver",
        });
        rank.define(&Definition::Site {
            site: SiteId(1),
            module: 1,
            offset: 0x10,
        });
        rank.open();
        Steps {
            scene,
            _supervisor: supervisor,
            rank,
        }
    }

    fn until(&mut self, ms: u64) {
        while self.scene.now.ticks / MS < ms {
            self.scene.step(2);
        }
    }

    /// The rank calls at `from_ms` and in each step behind it.
    fn run(&mut self, from_ms: u64, to_ms: u64) {
        for begin_ms in (from_ms..to_ms).step_by(STEP_MS as usize) {
            self.until(begin_ms + 4);
            let mut call = super::recorded::call(begin_ms, begin_ms + 2);
            call.facts.site = SiteId(1);
            self.rank.call(&call, &[]);
        }
    }

    /// What has been found; all records have been read.
    fn found(mut self) -> Iterations {
        self.rank.leave();
        self.scene.step(300);
        self.scene.ask(
            7,
            Query::Sites {
                rows_max: 9,
                named: false,
                past: None,
            },
        );
        let found = self.scene.said().into_iter().find_map(|up| match up {
            Up::Partial {
                partial: Partial::Sites(table),
                ..
            } => {
                let mut rows = table.rows.into_values();
                rows.find_map(|row| row.iterations.get(&Begin::Call).copied())
            }
            _ => None,
        });
        found.expect("iterations")
    }
}

/// A second of steps, something for two seconds, a second of steps. How many iterations there are,
/// and how long the longest is, in ms.
fn around(something: impl Fn(&mut Steps)) -> (u64, u64) {
    let mut steps = Steps::new();
    steps.run(100, 1100);
    something(&mut steps);
    steps.run(3100, 4100);
    let lengths = steps.found().lengths;
    assert_eq!(lengths.others, 0);
    (lengths.time.count, lengths.time.max_ns / MS)
}

#[test]
fn a_long_step_is_a_step() {
    assert_eq!(around(|_| {}), (19, 2000 + STEP_MS));
}

#[test]
fn no_iteration_goes_across_time_without_recording() {
    let switched = |on, epoch, at_ms| Verb::Record {
        on,
        epoch,
        at_ns: job(at_ms),
    };
    let found = around(|steps| {
        steps.scene.command(1, switched(false, 1, 1300));
        steps.run(1400, 1900);
        steps.scene.command(2, switched(true, 2, 3000));
    });
    assert_eq!(found, (18, STEP_MS));
}

#[test]
fn no_iteration_goes_across_a_reset() {
    let found = around(|steps| {
        steps.scene.command(1, Verb::Reset { at_ns: job(2000) });
    });
    assert_eq!(found, (9, STEP_MS));
}

#[test]
fn no_iteration_goes_across_time_without_call_sites() {
    let these = AnalysisSet::of(Analysis::Sites);
    let switch = |on, at_ms| Verb::Analyses {
        these,
        on,
        at_ns: job(at_ms),
    };
    let found = around(|steps| {
        steps.scene.command(1, switch(false, 1300));
        steps.run(1400, 1900);
        steps.scene.command(2, switch(true, 2500));
    });
    assert_eq!(found, (18, STEP_MS));
}

/// A rank had no packet for some calls: nobody knows between which.
#[test]
fn no_iteration_goes_across_a_loss() {
    let found = around(|steps| {
        let dropped = &steps.rank.status().dropped[DropReason::NoPacket as usize];
        dropped.fetch_add(20, Ordering::Relaxed);
        steps.until(2500);
        steps.rank.leave();
        steps.rank.open();
    });
    // It may be noticed before the last call has been read.
    assert!((17..=18).contains(&found.0), "{found:?}");
    assert_eq!(found.1, STEP_MS);
}

#[test]
fn no_iteration_goes_across_a_change_of_the_selection() {
    let found = around(|steps| {
        for (id, rules, at_ms) in [
            (1, "exclude MPI_Barrier", 1300),
            (2, "include MPI_Barrier", 2000),
        ] {
            let selection = rules.parse().expect("rules");
            let at_ns = job(at_ms);
            steps.scene.command(id, Verb::Select { selection, at_ns });
        }
    });
    assert_eq!(found, (18, STEP_MS));
}

/// While the job is paused, a step takes no time.
#[test]
fn a_pause_makes_no_step_longer() {
    let found = around(|steps| {
        steps.until(1150);
        let lease_ns = 60_000 * MS;
        steps.scene.command(1, Verb::Pause { lease_ns });
        steps.until(2150);
        steps.scene.command(2, Verb::Resume);
    });
    assert_eq!(found.0, 19);
    assert!((1100..1110).contains(&found.1), "{found:?}");
}
