//! The MPI function table.

use super::recording::span_ns;
use super::table::{Side, Table};
use super::units::{bytes, count, duration, duration_f64, share};
use invivo_grpc::v1::{FunctionRow, JobStatus, RankState, RankStatus};

/// Whether it is a function that lies before the time observed.
pub fn initialises(function: &str) -> bool {
    matches!(function, "MPI_Init" | "MPI_Init_thread")
}

/// Time in MPI, but for initialisation: that lies before the time observed.
pub fn observed_mpi_ns(rows: &[FunctionRow]) -> u64 {
    let rows = rows
        .iter()
        // The observed time begins where initialisation ends.
        .filter(|row| !initialises(&row.function));
    rows.fold(0, |sum, row| sum.saturating_add(row.time_ns))
}

/// The same with the calls that ranks are in at this moment: a job that stands still in MPI has
/// none that end. Of ranks that the status does not name they are not known.
pub fn mpi_ns_until_now(rows: &[FunctionRow], status: &JobStatus) -> u64 {
    observed_mpi_ns(rows).saturating_add(open_ns(status))
}

/// Time of the ranks that are named in the calls that they are in, since the tables begin.
pub fn open_ns(status: &JobStatus) -> u64 {
    let is_recorded = status.recording.is_none_or(|recording| recording.on > 0);
    let is_open = |rank: &&RankStatus| {
        is_recorded && rank.state == i32::from(RankState::InMpi) && !initialises(&rank.function)
    };
    let span_ns = span_ns(status);
    let named = status.named.iter().filter(is_open);
    named.map(|rank| rank.since_ns.min(span_ns)).sum()
}

/// Whether there are clipped calls, of which a part is counted: they get a column of their own.
fn is_clipped(rows: &[FunctionRow]) -> bool {
    rows.iter().any(|row| row.clipped > 0)
}

/// The median of the durations and what 99 % of them are up to; of a row of which that is not known
/// `-`.
pub fn quantiles(row: &FunctionRow) -> [String; 2] {
    match &row.durations {
        Some(of) => [of.p50, of.p99].map(duration),
        None => ["-", "-"].map(String::from),
    }
}

/// Whether these are known of a row, so that there are columns for them.
pub(crate) fn are_distributed<'a>(rows: impl IntoIterator<Item = &'a FunctionRow>) -> bool {
    rows.into_iter().any(|row| row.durations.is_some())
}

/// The heads of these columns.
pub(crate) const QUANTILES: [(&str, Side); 2] = [("median", Side::Right), ("p99", Side::Right)];

/// All ranks together, the function with the most time first.
pub fn text(rows: &[FunctionRow]) -> String {
    if rows.is_empty() {
        return "no MPI call has been recorded yet\n".to_owned();
    }
    table(rows).text()
}

/// The time of all rows; it may be of a file that anybody wrote, so it must not overflow.
pub(crate) fn whole_ns(rows: &[FunctionRow]) -> u64 {
    rows.iter()
        .fold(0, |sum: u64, row| sum.saturating_add(row.time_ns))
}

/// The same as a table, also of no rows.
pub(crate) fn table(rows: &[FunctionRow]) -> Table {
    // Shares of the time in MPI, `MPI_Init` included, so that they add up to 100 %.
    let whole = whole_ns(rows);
    let clipped = is_clipped(rows);
    let mut columns = vec![
        ("function", Side::Left),
        ("calls", Side::Right),
        ("time", Side::Right),
        ("share", Side::Right),
        ("mean", Side::Right),
    ];
    let distributed = are_distributed(rows);
    columns.extend(QUANTILES.iter().filter(|_| distributed));
    columns.extend([
        ("sigma", Side::Right),
        ("min", Side::Right),
        ("max", Side::Right),
        ("of rank", Side::Right),
        ("sent", Side::Right),
        ("received", Side::Right),
    ]);
    columns.extend(clipped.then_some(("clipped", Side::Right)));
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = vec![
            row.function.clone(),
            count(row.calls),
            duration(row.time_ns),
            share(row.time_ns as f64, whole as f64),
            duration_f64(row.mean_ns),
        ];
        cells.extend(quantiles(row).into_iter().filter(|_| distributed));
        cells.extend([
            duration_f64(row.stddev_ns),
            duration(row.min_ns),
            duration(row.max_ns),
            row.max_rank.to_string(),
            bytes(row.bytes_out),
            bytes(row.bytes_in),
        ]);
        cells.extend(clipped.then(|| count(row.clipped)));
        table.row(cells);
    }
    table
}

/// By rank and function, the row with the most time first; at most `rows_max` rows of the `total`
/// that there are, and a line about the rest.
pub fn by_rank(rows: &[FunctionRow], rows_max: usize, total: usize) -> String {
    if rows.is_empty() {
        return "no MPI call has been recorded yet\n".to_owned();
    }
    let mut text = table_by_rank(rows, rows_max).text();
    // Some rows were left out by the tree already, some are left out here.
    let left_out = total.saturating_sub(rows.len().min(rows_max));
    if left_out > 0 {
        text.push_str(&format!(
            "... and {} with less time\n",
            super::units::counted(left_out as u64, "row")
        ));
    }
    text
}

/// The same as a table, also of no rows.
pub(crate) fn table_by_rank(rows: &[FunctionRow], rows_max: usize) -> Table {
    let clipped = is_clipped(rows);
    let mut columns = vec![
        ("rank", Side::Right),
        ("function", Side::Left),
        ("calls", Side::Right),
        ("time", Side::Right),
        ("mean", Side::Right),
        ("max", Side::Right),
        ("sent", Side::Right),
        ("received", Side::Right),
    ];
    columns.extend(clipped.then_some(("clipped", Side::Right)));
    let mut table = Table::new(columns);
    for row in rows.iter().take(rows_max) {
        let mut cells = vec![
            row.rank
                .map_or_else(|| "all".to_owned(), |rank| rank.to_string()),
            row.function.clone(),
            count(row.calls),
            duration(row.time_ns),
            duration_f64(row.mean_ns),
            duration(row.max_ns),
            bytes(row.bytes_out),
            bytes(row.bytes_in),
        ];
        cells.extend(clipped.then(|| count(row.clipped)));
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{Distribution, RecordingStatus};

    fn row(function: &str, rank: Option<u32>, time_ns: u64) -> FunctionRow {
        FunctionRow {
            function: function.to_owned(),
            rank,
            calls: 2,
            time_ns,
            mean_ns: time_ns as f64 / 2.0,
            stddev_ns: 0.0,
            min_ns: 1,
            max_ns: time_ns,
            max_rank: 3,
            bytes_out: 2048,
            bytes_in: 0,
            clipped: 0,
            durations: None,
            sizes: None,
        }
    }

    #[test]
    fn a_call_that_goes_on_is_time_in_mpi() {
        let named = |function: &str, state: RankState, since_ns| RankStatus {
            function: function.to_owned(),
            state: state.into(),
            since_ns,
            ..RankStatus::default()
        };
        let mut status = JobStatus {
            observed_ns: 1_000,
            named: vec![
                named("MPI_Recv", RankState::InMpi, 400),
                named("MPI_Send", RankState::InMpi, 5_000),
                named("MPI_Recv", RankState::Computing, 70),
                named("MPI_Init", RankState::InMpi, 90),
            ],
            ..JobStatus::default()
        };
        let rows = [row("MPI_Recv", None, 10)];
        assert_eq!(mpi_ns_until_now(&rows, &status), 10 + 400 + 1_000);
        status.recording = Some(RecordingStatus {
            off: 4,
            ..RecordingStatus::default()
        });
        assert_eq!(mpi_ns_until_now(&rows, &status), 10);
    }

    #[test]
    fn clipped_calls_have_a_column_where_there_are_any() {
        let cut = FunctionRow {
            clipped: 1,
            ..row("MPI_Recv", Some(0), 10)
        };
        let rows = [cut, row("MPI_Send", Some(1), 5)];
        for table in [text(&rows), by_rank(&rows, 2, 2)] {
            let ends: Vec<_> = table.lines().map(|line| line.rsplit(' ').next()).collect();
            assert_eq!(ends, [Some("clipped"), Some("1"), Some("0")], "{table}");
        }
        assert!(!text(&rows[1..]).contains("clipped"));
    }

    #[test]
    fn the_table_has_shares_of_the_whole() {
        let text = text(&[
            row("MPI_Recv", None, 3_000_000),
            row("MPI_Send", None, 1_000_000),
        ]);
        assert_eq!(
            text,
            "function  calls     time   share     mean  sigma   min      max  of rank      sent  \
             received\n\
             MPI_Recv      2  3.00 ms  75.0 %  1.50 ms    0 s  1 ns  3.00 ms        3  2.00 KiB  \
             \x20    0 B\n\
             MPI_Send      2  1.00 ms  25.0 %   500 us    0 s  1 ns  1.00 ms        3  2.00 KiB  \
             \x20    0 B\n"
        );
    }

    #[test]
    fn the_median_has_a_column_where_it_is_known() {
        let known = FunctionRow {
            durations: Some(Distribution {
                count: 2,
                p50: 1_200_000,
                p90: 2_000_000,
                p99: 2_300_000,
                bins: Vec::new(),
                error: 0.03125,
            }),
            ..row("MPI_Recv", None, 3_000_000)
        };
        let rows = [known, row("MPI_Send", None, 1)];
        let text = text(&rows);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][5..8], ["median", "p99", "sigma"], "{text}");
        assert!(text.contains("1.50 ms  1.20 ms  2.30 ms"), "{text}");
        assert_eq!(lines[2][8..10], ["-", "-"], "{text}");
    }

    #[test]
    fn initialisation_is_no_part_of_the_time_observed() {
        let rows = [
            row("MPI_Init_thread", None, 900),
            row("MPI_Init", None, 800),
            row("MPI_Recv", None, 5),
        ];
        assert_eq!(observed_mpi_ns(&rows), 5);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let rows: Vec<_> = (0..5)
            .map(|rank| row("MPI_Recv", Some(rank), 100))
            .collect();
        assert!(by_rank(&rows, 3, 10).ends_with("... and 7 rows with less time\n"));
        assert_eq!(by_rank(&rows, 5, 5).lines().count(), 6);
    }

    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(text(&[]), by_rank(&[], 10, 0));
    }
}
