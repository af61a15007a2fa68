//! Metrics: ordered of supervisors, acknowledged, read, and asked for.

use super::*;
use invivo_proto::control::grid::{Grid, GridQuery};
use invivo_proto::control::metrics::{
    Measured, Metric, MetricSet, MetricsStatus, NoMetric, Reading, SystemMetric,
};

const FAULTS: SystemMetric = SystemMetric::PageFaults;

fn measured() -> Measured {
    Measured {
        set: MetricSet::of(FAULTS),
        interval_ns: 100 * MS,
    }
}

fn acked(said: Vec<Up>) -> Option<Acks> {
    said.into_iter().find_map(|up| match up {
        Up::Ack { acks, .. } => Some(acks),
        _ => None,
    })
}

/// The number of an order, which is for this.
fn ordered(supervisor: &OneSupervisor, expected: Measured) -> u32 {
    match supervisor.hear() {
        Some(ToSupervisor::Measure {
            measuring,
            measured,
        }) if measured == expected => measuring,
        other => panic!("no order to measure {expected:?} but {other:?}"),
    }
}

fn answer(
    supervisor: &OneSupervisor,
    measuring: u32,
    outcome: Result<Measured, (SystemMetric, NoMetric)>,
) {
    supervisor.say(&FromSupervisor::Measuring { measuring, outcome });
}

fn read(supervisor: &OneSupervisor, measuring: u32, at_ns: u64, faults: u64) {
    supervisor.say(&FromSupervisor::Measured(Reading {
        measuring,
        at_ns,
        cost_ns: 1000,
        system: vec![(FAULTS, faults)],
        ..Reading::default()
    }));
}

fn partial(said: Vec<Up>) -> Option<Partial> {
    said.into_iter().find_map(|up| match up {
        Up::Partial { partial, .. } => Some(partial),
        _ => None,
    })
}

fn ask(scene: &mut Scene, query: Query) {
    scene.down(Down::Query {
        wave: WaveId(5),
        query,
    });
}

fn status(said: Vec<Up>) -> Option<MetricsStatus> {
    match partial(said)? {
        Partial::Metrics(status) => Some(*status),
        other => panic!("no status of metrics but {other:?}"),
    }
}

/// Job time now.
fn job_now(scene: &Scene) -> u64 {
    job((scene.now.ns - START_NS) / MS)
}

/// All of the run in one column.
fn grid(scene: &mut Scene) -> Grid {
    let query = GridQuery {
        metric: Metric::System(FAULTS),
        from_ns: 0,
        to_ns: job_now(scene) + 1,
        observed_ns: job_now(scene),
        columns_max: 1,
        rows_max: 2,
    };
    ask(scene, Query::Grid(query));
    match partial(scene.step(0)) {
        Some(Partial::Grid(grid)) => *grid,
        other => panic!("no grid but {other:?}"),
    }
}

#[test]
fn what_is_measured_is_told_and_counted() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    scene.command(1, Verb::Metrics(measured()));
    let number = ordered(&first, measured());
    answer(&first, number, Ok(measured()));
    assert_eq!(acked(scene.step(1)), None);
    let begin_ns = scene.now.ns;
    let other = ordered(&second, measured());
    answer(&second, other, Err((FAULTS, NoMetric::Unreadable)));
    let acks = acked(scene.step(1)).expect("acknowledged");
    assert_eq!((acks.targets, acks.done), (2, 1));
    let (rank, why) = &acks.failures[0];
    assert_eq!(*rank, Rank(1));
    assert!(why.starts_with("page-faults: what /proc says"), "{why}");

    read(&first, number, begin_ns, 1000);
    read(&first, number, begin_ns + 100 * MS, 1250);
    scene.step(100);
    ask(&mut scene, Query::Metrics);
    for (supervisor, without) in [
        (&first, vec![(SystemMetric::Cycles, NoMetric::Unsupported)]),
        (&second, vec![(FAULTS, NoMetric::Unreadable)]),
    ] {
        let Some(ToSupervisor::TryMetrics { trying }) = supervisor.hear() else {
            panic!("not asked");
        };
        supervisor.say(&FromSupervisor::MetricsTried { trying, without });
    }
    let told = status(scene.step(1)).expect("answered");
    assert_eq!((told.ranks, told.measured), (2, 1));
    assert_eq!(told.interval_ns, (100 * MS, 100 * MS));
    assert_eq!((told.readings, told.cost_ns), (2, 1000));
    let faults = &told.metrics[&Metric::System(FAULTS)];
    assert_eq!((faults.now, faults.kept), (1, 1));
    assert_eq!(faults.without[&NoMetric::Unreadable].named, [Rank(1)]);
    let cycles = &told.metrics[&Metric::System(SystemMetric::Cycles)];
    assert_eq!(cycles.without[&NoMetric::Unsupported].named, [Rank(0)]);

    let total = grid(&mut scene).rows[&0].total;
    assert_eq!((total.ranks, total.sum), (1, 250));
    assert_eq!(total.recorded_ns, 100 * MS);
}

/// What supervisors spend for us is in the time that tool processes take.
#[test]
fn what_supervisors_spend_is_told() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let cpu_ns = |scene: &Scene| scene.place.local.coverage(scene.now).tool_cpu_ns;
    let hour_ns = 3_600_000 * MS;
    assert!(cpu_ns(&scene) < hour_ns);
    for spent_ns in [hour_ns, 2 * hour_ns, hour_ns] {
        first.say(&FromSupervisor::Spent {
            cpu_ns: spent_ns,
            in_rank_ns: spent_ns / 2,
        });
        scene.step(1);
    }
    assert!((2 * hour_ns..3 * hour_ns).contains(&cpu_ns(&scene)));
}

/// What can be measured is asked once; a supervisor that is silent is named and asked again.
#[test]
fn a_silent_supervisor_is_named_in_time() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    let (second, _other) = scene.attach(1);
    ask(&mut scene, Query::Metrics);
    let Some(ToSupervisor::TryMetrics { trying }) = first.hear() else {
        panic!("not asked");
    };
    let without = Vec::new();
    first.say(&FromSupervisor::MetricsTried { trying, without });
    assert_eq!(status(scene.step(500)), None);
    let told = status(scene.step(300)).expect("answered");
    let faults = &told.metrics[&Metric::System(FAULTS)];
    assert_eq!(faults.without.len(), 1);
    assert_eq!(faults.without[&NoMetric::Silent].named, [Rank(1)]);
    ask(&mut scene, Query::Metrics);
    assert_eq!(first.hear(), None);
    second.hear().expect("the question of before");
    assert!(matches!(
        second.hear(),
        Some(ToSupervisor::TryMetrics { .. })
    ));
}

#[test]
fn a_rank_that_comes_later_is_measured_as_the_others() {
    let mut scene = Scene::of(JobInfo {
        recording: true,
        metrics: Box::new(measured()),
        ..JobInfo::default()
    });
    let (first, _rank) = scene.attach(0);
    let number = ordered(&first, measured());
    answer(&first, number, Err((FAULTS, NoMetric::NoRoom)));
    scene.step(1);
    let notes = scene.status().notes;
    let told = notes.iter().any(|note| note.contains("metrics of rank 0"));
    assert!(told, "{notes:?}");
    scene.command(2, Verb::Shutdown);
    assert_eq!(ordered(&first, Measured::default()), 0);
}

#[test]
fn a_reset_discards_what_was_measured() {
    let mut scene = Scene::new();
    let (first, _rank) = scene.attach(0);
    scene.command(1, Verb::Metrics(measured()));
    let number = ordered(&first, measured());
    answer(&first, number, Ok(measured()));
    let begin_ns = scene.now.ns;
    read(&first, number, begin_ns, 0);
    read(&first, number, begin_ns + 100 * MS, 500);
    scene.step(100);
    let at_ns = job_now(&scene);
    scene.command(2, Verb::Reset { at_ns });
    scene.step(1);
    assert_eq!(grid(&mut scene).rows[&0].total.ranks, 0);
    read(&first, number, begin_ns + 200 * MS, 540);
    scene.step(100);
    let total = grid(&mut scene).rows[&0].total;
    assert_eq!(total.sum, 40);
}
