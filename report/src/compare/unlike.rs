//! What may make the two sides of a comparison unlike.

use crate::contents::Report;

/// What may make the two sides unlike, or a side unlike itself.
pub fn notes(base: &[Report], new: &[Report], windows: bool) -> Vec<String> {
    let all = || base.iter().chain(new);
    let mut notes = Vec::new();
    let mut differ = |what: &str, of: fn(&Report) -> String| {
        let mut values: Vec<String> = all().map(of).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 {
            notes.push(format!("{what} differ: {}", values.join(" | ")));
        }
    };
    differ("numbers of ranks", |report| report.job.ranks.to_string());
    differ("MPI libraries", |report| report.job.library.clone());
    differ("hosts of the root", |report| {
        report
            .start
            .as_ref()
            .map_or_else(String::new, |start| start.host.clone())
    });
    let mut count = |is_it: fn(&Report) -> bool, what: &str| {
        let runs = all().filter(|report| is_it(report)).count();
        if runs > 0 {
            notes.push(format!(
                "in {runs} of {} runs {what}",
                base.len() + new.len()
            ));
        }
    };
    count(
        |report| !report.ended.is_empty() || report.tool_process_ended.is_some(),
        "a process ended early",
    );
    count(
        |report| report.shut_down,
        "the measurement was shut down before the job ended",
    );
    count(
        |report| {
            let ledger = report.coverage.ledger.as_ref();
            let dropped = ledger.and_then(|ledger| ledger.dropped.as_ref());
            dropped.is_some_and(|all| all.no_packet + all.no_location > 0)
                || ledger.is_some_and(|ledger| ledger.dropped_by_place > 0)
        },
        "calls were lost, and are not in these numbers",
    );
    count(
        |report| (report.regions.as_ref()).is_some_and(|regions| regions.rows_unnamed > 0),
        "names of regions had not been looked up: without one they are not compared",
    );
    count(
        |report| (report.call_sites.as_ref()).is_some_and(|sites| sites.rows_unnamed > 0),
        "names at call sites had not been looked up: without one they are not compared",
    );
    // Behind a window it is.
    if !windows {
        count(
            |report| report.recording.off > 0,
            "recording was off at the end",
        );
    }
    notes
}
