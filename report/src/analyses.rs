//! Which analyses are on, as a table, and the sentences of a view whose analysis was not.

use super::table::{Side, Table};
use super::units::{counted, duration};
use invivo_grpc::v1::AnalysisStatus;

/// A row for each analysis, and how to switch one.
pub fn text(analyses: &[AnalysisStatus]) -> String {
    let mut table = Table::new([
        ("analysis", Side::Left),
        ("state", Side::Left),
        ("since", Side::Left),
        ("ns a call", Side::Right),
        ("answers", Side::Left),
    ]);
    for one in analyses {
        let state = match (one.on, one.off) {
            (_, 0) => "on".to_owned(),
            (0, _) => "off".to_owned(),
            (on, off) => format!("on for {on} ranks, off for {off}"),
        };
        table.row([
            one.name.clone(),
            state,
            point(one, one.since_ns, "ago"),
            format!("{}", one.cost_ns),
            one.answers.clone(),
        ]);
    }
    let mut text = table.text();
    let gaps = analyses.iter().filter_map(|one| closed(one, "ago"));
    gaps.for_each(|gap| text.push_str(&format!("{gap}\n")));
    text
}

/// In a line without an end: "functions, matrix on; messages off (invivo analyses)".
pub fn line(analyses: &[AnalysisStatus]) -> String {
    let names = |is_meant: fn(&AnalysisStatus) -> bool| {
        let meant = analyses.iter().filter(|one| is_meant(one));
        meant
            .map(|one| one.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let parts = [
        (names(|one| one.off == 0), "on"),
        (
            names(|one| one.off > 0 && one.on > 0),
            "off for some ranks (invivo analyses)",
        ),
        (
            names(|one| one.off > 0 && one.on == 0),
            "off (invivo analyses)",
        ),
    ];
    let parts = parts.into_iter().filter(|(names, _)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(names, state)| format!("{names} {state}"))
        .collect();
    parts.join("; ")
}

/// What a view says of its analysis: nothing where it was always on, and else a line each for what
/// is off and for what was.
pub fn notes(analysis: Option<&AnalysisStatus>) -> String {
    let lines = analysis.map(sentences).unwrap_or_default();
    lines.iter().map(|line| format!("note: {line}\n")).collect()
}

/// The same as sentences without an end.
pub fn sentences(analysis: &AnalysisStatus) -> Vec<String> {
    let name = &analysis.name;
    let off = (analysis.off > 0).then(|| {
        let ranks = match analysis.on {
            0 => String::new(),
            _ => format!(" for {}", counted(analysis.off.into(), "rank")),
        };
        format!(
            "{name}: off{ranks} since {}; to switch it on: invivo analyses on {name}",
            point(analysis, analysis.since_ns, "ago")
        )
    });
    off.into_iter().chain(closed(analysis, "ago")).collect()
}

/// A report's sentence: which analyses were not on all the time; nothing where all were.
pub fn of_report(analyses: &[AnalysisStatus]) -> Option<String> {
    let parts = analyses.iter().filter_map(|one| {
        let whole = matches!(
            one.off_intervals.as_slice(),
            [off] if off.from_ns == 0 && off.to_ns.is_none()
        );
        if whole {
            return Some(format!("{} all the time", one.name));
        }
        let now = (one.off > 0).then(|| {
            let since = point(one, one.since_ns, "before the end");
            format!("{} since {since}", one.name)
        });
        let before = closed(one, "before the end");
        match (now, before) {
            (None, None) => None,
            (now, before) => Some(now.into_iter().chain(before).collect::<Vec<_>>().join(", ")),
        }
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("analyses that were off: {}", parts.join("; ")))
}

/// Whether an analysis of this name was off at any time that the answers are about.
pub fn was_off(analyses: &[AnalysisStatus], name: &str) -> bool {
    let is_gone = |one: &AnalysisStatus| {
        one.name == name
            && (one.off > 0 || one.earlier_intervals > 0 || !one.off_intervals.is_empty())
    };
    analyses.iter().any(is_gone)
}

/// The intervals that are over, in a sentence: "messages: off from the start of the job until 3 s
/// ago: calls that ended then are missing".
fn closed(analysis: &AnalysisStatus, ago: &str) -> Option<String> {
    let intervals = analysis.off_intervals.iter().filter_map(|off| {
        let to_ns = off.to_ns?;
        Some(format!(
            "from {} until {}",
            point(analysis, off.from_ns, ago),
            point(analysis, to_ns, ago)
        ))
    });
    let mut parts: Vec<String> = intervals.collect();
    if analysis.earlier_intervals > 0 {
        let times = counted(analysis.earlier_intervals.into(), "time");
        let length = duration(analysis.earlier_off_ns);
        parts.insert(0, format!("{times} before, for {length} in all"));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "{}: was off {}; calls that ended then are missing",
            analysis.name,
            parts.join(", and ")
        )
    })
}

/// A point in job time.
fn point(analysis: &AnalysisStatus, at_ns: u64, ago: &str) -> String {
    match at_ns {
        0 => "the start of the job".to_owned(),
        _ => format!("{} {ago}", duration(analysis.now_ns.saturating_sub(at_ns))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::OffInterval;

    fn messages(on: u32, off: u32, intervals: &[(u64, Option<u64>)]) -> AnalysisStatus {
        let interval = |&(from_ns, to_ns): &(u64, Option<u64>)| OffInterval { from_ns, to_ns };
        AnalysisStatus {
            name: "messages".into(),
            on,
            off,
            since_ns: intervals.last().map_or(0, |(from, to)| to.unwrap_or(*from)),
            off_intervals: intervals.iter().map(interval).collect(),
            now_ns: 60_000_000_000,
            ..AnalysisStatus::default()
        }
    }

    #[test]
    fn a_view_that_is_whole_has_no_notes() {
        assert_eq!(notes(Some(&messages(4, 0, &[]))), "");
        assert_eq!(notes(None), "");
        assert_eq!(of_report(&[messages(4, 0, &[])]), None);
    }

    #[test]
    fn what_is_off_names_the_command() {
        let off = messages(0, 4, &[(0, None)]);
        assert_eq!(
            notes(Some(&off)),
            "note: messages: off since the start of the job; to switch it on: invivo analyses on \
             messages\n"
        );
        assert_eq!(
            of_report(&[off]).as_deref(),
            Some("analyses that were off: messages all the time")
        );
        let some = messages(3, 1, &[(20_000_000_000, None)]);
        assert!(notes(Some(&some)).contains("off for 1 rank since 40.0 s ago;"));
    }

    #[test]
    fn what_was_off_is_named_with_its_intervals() {
        let on = AnalysisStatus {
            earlier_intervals: 2,
            earlier_off_ns: 3_000_000_000,
            ..messages(
                4,
                0,
                &[
                    (0, Some(10_000_000_000)),
                    (20_000_000_000, Some(30_000_000_000)),
                ],
            )
        };
        assert_eq!(
            notes(Some(&on)),
            "note: messages: was off 2 times before, for 3.00 s in all, and from the start of the \
             job until 50.0 s ago, and from 40.0 s ago until 30.0 s ago; calls that ended then are \
             missing\n"
        );
        let all = [on];
        assert!(was_off(&all, "messages") && !was_off(&all, "matrix"));
    }

    // The manual's page and this table come from one measurement.
    #[test]
    fn costs_are_those_of_the_page() {
        use invivo_proto::control::analyses::Analysis;
        let page = include_str!("../../docs/manual/reference/performance/place.json");
        let runs: Vec<serde_json::Value> = serde_json::from_str(page).unwrap();
        let rows = runs[runs.len() - 1]["rows"].as_array().unwrap();
        for analysis in Analysis::ALL {
            let is_it = |row: &&serde_json::Value| row["stage"] == analysis.name();
            let row = rows.iter().find(is_it);
            // The recording that is measured enters no regions.
            if row.is_none() && analysis == Analysis::Regions {
                assert!(analysis.cost_ns() <= 0.0);
                continue;
            }
            let row = row.expect("a row of the page");
            // What a part takes beyond decoding may be less than nothing, by noise.
            let measured = row["cpu_ns"]["median"].as_f64().unwrap().max(0.0);
            // Written with as many digits as the page prints.
            let shown = if measured < 10.0 { 0.05 } else { 0.5 };
            assert!(
                (analysis.cost_ns() - measured).abs() <= shown,
                "{}: {} ns in proto/src/control/analyses.rs, {measured} on the page",
                analysis.name(),
                analysis.cost_ns()
            );
        }
    }

    #[test]
    fn the_table_names_every_analysis() {
        let table = text(&[messages(4, 0, &[(0, Some(10_000_000_000))])]);
        assert!(
            table.starts_with("analysis  state  since       ns a call  answers\n"),
            "{table}"
        );
        assert!(table.contains("messages  on     50.0 s ago"), "{table}");
        let off = messages(0, 4, &[(0, None)]);
        let matrix = AnalysisStatus {
            name: "matrix".into(),
            on: 4,
            ..AnalysisStatus::default()
        };
        assert_eq!(
            line(&[matrix, off]),
            "matrix on; messages off (invivo analyses)"
        );
    }
}
