//! What the measurement takes of the ranks' time: a table by what it is for, and sentences about
//! the cap.

use crate::overhead::{Overhead, Taken};
use invivo_grpc::v1::Governance;
use invivo_proto::control::overhead::OverheadCap;
use invivo_report::table::{Side, Table};
use invivo_report::units::{duration, share};

/// Which of what was taken, in ns.
type Part = fn(&Taken) -> u64;

/// The parts: what they are for, and how much they are.
const PARTS: [(&str, Part); 4] = [
    ("recording MPI calls", |taken| taken.calls_ns),
    ("recording regions", |taken| taken.regions_ns),
    ("samples", |taken| taken.samples_ns),
    ("processors that ranks lacked", |taken| taken.displaced_ns),
];

/// All of it.
pub fn text(seen: &Overhead) -> String {
    let now = format!("last {}", duration(seen.over_ns));
    let mut table = Table::new([
        ("of the ranks' time", Side::Left),
        (&now, Side::Right),
        ("since the start", Side::Right),
    ]);
    let both = |of: &dyn Fn(&Taken) -> f64| {
        let share = |taken: &Taken| share(of(taken), 1.0);
        let now = seen.now.as_ref().map_or_else(|| "-".to_owned(), share);
        [now, share(&seen.since_start)]
    };
    for (name, part) in PARTS {
        let [now, all] = both(&|taken| taken.part(part(taken)));
        table.row([name.to_owned(), now, all]);
    }
    let [now, all] = both(&Taken::share);
    table.row(["overhead".to_owned(), now, all]);
    let mut text = format!("{}\n", table.text());
    let mut lines = vec![tools(seen)];
    lines.extend(governance(seen.governance.as_ref(), seen.now_ns));
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// What our processes take, wherever they run.
fn tools(seen: &Overhead) -> String {
    let Some(now) = seen.now.filter(|_| seen.over_ns > 0) else {
        return format!(
            "processes of the measurement: {} on processors since the start",
            duration(seen.since_start.tool_cpu_ns)
        );
    };
    format!(
        "processes of the measurement: {} of a processor now, {} since the start",
        share(now.tool_cpu_ns as f64, seen.over_ns as f64),
        duration(seen.since_start.tool_cpu_ns)
    )
}

/// How it is kept below its cap, in sentences, at this job time.
pub fn governance(of: Option<&Governance>, now_ns: u64) -> Vec<String> {
    let Some(governance) = of else {
        return vec!["no cap; to keep it below one: invivo overhead 2%".to_owned()];
    };
    let cap = governance.cap.and_then(OverheadCap::of_share);
    let mut lines = vec![match (cap, governance.share) {
        (Some(cap), Some(last)) => format!("cap: {cap}; when last looked at: {}", share(last, 1.0)),
        (Some(cap), None) => format!("cap: {cap}"),
        (None, _) => "no cap any longer".to_owned(),
    }];
    if governance.is_exhausted {
        let cannot = "it is above the cap, and nothing that may be given up would save it";
        lines.push(cannot.to_owned());
    }
    let given_up = governance.given_up.iter();
    lines.extend(given_up.map(|what| format!("given up: {what}")));
    if !governance.decided.is_empty() {
        lines.push(format!(
            "decided by commands since the cap was set, and not touched: {}",
            governance.decided.join(", ")
        ));
    }
    for event in &governance.events {
        let ago = duration(now_ns.saturating_sub(event.at_ns));
        lines.push(format!("{ago} ago: {}", event.sentence));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::GovernanceEvent;

    #[test]
    fn the_table_adds_up_and_the_cap_is_told() {
        let taken = Taken {
            rank_ns: 1_000_000,
            calls_ns: 5_000,
            regions_ns: 3_000,
            samples_ns: 0,
            displaced_ns: 2_000,
            tool_cpu_ns: 40_000,
        };
        let mut seen = Overhead {
            over_ns: 500_000,
            now: Some(taken),
            since_start: taken,
            now_ns: 9_000_000_000,
            ..Overhead::default()
        };
        let told = text(&seen);
        let sum = told.lines().find(|line| line.starts_with("overhead "));
        assert!(sum.is_some_and(|sum| sum.ends_with("  1.0 %")), "{told}");
        assert!(told.contains("8.0 % of a processor now"), "{told}");
        assert!(
            told.ends_with("to keep it below one: invivo overhead 2%\n"),
            "{told}"
        );
        seen.now = None;
        seen.governance = Some(Governance {
            cap: Some(0.0025),
            share: Some(0.05),
            given_up: vec!["regions are not recorded".into()],
            decided: vec!["invivo metrics".into(), "invivo sampling".into()],
            is_exhausted: true,
            events: vec![GovernanceEvent {
                at_ns: 4_000_000_000,
                sentence: "overhead 5.0 %: regions are not recorded".into(),
            }],
        });
        let told = text(&seen);
        for line in [
            "cap: 0.25%; when last looked at: 5.0 %",
            "it is above the cap, and nothing that may be given up would save it",
            "given up: regions are not recorded",
            "not touched: invivo metrics, invivo sampling",
            "5.00 s ago: overhead 5.0 %: regions are not recorded",
        ] {
            assert!(told.contains(line), "{told}");
        }
    }
}
