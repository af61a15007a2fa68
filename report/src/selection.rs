//! Which regions and MPI functions are recorded: the rules in force, and what they do.

pub mod suggest;

use super::table::{Side, Table};
use super::units::{count, counted, duration};
use invivo_grpc::v1::{SelectionReply, SelectionRule, SelectionRuleStatus};
use invivo_proto::control::selection::{Known, Rule, judge};
use invivo_proto::mpi::{FUNCTIONS, Group};

/// Functions that a line names; of more it gives the numbers.
const NAMED_MAX: usize = 6;
/// Functions named as examples of those that are recorded all the same.
const EXAMPLES: usize = 3;

/// The rules in force with the regions that each decides about, and lines about what is recorded.
/// Points in time count from the start of the job.
pub fn text(reply: &SelectionReply) -> String {
    let mut text = rules(reply);
    for line in sentences(reply) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn rules(reply: &SelectionReply) -> String {
    if reply.rules.is_empty() {
        return "all regions and MPI functions are recorded\n".to_owned();
    }
    let mut table = Table::new([("rule", Side::Left), ("decides", Side::Right)]);
    for (status, functions) in reply.rules.iter().zip(functions_by_rule(reply)) {
        let decides = match (status.regions, functions) {
            (regions, 0) => counted(regions, "region"),
            (0, functions) => counted(functions, "function"),
            (regions, functions) => format!(
                "{}, {}",
                counted(regions, "region"),
                counted(functions, "function")
            ),
        };
        table.row([rule(status), decides]);
    }
    let since = match reply.since_ns {
        0 => "the start of the job".to_owned(),
        ns => format!("{} after the start", duration(ns)),
    };
    format!("{}in force since {since}\n", table.text())
}

/// For how many functions of MPI each rule decides.
fn functions_by_rule(reply: &SelectionReply) -> Vec<u64> {
    let rules = reply.rules.iter().map(|status| {
        let rule = status.rule.as_ref();
        Some(Rule {
            include: rule?.include,
            fits: rule?.fits.parse().ok()?,
        })
    });
    let mut numbers = vec![0; reply.rules.len()];
    // Rules of a newer job, which this client cannot read, are not judged.
    let Some(rules) = rules.collect::<Option<Vec<Rule>>>() else {
        return numbers;
    };
    for function in FUNCTIONS.iter().filter(|function| function.recorded) {
        let known = Known {
            name: function.name,
            group: Some(function.group),
            ..Known::default()
        };
        if let (_, Some(by)) = judge(&rules, &known) {
            numbers[by] += 1;
        }
    }
    numbers
}

/// A rule as users write it.
fn rule(status: &SelectionRuleStatus) -> String {
    let none = SelectionRule::default();
    let rule = status.rule.as_ref().unwrap_or(&none);
    let word = if rule.include { "include" } else { "exclude" };
    format!("{word} {}", rule.fits)
}

/// What is recorded and what is not, a sentence each, without an end; nothing of what does not
/// apply.
pub fn sentences(reply: &SelectionReply) -> Vec<String> {
    let mut sentences = Vec::new();
    let regions = [
        (reply.regions_on, "recorded"),
        (reply.regions_off, "not recorded"),
        (reply.regions_undecided, "still looked up"),
    ];
    let regions = regions.into_iter().filter(|(regions, _)| *regions > 0);
    let regions: Vec<String> = regions
        .map(|(regions, state)| format!("{} {state}", count(regions)))
        .collect();
    if !regions.is_empty() {
        let regions = regions.join(", ");
        sentences.push(format!("regions, summed over the ranks: {regions}"));
    }
    if !reply.functions_off.is_empty() {
        let functions = functions(&reply.functions_off);
        sentences.push(format!("MPI functions not recorded: {functions}"));
    }
    if !reply.functions_kept.is_empty() {
        let kept = examples(&reply.functions_kept);
        sentences.push(format!(
            "recorded all the same, as messages could not be followed without them: {kept}"
        ));
    }
    if reply.calls_off > 0 {
        let calls = counted(reply.calls_off, "MPI call");
        sentences.push(format!("{calls} not recorded since the start of the job"));
    }
    if reply.ranks_differing > 0 {
        sentences.push(format!(
            "other rules are in force on {}; to have the same on all: invivo selection load FILE",
            counted(reply.ranks_differing.into(), "rank")
        ));
    }
    sentences
}

/// Some functions by their names, many by how many each group has.
fn functions(names: &[String]) -> String {
    if names.len() <= NAMED_MAX {
        return names.join(", ");
    }
    let group = |name: &str| {
        let function = FUNCTIONS.iter().find(|function| function.name == name);
        function.map_or(Group::Other, |function| function.group)
    };
    let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
    let parts = Group::ALL.into_iter().filter_map(|of| {
        let number = groups.iter().filter(|group| **group == of).count();
        (number > 0).then(|| format!("{number} of {}", of.name()))
    });
    let parts: Vec<String> = parts.collect();
    format!("{} ({})", names.len(), parts.join(", "))
}

/// The first of some names, and how many there are beside them.
fn examples(names: &[String]) -> String {
    match names.get(EXAMPLES..) {
        Some(rest) if rest.len() > 1 => {
            format!("{} and {} more", names[..EXAMPLES].join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(include: bool, fits: &str, regions: u64) -> SelectionRuleStatus {
        SelectionRuleStatus {
            rule: Some(SelectionRule {
                include,
                fits: fits.into(),
            }),
            regions,
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn rules_stand_with_what_they_decide() {
        let reply = SelectionReply {
            rules: vec![status(false, "tiny_*", 12), status(true, "tiny_solve", 1)],
            regions_on: 30,
            regions_off: 12,
            regions_undecided: 2,
            functions_off: names(&["MPI_Test", "MPI_Testall"]),
            functions_kept: names(&["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait"]),
            calls_off: 4_711,
            since_ns: 2_500_000_000,
            ranks_differing: 1,
            coverage: None,
        };
        assert_eq!(
            text(&reply),
            "rule                   decides\n\
             exclude tiny_*      12 regions\n\
             include tiny_solve    1 region\n\
             in force since 2.50 s after the start\n\
             regions, summed over the ranks: 30 recorded, 12 not recorded, 2 still looked up\n\
             MPI functions not recorded: MPI_Test, MPI_Testall\n\
             recorded all the same, as messages could not be followed without them: MPI_Send, \
             MPI_Recv, MPI_Isend and 2 more\n\
             4,711 MPI calls not recorded since the start of the job\n\
             other rules are in force on 1 rank; to have the same on all: invivo selection load \
             FILE\n"
        );
    }

    #[test]
    fn without_rules_all_is_recorded() {
        let reply = SelectionReply::default();
        assert_eq!(text(&reply), "all regions and MPI functions are recorded\n");
        let early = SelectionReply {
            rules: vec![status(false, "MPI_Test", 0), status(false, "MPI_T*", 1)],
            ..SelectionReply::default()
        };
        let lines = text(&early);
        // The last that fits decides.
        assert!(
            lines.contains("exclude MPI_Test               0 regions\n"),
            "{lines}"
        );
        assert!(lines.contains("exclude MPI_T*    1 region, "), "{lines}");
        assert!(text(&early).ends_with("in force since the start of the job\n"));
    }

    #[test]
    fn many_functions_are_counted_by_group() {
        let many = names(&[
            "MPI_Allreduce",
            "MPI_Bcast",
            "MPI_Reduce",
            "MPI_File_open",
            "MPI_Test",
            "MPI_Testall",
            "MPI_Barrier",
        ]);
        assert_eq!(functions(&many), "7 (2 of request, 4 of coll, 1 of io)");
        assert_eq!(
            examples(&many[..4]),
            "MPI_Allreduce, MPI_Bcast, MPI_Reduce, MPI_File_open"
        );
    }
}
