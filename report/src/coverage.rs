//! Which part of the job an answer covers, and what was lost, in a sentence or two.

use super::units::{bytes, count, counted, duration};
use invivo_grpc::v1::{Coverage, Ledger};

/// Two lines or more: what was counted, and what was lost, if anything was.
pub fn text(coverage: &Coverage) -> String {
    let ledger = coverage.ledger.unwrap_or_default();
    let mut text = format!(
        "coverage: {} of {} ranks; {} entered: {} kept, {} given up by full buffers, {} under way, \
         {} open{}; lag {}\n",
        coverage.ranks_reporting,
        coverage.ranks,
        counted(ledger.entered, "call"),
        count(ledger.kept),
        count(ledger.reduced),
        count(ledger.in_flight),
        count(ledger.open),
        forgotten(&ledger),
        duration(coverage.lag_ns),
    );
    text.push_str(&format!("losses: {}\n", losses(coverage)));
    text
}

/// The calls before a reset and those that are not selected, which are no loss.
fn forgotten(ledger: &Ledger) -> String {
    let parts = [
        (ledger.reset, "forgotten on request"),
        (ledger.not_selected, "not selected"),
    ];
    let parts = parts.into_iter().filter(|(calls, _)| *calls > 0);
    parts
        .map(|(calls, why)| format!(", {} {why}", count(calls)))
        .collect()
}

/// What was lost, in one sentence without an end: `none` if nothing was.
pub fn losses(coverage: &Coverage) -> String {
    let ledger = coverage.ledger.unwrap_or_default();
    let dropped = ledger.dropped.unwrap_or_default();
    let parts = [
        (dropped.no_packet, "dropped as no packet was free"),
        (
            dropped.no_location,
            "dropped as there were too many threads",
        ),
        (ledger.dropped_by_place, "dropped by tool places"),
    ];
    let mut parts: Vec<String> = parts
        .into_iter()
        .filter(|(calls, _)| *calls > 0)
        .map(|(calls, why)| format!("{} {why}", counted(calls, "call")))
        .collect();
    // Packets and processes are no calls: how many calls they had is not known.
    if coverage.packets_refused > 0 {
        parts.push(format!(
            "{} refused as malformed",
            counted(coverage.packets_refused, "packet")
        ));
    }
    if coverage.members_missing > 0 {
        parts.push(missing(coverage));
    }
    if let Some(gap) = unaccounted(&ledger) {
        parts.push(gap);
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

/// "2 tool processes did not answer (world ranks 9, 10)".
fn missing(coverage: &Coverage) -> String {
    let number = u64::from(coverage.members_missing);
    let processes = if number == 1 { "process" } else { "processes" };
    let mut text = format!("{} tool {processes} did not answer", count(number));
    // An answer names some of them; the number counts all.
    if !coverage.missing.is_empty() {
        let names: Vec<String> = coverage.missing.iter().map(u32::to_string).collect();
        let more = if (coverage.missing.len() as u64) < number {
            ", ..."
        } else {
            ""
        };
        let ranks = if number == 1 { "rank" } else { "ranks" };
        text.push_str(&format!(" (world {ranks} {}{more})", names.join(", ")));
    }
    text
}

/// Calls that the ledger cannot place: there must be none in a settled state; while the job runs,
/// the parts are read one after the other, so that a few are under way between two counters.
fn unaccounted(ledger: &Ledger) -> Option<String> {
    let dropped = ledger.dropped.unwrap_or_default();
    let placed = [
        ledger.open,
        ledger.in_flight,
        ledger.kept,
        ledger.reduced,
        dropped.no_packet,
        dropped.no_location,
        ledger.not_selected,
        ledger.dropped_by_place,
        // Calls forgotten on request were counted at their entry as well.
        ledger.reset,
    ];
    // Counters from other processes may be anything: their sum must not overflow.
    let placed: u128 = placed.into_iter().map(u128::from).sum();
    let entered = u128::from(ledger.entered);
    // Parts are read while the ranks go on: a promille may be between two counters.
    (placed.abs_diff(entered) > entered / 1000)
        .then(|| format!("{placed} of {entered} calls accounted for"))
}

/// What the measurement itself costs.
pub fn own_cost(coverage: &Coverage, observed_ns: u64) -> String {
    let ledger = coverage.ledger.unwrap_or_default();
    // Regions and samples are more or fewer than calls.
    let others_ns = coverage
        .overhead_regions_ns
        .saturating_add(coverage.overhead_samples_ns);
    let calls_ns = coverage.overhead_ns.saturating_sub(others_ns);
    let per_call = if ledger.entered > 0 {
        format!(
            " ({} per call)",
            super::units::duration_f64(calls_ns as f64 / ledger.entered as f64)
        )
    } else {
        String::new()
    };
    let per_record = if ledger.entered > 0 && coverage.payload_bytes > 0 {
        format!(
            ", {:.1} bytes per call",
            coverage.payload_bytes as f64 / ledger.entered as f64
        )
    } else {
        String::new()
    };
    // The overhead is summed over the ranks, so the time must be, too.
    let felt_ns = coverage.overhead_ns.saturating_add(coverage.displaced_ns);
    let rank_time = observed_ns as f64 * f64::from(coverage.ranks);
    format!(
        "own cost: {} of the ranks' time: {} in them{per_call}, {} on processors that they \
         lacked; {} CPU in tool processes; {} over MPI, {} from shared memory, {} of \
         records{per_record}; {} of buffers\n",
        super::units::share(felt_ns as f64, rank_time),
        duration(coverage.overhead_ns),
        duration(coverage.displaced_ns),
        duration(coverage.tool_cpu_ns),
        counted(coverage.packets_mpi, "packet"),
        count(coverage.packets_shm),
        bytes(coverage.payload_bytes),
        bytes(coverage.buffer_bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::DroppedByShim;

    fn coverage(ledger: Ledger) -> Coverage {
        Coverage {
            ranks: 8,
            ranks_reporting: 8,
            ledger: Some(ledger),
            ..Coverage::default()
        }
    }

    #[test]
    fn nothing_lost_says_none() {
        let ledger = Ledger {
            entered: 100,
            open: 1,
            in_flight: 2,
            kept: 90,
            reduced: 7,
            ..Ledger::default()
        };
        assert_eq!(
            text(&coverage(ledger)),
            "coverage: 8 of 8 ranks; 100 calls entered: 90 kept, 7 given up by full buffers, 2 \
             under way, 1 open; lag 0 s\n\
             losses: none\n"
        );
    }

    #[test]
    fn every_kind_of_loss_is_named() {
        let dropped = Some(DroppedByShim {
            no_packet: 1,
            no_location: 2,
        });
        let ledger = Ledger {
            entered: 115,
            dropped,
            dropped_by_place: 4,
            reset: 5,
            not_selected: 3,
            kept: 100,
            ..Ledger::default()
        };
        let coverage = Coverage {
            packets_refused: 6,
            members_missing: 3,
            missing: vec![9, 10],
            ..coverage(ledger)
        };
        let losses = losses(&coverage);
        for part in [
            "1 call dropped as no packet",
            "2 calls dropped as there were too many threads",
            "4 calls dropped by tool places",
            "6 packets refused",
            "3 tool processes did not answer (world ranks 9, 10, ...)",
        ] {
            assert!(losses.contains(part), "{part:?} is missing in {losses:?}");
        }
        assert!(!losses.contains("accounted") && !losses.contains("forgotten"));
        assert!(text(&coverage).contains(", 0 open, 5 forgotten on request, 3 not selected; lag "));
    }

    #[test]
    fn a_ledger_that_does_not_add_up_is_told() {
        let ledger = Ledger {
            entered: 1000,
            kept: 900,
            ..Ledger::default()
        };
        assert_eq!(losses(&coverage(ledger)), "900 of 1000 calls accounted for");
        let ledger = Ledger {
            entered: 1000,
            kept: 1100,
            ..Ledger::default()
        };
        assert_eq!(
            losses(&coverage(ledger)),
            "1100 of 1000 calls accounted for"
        );
    }
}
