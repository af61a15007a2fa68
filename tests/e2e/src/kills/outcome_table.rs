//! Counts the outcomes of a campaign by target and fault, as a table of the manual.

use super::case::{Case, Fault};
use super::outcome::Outcome;
use super::target::Target;
use crate::mpi::Family;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Counts of outcomes.
#[derive(Clone, Debug, Default)]
pub struct OutcomeTable {
    counts: BTreeMap<(Target, Fault, &'static str), BTreeMap<Outcome, u32>>,
}

/// The name of a row: target and fault.
pub fn row(target: Target, fault: Fault) -> String {
    format!("{}: {}", target.title(), fault.title())
}

impl OutcomeTable {
    pub fn count(&mut self, case: &Case, outcome: Outcome) {
        let row = (case.target, case.fault, case.family.name());
        *self
            .counts
            .entry(row)
            .or_default()
            .entry(outcome)
            .or_default() += 1;
    }

    /// The names of the rows with their cells of one MPI; the most frequent outcome comes first.
    pub fn column(&self, family: Family) -> Vec<(String, String)> {
        let of_family = self
            .counts
            .iter()
            .filter(|((_, _, name), _)| *name == family.name());

        let cell = |outcomes: &BTreeMap<Outcome, u32>| {
            let mut outcomes: Vec<_> = outcomes.iter().collect();
            // A stable sort: outcomes of the same number keep their order, so that the table does
            // not change by itself.
            outcomes.sort_by_key(|(_, cases)| Reverse(**cases));
            let texts: Vec<String> = outcomes
                .iter()
                .map(|(outcome, cases)| format!("{cases} x {outcome}"))
                .collect();
            texts.join("; ")
        };

        of_family
            .map(|((target, fault, _), outcomes)| (row(*target, *fault), cell(outcomes)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kills::outcome::Reported;

    #[test]
    fn a_cell_has_outcomes_with_their_numbers() {
        let case = Case::of(3, Family::Ompi);
        let outcome = |status| Outcome {
            output_is_right: status == 0,
            status,
            reported: Reported::All,
        };
        let mut table = OutcomeTable::default();
        for status in [0, 9, 9] {
            table.count(&case, outcome(status));
        }
        let cell = "2 x 9, all in the report; 1 x unharmed".to_owned();
        assert_eq!(
            table.column(Family::Ompi),
            [(row(case.target, case.fault), cell)]
        );
        assert_eq!(table.column(Family::Mpich), []);
    }
}
