//! How often each path was seen, in a bounded number of paths.
//!
//! Where there are too many, they are given away to be added up by name, which are fewer; where
//! nobody takes them, those that were seen least lose their inner steps.

use crate::sampling::path::Step;
use std::collections::HashMap;
use std::sync::Arc;

/// Paths that are kept apart: a program has some hundreds to thousands.
pub const PATHS_MAX: usize = 16_384;

/// How often a path was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Samples.
    pub samples: u64,
    /// Time that they stand for, in ns.
    pub ns: u64,
}

impl Seen {
    /// Adds others.
    pub fn add(&mut self, other: Seen) {
        self.samples = self.samples.saturating_add(other.samples);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// A path, outermost first, with how often it was seen.
pub type SeenPath = (Arc<[Step]>, Seen);

/// Paths with how often each was seen.
#[derive(Default)]
pub struct Paths(HashMap<Arc<[Step]>, Seen>);

impl Paths {
    /// Adds samples of a path; true where it is a new one.
    pub fn add(&mut self, path: &[Step], seen: Seen) -> bool {
        if let Some(known) = self.0.get_mut(path) {
            known.add(seen);
            return false;
        }
        self.0.insert(path.into(), seen);
        true
    }

    /// Whether there is no room for another one.
    pub fn is_full(&self) -> bool {
        self.0.len() >= PATHS_MAX
    }

    /// All of them.
    pub fn all(&self) -> Vec<SeenPath> {
        let all = self.0.iter();
        all.map(|(path, seen)| (path.clone(), *seen)).collect()
    }

    /// Gives them all away.
    pub fn take(&mut self) -> Vec<SeenPath> {
        self.0.drain().collect()
    }

    /// Makes room: half of the paths, with the fewest samples, lose inner steps until no more than
    /// `paths_max` are left.
    pub fn shorten(&mut self, paths_max: usize) {
        let mut all = self.take();
        all.sort_by(|(path, seen), (other_path, other)| {
            other.samples.cmp(&seen.samples).then(path.cmp(other_path))
        });
        let rare = all.split_off(all.len().min(paths_max / 2));
        let kept: HashMap<_, _> = all.into_iter().collect();
        let mut depth = rare.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
        loop {
            self.0.clone_from(&kept);
            for (path, seen) in &rare {
                match path.get(..depth) {
                    Some(outer) if path.len() > depth + 1 => {
                        self.add(&[outer, &[Step::LeftOut]].concat(), *seen);
                    }
                    _ => {
                        self.add(path, *seen);
                    }
                }
            }
            if self.0.len() <= paths_max || depth == 0 {
                return;
            }
            depth /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn step() -> impl Strategy<Value = Step> {
        let code = (0u32..2, 0u64..3).prop_map(|(module, offset)| Step::Code { module, offset });
        prop_oneof![code, Just(Step::Kernel), Just(Step::Lost)]
    }

    fn added(all: &[(Vec<Step>, u64)]) -> Paths {
        let mut paths = Paths::default();
        for (path, samples) in all {
            let ns = samples * 10;
            let samples = *samples;
            paths.add(path, Seen { samples, ns });
        }
        paths
    }

    proptest! {
        /// Against one that looks through a list.
        #[test]
        fn samples_of_a_path_add_up(
            all in prop::collection::vec((prop::collection::vec(step(), 0..4), 0u64..9), 0..60),
        ) {
            let mut naive: Vec<(Vec<Step>, u64)> = Vec::new();
            for (path, samples) in &all {
                match naive.iter_mut().find(|(known, _)| known == path) {
                    Some((_, sum)) => *sum += samples,
                    None => naive.push((path.clone(), *samples)),
                }
            }
            let mut found: Vec<(Vec<Step>, u64)> = added(&all)
                .all()
                .into_iter()
                .map(|(path, seen)| {
                    assert_eq!(seen.ns, seen.samples * 10);
                    (path.to_vec(), seen.samples)
                })
                .collect();
            naive.sort();
            found.sort();
            prop_assert_eq!(found, naive);
        }

        #[test]
        fn shortened_paths_keep_their_samples_and_their_outside(
            all in prop::collection::vec((prop::collection::vec(step(), 0..9), 1u64..9), 0..80),
            paths_max in 20usize..60,
        ) {
            let before = added(&all);
            let mut after = added(&all);
            after.shorten(paths_max);
            prop_assert!(after.0.len() <= paths_max, "{}", after.0.len());
            let sum = |paths: &Paths| paths.0.values().map(|seen| seen.samples).sum::<u64>();
            prop_assert_eq!(sum(&before), sum(&after));
            for (path, seen) in &after.0 {
                let outer = path.strip_suffix(&[Step::LeftOut]).unwrap_or(path);
                let below: u64 = before
                    .0
                    .iter()
                    .filter(|(whole, _)| whole.starts_with(outer))
                    .map(|(_, seen)| seen.samples)
                    .sum();
                prop_assert!(below >= seen.samples);
            }
            // The most frequent half is as it was.
            let mut often: Vec<u64> = before.0.values().map(|seen| seen.samples).collect();
            often.sort_unstable_by_key(|samples| std::cmp::Reverse(*samples));
            if let Some(least) = often.get(paths_max / 2) {
                for (path, seen) in before.0.iter().filter(|(_, seen)| seen.samples > *least) {
                    prop_assert!(after.0.get(path).is_some_and(|now| now.samples >= seen.samples));
                }
            }
        }
    }
}
