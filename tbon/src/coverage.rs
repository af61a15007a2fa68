//! Merges coverage, and checks the conservation law: calls entered are calls whose records are
//! somewhere.
//!
//! Of a member that is gone, what it held or awaited counts as dropped.

use core::fmt;
use invivo_proto::control::results::{Coverage, Ledger};

/// Adds the coverage of other ranks.
pub fn merge(into: &mut Coverage, from: &Coverage) {
    // Every field is named, so that a new one cannot be forgotten here.
    let Coverage {
        ranks,
        ranks_reporting,
        members_missing,
        lag_ns,
        ledger,
        overhead_ns,
        overhead_regions_ns,
        overhead_samples_ns,
        tool_cpu_ns,
        observer_cpu_ns,
        displaced_ns,
        packets_mpi,
        packets_shm,
        payload_bytes,
        packets_refused,
        buffer_bytes,
    } = from;
    into.ranks = into.ranks.saturating_add(*ranks);
    into.ranks_reporting = into.ranks_reporting.saturating_add(*ranks_reporting);
    into.members_missing = into.members_missing.saturating_add(*members_missing);
    // The answer is as old as its oldest part.
    into.lag_ns = into.lag_ns.max(*lag_ns);
    add(&mut into.ledger, ledger);
    sum(&mut into.overhead_ns, *overhead_ns);
    sum(&mut into.overhead_regions_ns, *overhead_regions_ns);
    sum(&mut into.overhead_samples_ns, *overhead_samples_ns);
    sum(&mut into.tool_cpu_ns, *tool_cpu_ns);
    sum(&mut into.observer_cpu_ns, *observer_cpu_ns);
    sum(&mut into.displaced_ns, *displaced_ns);
    sum(&mut into.packets_mpi, *packets_mpi);
    sum(&mut into.packets_shm, *packets_shm);
    sum(&mut into.payload_bytes, *payload_bytes);
    sum(&mut into.packets_refused, *packets_refused);
    sum(&mut into.buffer_bytes, *buffer_bytes);
}

/// Adds the ledger of other records.
pub fn add(into: &mut Ledger, from: &Ledger) {
    let Ledger {
        entered,
        open,
        in_flight,
        kept,
        reduced,
        dropped,
        dropped_by_place,
        reset,
    } = from;
    sum(&mut into.entered, *entered);
    sum(&mut into.open, *open);
    sum(&mut into.in_flight, *in_flight);
    sum(&mut into.kept, *kept);
    sum(&mut into.reduced, *reduced);
    into.dropped
        .iter_mut()
        .zip(dropped)
        .for_each(|(into, from)| sum(into, *from));
    sum(&mut into.dropped_by_place, *dropped_by_place);
    sum(&mut into.reset, *reset);
}

/// Numbers of a damaged message must not bring the node down.
fn sum(into: &mut u64, from: u64) {
    *into = into.saturating_add(from);
}

/// The conservation law does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    pub ledger: Ledger,
    /// Open, in flight, kept, reduced, dropped and reset together.
    pub accounted: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Imbalance { ledger, accounted } = self;
        write!(
            f,
            "{} records entered and {accounted} are accounted for: {ledger:?}",
            ledger.entered
        )
    }
}

impl core::error::Error for Imbalance {}

/// Checks **entered = open + in flight + kept + reduced + dropped + reset**.
///
/// # Errors
/// When records are missing, or counted twice.
pub fn balance(ledger: &Ledger) -> Result<(), Imbalance> {
    let Ledger {
        entered,
        open,
        in_flight,
        kept,
        reduced,
        dropped,
        dropped_by_place,
        reset,
    } = *ledger;
    let parts = [open, in_flight, kept, reduced, dropped_by_place, reset];
    // Saturating: a damaged ledger gives an imbalance and no overflow.
    let accounted = parts
        .into_iter()
        .chain(dropped)
        .fold(0, u64::saturating_add);
    if accounted == entered {
        Ok(())
    } else {
        Err(Imbalance {
            ledger: *ledger,
            accounted,
        })
    }
}

/// The ledger of a member that is gone, from its last answer: what it held or awaited counts as
/// dropped.
pub(crate) fn gone(last: &Ledger) -> Ledger {
    let Ledger {
        entered,
        open,
        in_flight,
        kept,
        reduced,
        dropped,
        dropped_by_place,
        reset,
    } = *last;
    // Records that it held or that were on their way to it are lost with it; what it had counted as
    // reduced or dropped stays so.
    let given_up = [open, in_flight, kept, dropped_by_place]
        .into_iter()
        .fold(0, u64::saturating_add);
    Ledger {
        entered,
        reduced,
        dropped,
        dropped_by_place: given_up,
        reset,
        ..Ledger::default()
    }
}
