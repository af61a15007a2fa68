//! Metrics of a rank that computes for most of two seconds.

use super::*;
use invivo_grpc::v1::GridRow;

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
    outside_mpi(grids, 2).expect("something is known")
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
    let grids = times(1900, 1000, 1000);
    // Of the second without a processor, 100 ms may have been in MPI.
    near(of(&grids).run_delay_share, 900.0 / 1900.0);
    assert_eq!(
        sentence(&grids),
        "for at least 47.4 % of its time outside MPI it could run and had no processor"
    );
    near(of(&times(1000, 500, 700)).run_delay_share, 0.0);
    assert_eq!(sentence(&times(1900, 1700, 250)), "");
}

#[test]
fn a_rank_that_sleeps_is_on_no_processor() {
    let mut grids = times(1900, 150, 50);
    near(of(&grids).off_processor_share, 1700.0 / 1900.0);
    let plain = "for at least 89.5 % of its time outside MPI it was on no processor, as it slept \
                 or waited";
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
    let text = sentence(&times(1900, 300, 600));
    assert!(
        text.contains("had no processor, and for at least 52.6 % of"),
        "{text}"
    );
}

#[test]
fn of_several_threads_nothing_is_said_of_mpi() {
    let grids = times(1900, 1900, 5700);
    let outside = of(&grids);
    assert_eq!(outside.run_delay_share, None);
    near(outside.threads_run_delay_share, 2.85);
    near(outside.off_processor_share, 0.0);
    assert_eq!(
        sentence(&grids),
        "its threads could run and had no processor for 285.0 % of the time, summed up"
    );
    // Without the time on a processor nobody knows how many threads there were.
    let alone = of(&[grids[0].clone(), grid("run-delay", 300 * MS)]);
    assert_eq!(alone.run_delay_share, None);
    near(alone.threads_run_delay_share, 0.15);
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
    assert_eq!(of(&grids).off_processor_share, None);
    assert_eq!(outside_mpi(&grids[..2], 2), None);
}

#[test]
fn of_a_shared_row_only_the_extremes_are_known() {
    let mut grid = grid("written-bytes", 8_000_000);
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
    let rate = |rank| outside_mpi(std::slice::from_ref(&grid), rank)?.written_bytes_per_s;
    assert_eq!(rate(2), Some(4e6));
    assert_eq!(rate(3), Some(5e5));
    assert_eq!((rate(0), rate(1), rate(4)), (None, None, None));
}
