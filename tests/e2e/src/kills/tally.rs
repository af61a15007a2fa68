//! How many cases of each kind became what: a table of the manual.

use super::case::{Case, Way};
use super::outcome::Outcome;
use super::victim::Victim;
use crate::family::Family;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Counts of cases.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<(Victim, Way, &'static str), BTreeMap<Outcome, u32>>,
}

/// The name of a kind's row.
pub fn row(victim: Victim, way: Way) -> String {
    format!("{}: {}", victim.title(), way.title())
}

impl Tally {
    /// Counts a case.
    pub fn count(&mut self, case: &Case, outcome: Outcome) {
        let kind = (case.victim, case.way, case.family.name());
        *self
            .counts
            .entry(kind)
            .or_default()
            .entry(outcome)
            .or_default() += 1;
    }

    /// Rows of the table with their cells of one MPI: what happened most comes first.
    pub fn column(&self, family: Family) -> Vec<(String, String)> {
        let of_family = self
            .counts
            .iter()
            .filter(|((_, _, name), _)| *name == family.name());
        let cell = |outcomes: &BTreeMap<Outcome, u32>| {
            let mut outcomes: Vec<_> = outcomes.iter().collect();
            outcomes.sort_by_key(|(_, cases)| Reverse(**cases));
            let texts: Vec<String> = outcomes
                .iter()
                .map(|(outcome, cases)| format!("{cases} x {outcome}"))
                .collect();
            texts.join("; ")
        };
        of_family
            .map(|((victim, way, _), outcomes)| (row(*victim, *way), cell(outcomes)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kills::outcome::Reported;

    #[test]
    fn a_cell_says_what_happened_how_often() {
        let case = Case::of(3, Family::Ompi);
        let outcome = |status| Outcome {
            output_is_right: status == 0,
            status,
            reported: Reported::All,
        };
        let mut tally = Tally::default();
        for status in [0, 9, 9] {
            tally.count(&case, outcome(status));
        }
        let cell = "2 x 9, all in the report; 1 x unharmed".to_owned();
        assert_eq!(
            tally.column(Family::Ompi),
            [(row(case.victim, case.way), cell)]
        );
        assert_eq!(tally.column(Family::Mpich), []);
    }
}
