//! Metrics of a rank that computes for most of two seconds.

use super::*;
use invivo_grpc::v1::{GridCell, GridRow};

const MS: u64 = 1_000_000;
/// The time that the grids are over, in ms.
const SPAN: u64 = 2000;

/// A metric of rank 2, in a row of its own, measured all the time.
fn grid(metric: &str, value: u64) -> GridReply {
    let total = GridCell {
        ranks: 1,
        recorded_ns: SPAN * MS,
        sum: value,
        min: value,
        min_rank: 2,
        max: value,
        max_rank: 2,
    };
    GridReply {
        metric: metric.into(),
        block_ranks: 1,
        columns: 20,
        width_ns: SPAN * MS / 20,
        from_ns: 1_000_000_000,
        observed_ns: 1_000_000_000 + SPAN * MS,
        rows: vec![GridRow {
            row: 2,
            cells: Vec::new(),
            total: Some(total),
        }],
        ..GridReply::default()
    }
}

/// Times in ms.
fn times(compute: u64, on: u64, delay: u64) -> Vec<GridReply> {
    vec![
        grid(COMPUTE, compute * MS),
        grid("cpu-time", on * MS),
        grid("run-delay", delay * MS),
    ]
}

fn of(grids: &[GridReply]) -> OutsideMpi {
    outside_mpi(grids, Whose::Rank(2)).expect("something is known")
}

fn sentence(grids: &[GridReply]) -> String {
    told(&of(grids)).unwrap_or_default()
}

fn near(of: Option<f64>, expected: f64) {
    let is_near = |value: f64| (value - expected).abs() < 1e-9;
    assert!(of.is_some_and(is_near), "{of:?} is not {expected}");
}

#[test]
fn a_processor_was_missing() {
    let grids = times(1900, 1000, 950);
    near(of(&grids).run_delay_share, 950.0 / 1950.0);
    assert_eq!(
        sentence(&grids),
        "for 48.7 % of the time in which its threads could run they had no processor"
    );
    assert_eq!(sentence(&times(1900, 1700, 150)), "");
}

#[test]
fn a_rank_that_sleeps_is_on_no_processor() {
    let mut grids = times(1900, 150, 50);
    near(of(&grids).off_processor_share, 1700.0 / 1900.0);
    let plain = "for at least 89.5 % of its time outside MPI it was on no processor";
    assert_eq!(sentence(&grids), plain);
    grids.push(grid("written-bytes", 170 << 20));
    grids.push(grid("read-bytes", 10_000));
    grids.push(grid("major-faults", 500));
    near(of(&grids).read_bytes_per_s, 5000.0);
    assert_eq!(
        sentence(&grids),
        format!(
            "{plain} (it wrote 85.0 MiB/s and waited for pages of its memory from a disk 250 \
             times a second)"
        )
    );
    // Whoever computes may write as well.
    assert_eq!(
        sentence(&[&times(1900, 1800, 50)[..], &grids[3..]].concat()),
        ""
    );
}

#[test]
fn a_rank_may_sleep_and_lack_a_processor() {
    let text = sentence(&times(1900, 400, 650));
    assert!(
        text.contains("had no processor, and for at least 44.7 % of"),
        "{text}"
    );
    // Of one that could run for less nothing is said of it.
    assert_eq!(of(&times(1900, 40, 60)).run_delay_share, None);
}

/// What is usual on a machine with other work does not add up over threads.
#[test]
fn many_threads_with_little_noise_are_healthy() {
    let grids = times(1900, 64 * 1900, 64 * 4);
    let outside = of(&grids);
    near(outside.run_delay_share, 4.0 / 1904.0);
    near(outside.off_processor_share, 0.0);
    assert_eq!(sentence(&grids), "");
    // Without the time on a processor nobody knows how much it is.
    assert_eq!(
        outside_mpi(&[grids[0].clone(), grids[2].clone()], Whose::Rank(2)),
        None
    );
}

#[test]
fn values_of_other_columns_do_not_mix() {
    let mut grids = times(1900, 100, 0);
    grids[1].from_ns += 1;
    grids[1].begin_ns += 1;
    assert_eq!(outside_mpi(&grids, Whose::Rank(2)), None);
    // The time is the same where only the begin of the run is known better.
    grids[1].from_ns -= 2;
    assert!(of(&grids).off_processor_share.is_some());
}

/// Of the last column the part up to now counts.
#[test]
fn a_column_that_ends_behind_now_lacks_nothing() {
    let mut grids = times(1000, 100, 0);
    for grid in &mut grids {
        grid.observed_ns -= 900 * MS;
        let total = grid.rows[0].total.as_mut().expect("a total");
        total.recorded_ns -= 900 * MS;
    }
    near(of(&grids).off_processor_share, 0.9);
}

#[test]
fn what_was_not_measured_all_the_time_is_unknown() {
    let mut grids = times(1900, 100, 0);
    let total = |grid: &mut GridReply| {
        let total = grid.rows[0].total.as_mut().expect("a total");
        total.recorded_ns -= 150 * MS;
    };
    // All of the missing time may have been on a processor.
    total(&mut grids[1]);
    near(of(&grids).off_processor_share, 1650.0 / 1900.0);
    total(&mut grids[1]);
    assert_eq!(outside_mpi(&grids, Whose::Rank(2)), None);
}

#[test]
fn of_a_shared_row_only_the_extremes_are_known() {
    let (compute, mut grid) = (grid(COMPUTE, 0), grid("written-bytes", 8_000_000));
    grid.block_ranks = 4;
    grid.rows[0] = GridRow {
        row: 0,
        cells: Vec::new(),
        total: Some(GridCell {
            ranks: 4,
            recorded_ns: 4 * SPAN * MS,
            sum: 14_000_000,
            min: 1_000_000,
            min_rank: 3,
            max: 8_000_000,
            max_rank: 2,
        }),
    };
    let grids = [compute, grid];
    let rate = |rank| outside_mpi(&grids, Whose::Rank(rank))?.written_bytes_per_s;
    assert_eq!(rate(2), Some(4e6));
    assert_eq!(rate(3), Some(5e5));
    assert_eq!((rate(0), rate(1), rate(4)), (None, None, None));
}

/// Some threads in each of three columns: of rank 2, and in the mean of ranks 0, 1 and 2.
fn at_times(metric: &str, own: [u64; 3], of_all: [u64; 3]) -> GridReply {
    let cell = |rank, value| GridCell {
        ranks: 1,
        recorded_ns: SPAN * MS,
        sum: value,
        min: value,
        min_rank: rank,
        max: value,
        max_rank: rank,
    };
    let row = |rank: u32, cells: [u64; 3]| GridRow {
        row: rank,
        cells: cells.map(|value| cell(rank, value)).into(),
        total: Some(cell(rank, cells[0])),
    };
    let other = std::array::from_fn(|at| (3 * of_all[at] - own[at]) / 2);
    GridReply {
        absolute: true,
        ranks: 3,
        rows: vec![row(0, other), row(1, other), row(2, own)],
        ..grid(metric, 0)
    }
}

/// As [`times`], of three ranks that are alike.
fn times_of_all(compute: u64, on: u64, delay: u64) -> Vec<GridReply> {
    let mut grids = times(compute, on, delay);
    for grid in &mut grids {
        grid.ranks = 3;
        let alike = |rank| {
            let mut row = grid.rows[0].clone();
            let total = row.total.as_mut().expect("a total");
            (row.row, total.min_rank, total.max_rank) = (rank, rank, rank);
            row
        };
        grid.rows = (0..3).map(alike).collect();
    }
    grids
}

fn of_all(grids: &[GridReply]) -> Option<(Limit, String)> {
    told_of_all(&outside_mpi(grids, Whose::All).expect("something is known"))
}

#[test]
fn threads_of_a_rank_that_wait_for_one_are_idle() {
    let mut grids = times(1900, 2600, 0);
    assert_eq!(sentence(&grids), "", "how many there are is not known");
    // In one column all of them ran.
    grids.push(at_times("active-threads", [3, 4, 1], [4, 4, 1]));
    near(of(&grids).idle_threads_share, 5000.0 / 7600.0);
    assert_eq!(
        sentence(&grids),
        "its 4 threads were idle for at least 65.8 % of its time outside MPI, added up"
    );
    grids[1] = grid("cpu-time", 7000 * MS);
    assert_eq!(sentence(&grids), "");
}

#[test]
fn a_rank_with_fewer_threads_than_others_is_told() {
    let mut grids = times(1900, 1850, 0);
    grids.push(at_times("active-threads", [1, 1, 1], [3, 3, 3]));
    assert_eq!(sentence(&grids), "it has 1 active thread, and the others 4");
    grids[3] = at_times("active-threads", [1, 1, 1], [1, 1, 1]);
    assert_eq!(sentence(&grids), "");
}

#[test]
fn threads_on_too_few_processors_are_the_cause() {
    let mut grids = times(1900, 1900, 5600);
    grids.push(at_times("active-threads", [4; 3], [4; 3]));
    let plain = "for 74.7 % of the time in which its threads could run they had no processor";
    assert_eq!(sentence(&grids), plain);
    grids.push(at_times("processors", [1; 3], [1; 3]));
    assert_eq!(
        sentence(&grids),
        format!("{plain} (it has 4 threads on 1 processor)")
    );
    // One computes, and another one does a little, on one processor: nothing is idle.
    grids[1] = grid("cpu-time", 1900 * MS);
    grids[2] = grid("run-delay", 100 * MS);
    assert_eq!(sentence(&grids), "");
    (grids[1], grids[2]) = (grid("cpu-time", 1900 * MS), grid("run-delay", 5600 * MS));
    // There are enough, and others use them.
    grids[4] = at_times("processors", [4; 3], [4; 3]);
    assert_eq!(sentence(&grids), plain);
}

#[test]
fn of_all_ranks_the_mean_is_told() {
    let healthy = times_of_all(1900, 1850, 20);
    assert_eq!(of_all(&healthy), None);
    let mut grids = times_of_all(1900, 2600, 0);
    grids.push(at_times("active-threads", [2, 4, 1], [2, 4, 1]));
    let (limit, told) = of_all(&grids).expect("they are idle");
    assert_eq!(limit, Limit::IdleThreads);
    assert_eq!(
        told,
        "their threads, 4 of each, were idle for at least 65.8 % of that time, added up"
    );
    let mut grids = times_of_all(1900, 1900, 5600);
    grids.push(at_times("active-threads", [4; 3], [4; 3]));
    grids.push(at_times("processors", [1; 3], [1; 3]));
    let (limit, told) = of_all(&grids).expect("they have no processor");
    assert_eq!(limit, Limit::NoProcessor);
    assert!(
        told.ends_with("(a rank has 4 threads on 1 processor, in the mean)"),
        "{told}"
    );
    // Both: the greater part of the time counts.
    let mut grids = times_of_all(1900, 1900, 300);
    grids.push(at_times("active-threads", [4; 3], [4; 3]));
    let (limit, told) = of_all(&grids).expect("they are idle");
    assert_eq!(limit, Limit::IdleThreads);
    assert!(
        told.contains("71.1 % of that time, added up, and for 13.6 % of the time in which"),
        "{told}"
    );
    // They write.
    let mut grids = times_of_all(1900, 300, 0);
    grids.push(at_times("written-bytes", [16 << 20; 3], [16 << 20; 3]));
    let (limit, told) = of_all(&grids).expect("they are off");
    assert_eq!(limit, Limit::OffProcessor);
    assert_eq!(
        told,
        "were on no processor for at least 84.2 % of that (each wrote 8.00 MiB/s)"
    );
}

/// One that is missing may be the one that computes.
#[test]
fn of_some_ranks_nothing_is_said_of_all() {
    let mut grids = times_of_all(1900, 300, 0);
    grids[1].rows.pop();
    assert_eq!(outside_mpi(&grids, Whose::All), None);
}
