//! Sums over the rows or cells of a table that a comparison is about.

use super::part::Part;
use invivo_grpc::v1::{FunctionRow, FunctionsReply, JobStatus, MatrixReply, Traffic};
use invivo_report::{functions, recording};

/// Rows of a function table together.
#[derive(Default)]
pub struct Sum {
    /// Calls.
    pub calls: u64,
    /// Of these, clipped ones.
    pub clipped: u64,
    /// Their time, in ns.
    pub time_ns: u64,
    /// The shortest, in ns.
    pub min_ns: Option<u64>,
    /// The longest, in ns.
    pub max_ns: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Of the time that all ranks (or the one asked for) had.
    pub share: f64,
}

/// The rows of a function table that are meant.
///
/// # Errors
/// When the answer does not have all of them.
pub fn sum(table: &FunctionsReply, status: &JobStatus, part: &Part) -> Result<Sum, String> {
    let all = if part.rank.is_some() {
        &table.rank_rows
    } else {
        &table.rows
    };
    let is_meant = |row: &&FunctionRow| {
        row.rank == part.rank
            && part
                .function
                .as_ref()
                .is_none_or(|function| *function == row.function)
    };
    let rows: Vec<FunctionRow> = all.iter().filter(is_meant).cloned().collect();
    // Rows are cut to those with the most time, so a missing row may be of this rank.
    if part.rank.is_some() && table.rank_rows_total as usize > all.len() {
        return Err(format!(
            "the table by rank has {} rows, of which {} were given: a rank's sum is not known",
            table.rank_rows_total,
            all.len()
        ));
    }

    // Initialisation lies before the time observed, unless it is what the comparison is about.
    let mpi_ns = match part.function {
        Some(_) => rows.iter().map(|row| row.time_ns).sum(),
        None => functions::observed_mpi_ns(&rows),
    };
    let ranks = match part.rank {
        // A share of one rank's time, or of the time of all that report.
        Some(_) => 1,
        None => table
            .coverage
            .as_ref()
            .map_or(0, |coverage| coverage.ranks_reporting),
    };
    let observed_ns = recording::span_ns(status) as f64 * f64::from(ranks);
    // A share of the initialisation is one of all time, as it lies before the time observed.
    let is_whole = part.function.as_deref().is_some_and(functions::initialises);
    let whole_ns = observed_ns + if is_whole { mpi_ns as f64 } else { 0.0 };
    let mut sum = Sum {
        share: if whole_ns > 0.0 {
            mpi_ns as f64 / whole_ns
        } else {
            0.0
        },
        ..Sum::default()
    };
    for row in &rows {
        sum.calls += row.calls;
        sum.clipped += row.clipped;
        sum.time_ns += row.time_ns;
        sum.sent += row.bytes_out;
        sum.received += row.bytes_in;
        sum.max_ns = sum.max_ns.max(row.max_ns);
        sum.min_ns = Some(sum.min_ns.map_or(row.min_ns, |min| min.min(row.min_ns)));
    }
    Ok(sum)
}

/// Cells of a matrix together.
#[derive(Default)]
pub struct Cells {
    /// As reported by the senders.
    pub sent: Traffic,
    /// As reported by the receivers.
    pub received: Traffic,
    /// In no cell.
    pub unresolved: Traffic,
    /// With processes outside of the job, in no cell either.
    pub outside: Traffic,
    /// Ranks per block.
    pub block_ranks: u32,
}

/// The cells of a matrix that are meant.
///
/// # Errors
/// When one rank is meant and the matrix has blocks of several.
pub fn cells(matrix: &MatrixReply, part: &Part) -> Result<Cells, String> {
    let names_rank = part.source.is_some() || part.destination.is_some();
    if names_rank && matrix.block_ranks > 1 {
        return Err(format!(
            "the matrix is in blocks of {} ranks: the traffic of one rank is not known",
            matrix.block_ranks
        ));
    }
    let is = |wanted: Option<u32>, rank| wanted.is_none_or(|wanted| wanted == rank);
    let mut sum = Cells {
        unresolved: matrix.unresolved.unwrap_or_default(),
        outside: matrix.outside.unwrap_or_default(),
        block_ranks: matrix.block_ranks,
        ..Cells::default()
    };
    for cell in &matrix.cells {
        if is(part.source, cell.source) && is(part.destination, cell.destination) {
            for (sum, traffic) in [
                (&mut sum.sent, cell.sent),
                (&mut sum.received, cell.received),
            ] {
                let traffic = traffic.unwrap_or_default();
                sum.messages += traffic.messages;
                sum.bytes += traffic.bytes;
            }
        }
    }
    Ok(sum)
}
