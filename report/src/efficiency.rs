//! Efficiencies of a whole run, as the POP project defines them, from the function table by rank.

use crate::functions::initialises;
use crate::rows::{Row, ns};
use crate::units::share;
use invivo_grpc::v1;
use std::collections::BTreeMap;

/// The time in MPI of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankTime {
    pub rank: u32,
    pub mpi_ns: u64,
}

/// The efficiencies of these ranks, the one with the least time in MPI first, which were recorded
/// for so long; nothing of no ranks or no time.
pub fn of(ranks: &[RankTime], span_ns: u64) -> Option<v1::Efficiency> {
    // With several threads in MPI at once a rank computes for what is left.
    let computing = |of: &RankTime| span_ns.saturating_sub(of.mpi_ns) as f64;
    let (first, last) = (ranks.first()?, ranks.last()?);
    if span_ns == 0 {
        return None;
    }
    let longest = computing(first);
    let mean = ranks.iter().map(computing).sum::<f64>() / ranks.len() as f64;
    let recorded = span_ns as f64;
    // Nobody computed: their shares of nothing are even.
    let load_balance = if longest > 0.0 { mean / longest } else { 1.0 };
    Some(v1::Efficiency {
        parallel_efficiency: mean / recorded,
        load_balance,
        communication_efficiency: longest / recorded,
        max_rank: first.rank,
        min_rank: last.rank,
        ranks: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
    })
}

/// The time in MPI of each of so many ranks, without initialisation, the least first: the others
/// wait for those. Nothing where a rank has no row: it has ended no call, and how long it was in
/// MPI is not known.
pub fn by_rank(rows: &[Row], ranks: u32) -> Option<Vec<RankTime>> {
    let mut times = BTreeMap::<u32, u64>::new();
    for row in rows {
        let time = times.entry(row.rank?).or_default();
        if !initialises(&row.function) {
            *time = time.saturating_add(ns(row.seconds));
        }
    }
    if times.len() != ranks as usize {
        return None;
    }
    let times = times.into_iter();
    let mut times: Vec<RankTime> = times
        .map(|(rank, mpi_ns)| RankTime { rank, mpi_ns })
        .collect();
    times.sort_by_key(|of| (of.mpi_ns, of.rank));
    Some(times)
}

/// A line: "parallel efficiency: 57.4 % (load balance 57.6 %, ...); rank 3 computes longest, ...".
pub fn line(of: &v1::Efficiency) -> String {
    format!(
        "parallel efficiency: {} (load balance {}, communication efficiency {}); rank {} computes \
         longest, rank {} shortest\n",
        share(of.parallel_efficiency, 1.0),
        share(of.load_balance, 1.0),
        share(of.communication_efficiency, 1.0),
        of.max_rank,
        of.min_rank
    )
}
