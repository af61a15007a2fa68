//! Sentences and tables about the ranks' states.

use super::analyses;
use super::left_out;
use super::recording;
use super::table::{Side, Table};
use super::terminal;
use super::units::{count, counted, duration, share};
use invivo_grpc::convert::state_name;
use invivo_grpc::v1::{JobStatus, Measuring, RankCounts, Snapshot};

/// Ranks by state, what is recorded, a pause, the ranks named, and notes.
pub fn text(status: &JobStatus) -> String {
    let mut text = format!("ranks: {}\n", states(&status.ranks.unwrap_or_default()));
    if let Some(recording) = &status.recording {
        text.push_str(&format!("recording: {}\n", recording::text(recording)));
    }
    if !status.analyses.is_empty() {
        text.push_str(&format!("analyses: {}\n", analyses::line(&status.analyses)));
    }
    if let Some(of) = &status.measuring {
        text.push_str(&format!("measured: {}\n", measuring(of)));
    }
    if let Some(pause) = &status.pause {
        text.push_str(&format!(
            "paused by command {}, for at most {} more; to end it: invivo resume\n",
            pause.command_id,
            duration(pause.lease_left_ns)
        ));
    }
    if !status.named.is_empty() {
        let mut table = Table::new([
            ("rank", Side::Right),
            ("state", Side::Left),
            ("function", Side::Left),
            ("since", Side::Right),
            ("calls", Side::Right),
            ("in MPI", Side::Right),
        ]);
        for rank in &status.named {
            table.row([
                rank.rank.to_string(),
                state_name(rank.state).to_owned(),
                if rank.function.is_empty() {
                    "-".to_owned()
                } else {
                    rank.function.clone()
                },
                duration(rank.since_ns),
                count(rank.entered),
                duration(rank.mpi_ns),
            ]);
        }
        text.push_str(&table.text());
        text.push_str(&left_out::ranks(ranks(status), status.named.len()));
    }
    for note in &status.notes {
        text.push_str(&format!("note: {}\n", terminal::line(note)));
    }
    text
}

/// What is measured: what always is, and what a user has chosen beside it.
pub fn measuring(of: &Measuring) -> String {
    let mut parts = vec!["MPI calls, regions".to_owned()];
    if of.sampling_frequency > 0 {
        let frequency = count(of.sampling_frequency.into());
        let by = match of.sampling_by_timer {
            true => " by timers in the ranks",
            false => "",
        };
        parts.push(format!("samples at up to {frequency} Hz{by}"));
    }
    if !of.metrics.is_empty() {
        let every = duration(of.metrics_interval_ns);
        parts.push(format!("metrics every {every} ({})", of.metrics.join(" ")));
    }
    let mut text = parts.join(", ");
    if of.selection_rules > 0 {
        let rules = counted(of.selection_rules.into(), "rule");
        text.push_str(&format!("; {rules} of selection (invivo selection)"));
    }
    text
}

/// Ranks in all states.
fn ranks(status: &JobStatus) -> u64 {
    let of = status.ranks.unwrap_or_default();
    let states = [
        of.starting,
        of.computing,
        of.in_mpi,
        of.paused,
        of.finished,
        of.held,
    ];
    states.into_iter().map(u64::from).sum()
}

/// The name and version out of an MPI library's own version line, which may go on for a paragraph.
pub fn library(version: &str) -> String {
    // MPICH's version is a page with its configuration; Open MPI's is one line with commas.
    let line = version.lines().next().unwrap_or_default();
    let name = line.split(',').next().unwrap_or_default();
    name.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(" Version:", "")
}

/// Numbers of ranks by state, those that are none left out.
pub fn states(counts: &RankCounts) -> String {
    let parts = [
        (counts.starting, "starting"),
        (counts.computing, "computing"),
        (counts.in_mpi, "in MPI"),
        (counts.held, "held behind MPI_Init"),
        (counts.paused, "paused"),
        (counts.finished, "finished"),
    ];
    let parts = parts.into_iter().filter(|(ranks, _)| *ranks > 0);
    let text = parts
        .map(|(ranks, state)| format!("{ranks} {state}"))
        .collect::<Vec<_>>()
        .join(", ");
    if text.is_empty() {
        "none seen yet".to_owned()
    } else {
        text
    }
}

/// One line about a snapshot, with rates since the one before.
pub fn line(snapshot: &Snapshot, before: Option<&Snapshot>) -> String {
    let status = snapshot.status.clone().unwrap_or_default();
    let coverage = snapshot.coverage.clone().unwrap_or_default();
    let ledger = coverage.ledger.unwrap_or_default();
    let mut parts = vec![
        duration(status.observed_ns),
        states(&status.ranks.unwrap_or_default()),
    ];
    // What matters most comes early, where a narrow terminal does not cut it off.
    if let Some(pause) = &status.pause {
        parts.push(format!(
            "PAUSED for at most {} more",
            duration(pause.lease_left_ns)
        ));
    }
    if let Some(recording) = status.recording.as_ref().and_then(recording::alert) {
        parts.push(recording);
    }
    let losses = super::coverage::losses(&coverage);
    if losses != "none" {
        parts.push(format!("LOSSES: {losses}"));
    }
    // As the time beside it: since the last reset.
    let calls = ledger.entered.saturating_sub(ledger.reset);
    parts.push(match before.map(|before| rate(before, snapshot)) {
        Some(Some(rate)) => format!("{} ({}/s)", counted(calls, "call"), count(rate)),
        _ => counted(calls, "call"),
    });

    parts.extend(in_mpi(snapshot));
    if let Some(top) = snapshot.functions.first() {
        parts.push(format!("most {}", top.function));
    }
    if let [least, _, ..] = &status.named[..] {
        parts.push(format!("rank {} waits least", least.rank));
    }
    parts.push(format!("lag {}", duration(coverage.lag_ns)));
    terminal::line(&parts.join(" | ")).into_owned()
}

/// The share of the ranks' time that was in MPI, where the snapshot tells it.
pub fn in_mpi(snapshot: &Snapshot) -> Option<String> {
    let status = snapshot.status.as_ref()?;
    let ranks = snapshot.coverage.as_ref()?.ranks_reporting;
    // The time goes on while recording is off, and what is recorded does not: a share would fall.
    let is_standing = status.recording.as_ref().is_some_and(|recording| {
        recording.on == 0 && recording.off > 0 && recording.window.is_none()
    });
    if is_standing {
        // Who shows this says that it is off.
        return None;
    }
    if analyses::was_off(&status.analyses, "functions") {
        return Some("functions OFF for a time".to_owned());
    }
    let mpi_ns = super::functions::mpi_ns_until_now(&snapshot.functions, status);
    let rank_ns = recording::span_ns(status) as f64 * f64::from(ranks);
    (mpi_ns > 0).then(|| format!("{} in MPI", share(mpi_ns as f64, rank_ns)))
}

/// Calls per second between two snapshots.
fn rate(before: &Snapshot, after: &Snapshot) -> Option<u64> {
    let entered = |snapshot: &Snapshot| {
        snapshot
            .coverage
            .as_ref()?
            .ledger
            .map(|ledger| ledger.entered)
    };
    let calls = entered(after)?.checked_sub(entered(before)?)?;
    let ns = after
        .unix_ns
        .checked_sub(before.unix_ns)
        .filter(|ns| *ns > 0)?;
    Some((calls as f64 * 1e9 / ns as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{
        Coverage, FunctionRow, Ledger, PauseStatus, RankState, RankStatus, RecordingStatus,
    };

    fn status() -> JobStatus {
        JobStatus {
            analyses: Vec::new(),
            ranks: Some(RankCounts {
                computing: 1,
                in_mpi: 1,
                ..RankCounts::default()
            }),
            named: vec![RankStatus {
                rank: 1,
                state: RankState::InMpi.into(),
                function: "MPI_Recv".to_owned(),
                since_ns: 2_500_000,
                entered: 1234,
                mpi_ns: 1_000_000_000,
            }],
            pause: None,
            observed_ns: 4_000_000_000,
            notes: vec!["something odd".to_owned()],
            recording: None,
            governance: None,
            measuring: None,
        }
    }

    #[test]
    fn a_status_is_a_sentence_and_a_table() {
        assert_eq!(
            text(&status()),
            "ranks: 1 computing, 1 in MPI\n\
             rank  state   function    since  calls  in MPI\n\
             \u{20}  1  in MPI  MPI_Recv  2.50 ms  1,234  1.00 s\n\
             ... and 1 more rank from the middle of this order: invivo functions --per-rank --rows \
             N\n\
             note: something odd\n"
        );
    }

    #[test]
    fn what_is_measured_is_a_line() {
        let of = |measuring| {
            let status = JobStatus {
                measuring: Some(measuring),
                ..JobStatus::default()
            };
            text(&status)
        };
        assert_eq!(
            of(Measuring::default()),
            "ranks: none seen yet\nmeasured: MPI calls, regions\n"
        );
        let all = Measuring {
            sampling_frequency: 251,
            metrics: vec!["cpu-time".to_owned(), "page-faults".to_owned()],
            metrics_interval_ns: 1_000_000_000,
            selection_rules: 2,
            sampling_by_timer: true,
        };
        assert_eq!(
            of(all),
            "ranks: none seen yet\n\
             measured: MPI calls, regions, samples at up to 251 Hz by timers in the ranks, \
             metrics every 1.00 s (cpu-time page-faults); 2 rules of selection (invivo selection)\n"
        );
    }

    #[test]
    fn a_library_is_named_briefly() {
        let ompi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May \
            26, 2022";
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n";
        assert_eq!(
            [ompi, mpich, ""].map(library),
            ["Open MPI v4.1.4", "MPICH 4.0.2", ""]
        );
    }

    #[test]
    fn a_pause_says_how_it_ends() {
        let pause = Some(PauseStatus {
            command_id: 7,
            lease_left_ns: 60_000_000_000,
        });
        let text = text(&JobStatus { pause, ..status() });
        assert!(text.contains(
            "paused by command 7, for at most 1 min 0 s more; to end it: invivo resume\n"
        ));
    }

    #[test]
    fn a_line_has_rates_and_losses() {
        let snapshot = |entered, kept, unix_ns| Snapshot {
            unix_ns,
            coverage: Some(Coverage {
                ranks: 2,
                ranks_reporting: 2,
                ledger: Some(Ledger {
                    entered,
                    kept,
                    ..Ledger::default()
                }),
                ..Coverage::default()
            }),
            status: Some(status()),
            functions: vec![FunctionRow {
                function: "MPI_Recv".to_owned(),
                time_ns: 2_000_000_000,
                ..FunctionRow::default()
            }],
            ..Snapshot::default()
        };
        let (first, second) = (
            snapshot(100, 100, 1_000_000_000),
            snapshot(1100, 500, 1_500_000_000),
        );
        assert_eq!(
            line(&first, None),
            "4.00 s | 1 computing, 1 in MPI | 100 calls | 25.0 % in MPI | most MPI_Recv | lag 0 s"
        );
        let mut two = first.clone();
        if let Some(status) = &mut two.status {
            status.named.push(RankStatus::default());
        }
        assert!(line(&two, None).contains(" | rank 1 waits least | "));
        let mut off = first.clone();
        if let Some(status) = &mut off.status {
            status.recording = Some(RecordingStatus {
                off: 2,
                ..RecordingStatus::default()
            });
        }
        let off = line(&off, None);
        assert!(off.contains("RECORDING OFF") && !off.contains('%'), "{off}");
        let line = line(&second, Some(&first));
        let losses = "4.00 s | 1 computing, 1 in MPI | LOSSES: 500 of 1100 calls accounted for | \
            1,100 calls (2,000/s) |";
        assert!(line.starts_with(losses), "{line}");
    }
}
