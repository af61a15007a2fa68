//! Judges many quantities at once. Of twenty that are looked at one differs by chance where one in
//! twenty is taken for a difference: so the limit is for all of them together (Holm 1979: the
//! smallest probability times the number of quantities, the next times one less, and so on).

use super::changes::{CHANCE_MAX, Change, Verdict};
use super::quantities::{Direction, Kind};
use super::rank_sums::{RUNS_MAX, chance, least_chance};

/// Judges all of them, and returns how many runs of each side it takes to tell a difference from
/// chance. Where there are fewer, the threshold alone decides.
pub fn judge(changes: &mut [Change], (base, new): (usize, usize), threshold: f64) -> usize {
    let mut judged: Vec<usize> = (0..changes.len())
        .filter(|&at| !changes[at].quantity.small)
        .collect();
    // Call sites are many and small, and what a rank waits for moves from one to the next: the
    // threshold alone decides nothing, and of so few runs the first of them alone are judged.
    let are_sites = (changes.first()).is_some_and(|of| of.quantity.kind() == Kind::CallSite);
    if are_sites {
        judged.truncate((CHANCE_MAX / least_chance(base, new)) as usize);
    }
    let needed = (1..=RUNS_MAX)
        .find(|&runs| least_chance(runs, runs) * judged.len() as f64 <= CHANCE_MAX)
        .unwrap_or(RUNS_MAX);
    let enough = least_chance(base, new) * judged.len() as f64 <= CHANCE_MAX;
    if enough {
        by_holm(changes, judged.clone());
    }
    for at in judged {
        let one = &mut changes[at];
        let is_by_chance = enough && one.p.is_none_or(|p| p > CHANCE_MAX);
        if !is_by_chance {
            one.verdict = by_threshold(one, threshold);
        }
    }
    match are_sites {
        true => 1,
        false => needed,
    }
}

/// From how many runs of each side on one quantity can be told from chance.
pub fn runs_for_one() -> usize {
    let enough = |&runs: &usize| least_chance(runs, runs) <= CHANCE_MAX;
    (1..=RUNS_MAX).find(enough).unwrap_or(RUNS_MAX)
}

fn by_holm(changes: &mut [Change], judged: Vec<usize>) {
    let mut chances: Vec<(f64, usize)> = judged
        .into_iter()
        .map(|at| (chance(&changes[at].base, &changes[at].new), at))
        .collect();
    chances.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let all = chances.len();
    let mut least = 0.0_f64;
    for (before, (chance, at)) in chances.into_iter().enumerate() {
        // A larger one is never adjusted to less than a smaller one.
        least = least.max(chance * (all - before) as f64).min(1.0);
        changes[at].p = Some(least);
    }
}

fn by_threshold(one: &Change, threshold: f64) -> Verdict {
    // From nothing to something is more than any threshold.
    let change = one.change.unwrap_or(match one.new_median > 0.0 {
        true => f64::INFINITY,
        false => 0.0,
    });
    let is_more = match change.abs() > threshold {
        true => change > 0.0,
        false => return Verdict::Same,
    };
    if one.quantity.kind() == Kind::CallSite {
        // It is not there on one side: another place or name, of which the function tells more. And
        // where calls have changed places, one takes the time of the other.
        let is_on_both = one.base_median > 0.0 && one.new_median > 0.0;
        let more = one.new_median - one.base_median;
        let of_all = one.with_namesakes.unwrap_or(0.0);
        if !is_on_both || of_all / more < 0.5 {
            return Verdict::Other;
        }
    }
    match (one.quantity.better, is_more) {
        (Direction::Neither, _) => Verdict::Other,
        (Direction::Less, true) | (Direction::More, false) => Verdict::Worse,
        (Direction::Less, false) | (Direction::More, true) => Verdict::Better,
    }
}
