//! Converts the rules of the selection to their messages, and how they stand.

use crate::v1;
use invivo_proto::control::selection::{Rule, SelectionStatus, functions_kept, functions_off};
use invivo_proto::mpi::FUNCTIONS;

impl From<&Rule> for v1::SelectionRule {
    fn from(rule: &Rule) -> v1::SelectionRule {
        v1::SelectionRule {
            include: rule.include,
            fits: rule.fits.to_string(),
        }
    }
}

/// How the rules stand.
pub fn reply(status: &SelectionStatus, coverage: v1::Coverage) -> v1::SelectionReply {
    let rules: Vec<Rule> = status.rules.iter().map(|(rule, _)| rule.clone()).collect();
    let names = |numbers: Vec<usize>| {
        let named = numbers
            .into_iter()
            .filter_map(|number| FUNCTIONS.get(number));
        named.map(|function| function.name.to_owned()).collect()
    };
    v1::SelectionReply {
        rules: (status.rules.iter())
            .map(|(rule, regions)| v1::SelectionRuleStatus {
                rule: Some(rule.into()),
                regions: *regions,
            })
            .collect(),
        regions_on: status.regions_on,
        regions_off: status.regions_off,
        regions_undecided: status.undecided,
        functions_off: names(functions_off(&rules)),
        functions_kept: names(functions_kept(&rules)),
        calls_off: status.calls_off,
        since_ns: status.since_ns,
        ranks_differing: status.ranks.saturating_sub(status.same),
        coverage: Some(coverage),
    }
}
