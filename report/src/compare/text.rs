//! A comparison as a page of text.

use super::changes::{CHANCE_MAX, Change, Comparison, Runs, Verdict};
use super::quantities::{Kind, SHARE_MIN, Unit};
use super::verdicts::runs_for_one;
use crate::table::{Side, Table};
use crate::units;

/// The page, with a line for each quantity of the whole run, and of each function and region that
/// is not small.
pub fn text(of: &Comparison) -> String {
    let what = if of.windows { "window" } else { "run" };
    let (base, new) = (side("base", what, &of.base), side("new", what, &of.new));
    let per = match of.windows {
        true => "times, calls and bytes of a second of recorded time\n",
        false => "",
    };
    let mut text = format!("{base}\n{new}\n{per}\n");
    let columns = [
        ("", Side::Left),
        ("base", Side::Right),
        ("new", Side::Right),
        ("change", Side::Right),
        ("", Side::Left),
    ];
    let mut table = Table::new(columns);
    let shown = of.changes.iter().filter(|one| is_shown(one));
    for one in shown {
        let what = one.quantity.quantity;
        let of = &one.quantity;
        let name = match (&of.function, &of.call_site, &of.region) {
            (Some(function), ..) => format!("{function}: {what}"),
            (None, Some(site), _) => format!("{site}: {what}"),
            (None, None, Some(region)) => format!("region {region}: {what}"),
            (None, None, None) => what.to_owned(),
        };
        table.row([
            name,
            number(one.quantity.unit, one.base_median),
            number(one.quantity.unit, one.new_median),
            one.change.map_or_else(String::new, percent),
            word(one),
        ]);
    }
    text.push_str(&table.text());
    text.push('\n');
    for note in &of.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&last(of));
    text
}

/// Calls and bytes are shown where they differ: mostly they do not.
fn is_shown(one: &Change) -> bool {
    let is_time = matches!(one.quantity.unit, Unit::Seconds | Unit::Share);
    !one.quantity.small && (is_time || one.verdict == Verdict::Other)
}

fn side(name: &str, what: &str, runs: &Runs) -> String {
    let mut text = format!(
        "{name:5} {} on {}",
        units::counted(runs.runs as u64, what),
        units::counted(runs.ranks.into(), "rank")
    );
    if let Some(command) = &runs.command {
        text.push_str(&format!(" of {command}"));
    }
    if let Some(date) = &runs.date {
        text.push_str(&format!(", {date}"));
    }
    text
}

fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Seconds => units::duration_f64(value * 1e9),
        Unit::Share => format!("{:.1} %", value * 100.0),
        Unit::Calls => units::count(value as u64),
        Unit::Bytes => units::bytes(value as u64),
    }
}

fn percent(change: f64) -> String {
    format!("{:+.1} %", change * 100.0)
}

fn word(one: &Change) -> String {
    let word = match one.verdict {
        Verdict::Same => return String::new(),
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Other => "other",
    };
    match one.p {
        Some(p) if p < 0.001 => format!("{word}, p < 0.001"),
        Some(p) => format!("{word}, p {p:.3}"),
        None => word.to_owned(),
    }
}

fn last(of: &Comparison) -> String {
    let threshold = of.threshold * 100.0;
    let small = of.changes.iter().filter(|one| one.quantity.small);
    let small = small.filter(|one| one.quantity.unit == Unit::Seconds);
    let mut text = String::new();
    let small: Vec<&Change> = small.collect();
    for (kind, what) in [
        (Kind::Run, "function"),
        (Kind::CallSite, "call site"),
        (Kind::Region, "region"),
    ] {
        let of_kind = small.iter().filter(|one| one.quantity.kind() == kind);
        // A call site whose time is told has no waiting worth telling.
        let count = of_kind
            .filter(|one| !one.quantity.quantity.starts_with("waiting"))
            .count();
        if count > 0 {
            text.push_str(&format!(
                "left out: {} with less than {:.0} % of the time\n",
                units::counted(count as u64, what),
                SHARE_MIN * 100.0
            ));
        }
    }
    let judged = of.changes.iter().filter(|one| !one.quantity.small);
    let is_site = |one: &&Change| one.quantity.kind() == Kind::CallSite;
    let mut sites = judged.clone().filter(is_site).peekable();
    if sites.peek().is_some() && sites.all(|one| one.p.is_none()) {
        text.push_str(&format!(
            "call sites are judged from {} of each side on\n",
            runs_for_one()
        ));
    }
    let mut judged = judged.filter(|one| !is_site(one));
    let is_judged = judged.all(|one| one.p.is_some());
    if !is_judged {
        text.push_str(&format!(
            "of so few runs nobody can say what is chance: with {} of each side it can be told \
             (give several reports)\n",
            of.runs_needed
        ));
    }
    let what = match (of.worse, is_judged) {
        (true, _) => format!("worse by more than {threshold} %"),
        (false, true) => format!(
            "nothing is worse by more than {threshold} % and beyond chance (p at most \
             {CHANCE_MAX})"
        ),
        (false, false) => format!("nothing is worse by more than {threshold} %"),
    };
    text.push_str(&what);
    text.push('\n');
    text
}
