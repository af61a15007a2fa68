//! Who is waited for in a scan: each member needs something of those of lower rank alone.
//!
//! What that takes are the *steps*: the members that entered later than all of lower rank. The last
//! step up to a member is the one that it waited for. Steps of some members and those of others
//! make the steps of all, in any order where they are no more than [`STEPS_MAX`]. Of more it is
//! told that nobody waited longer than it did, and perhaps for another member.

use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::meetings::{STEPS_MAX, Step};

/// Adds the steps of other members. Beyond [`STEPS_MAX`] those are left out that rise least: who
/// waited for one of them counts as having waited for an earlier one.
pub fn merge(into: &mut Vec<Step>, from: &[Step]) {
    if from.is_empty() {
        return;
    }
    into.extend_from_slice(from);
    into.sort_unstable_by_key(|step| (step.member, Reverse(step.enter_ns), step.rank));
    let mut latest_ns = None;
    into.retain(|step| {
        let is_later = latest_ns < Some(step.enter_ns);
        if is_later {
            latest_ns = Some(step.enter_ns);
        }
        is_later
    });
    while into.len() > STEPS_MAX {
        let rises = into.windows(2).map(|two| two[1].enter_ns - two[0].enter_ns);
        let least = rises.enumerate().min_by_key(|(_, rise)| *rise);
        into.remove(least.map_or(0, |(before, _)| before + 1));
    }
    into.shrink_to(STEPS_MAX);
}

/// Whether they may be those of a scan: another process has told them.
pub fn are_sound(steps: &[Step], job_ranks: u32) -> bool {
    let rise = |two: &[Step]| two[0].member < two[1].member && two[0].enter_ns < two[1].enter_ns;
    let are_ranks = steps.iter().all(|step| step.rank.0 < job_ranks);
    steps.len() <= STEPS_MAX && are_ranks && steps.windows(2).all(rise)
}

/// The one that a member waited for.
pub fn last_before(steps: &[Step], member: u32) -> Option<&Step> {
    let behind = steps.partition_point(|step| step.member <= member);
    steps.get(behind.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::ids::Rank;
    use proptest::prelude::*;

    fn step(member: u32, enter_ns: u64) -> Step {
        Step {
            member,
            enter_ns,
            rank: Rank(1000 - member),
        }
    }

    proptest! {
        /// Joined in any order, each member's is the last one of all of lower rank.
        #[test]
        fn a_member_waits_for_the_last_of_lower_rank(
            enters in prop::collection::vec(0u64..50, 1..STEPS_MAX),
            shuffle in prop::collection::vec(0usize..1000, STEPS_MAX),
        ) {
            let mut parts: Vec<Vec<Step>> = Vec::new();
            for (member, enter_ns) in enters.iter().enumerate() {
                parts.push(Vec::from([step(member as u32, *enter_ns)]));
            }
            for pick in shuffle {
                if parts.len() > 1 {
                    let from = parts.swap_remove(pick % parts.len());
                    let into = pick / 7 % parts.len();
                    merge(&mut parts[into], &from);
                }
            }
            let mut all = Vec::new();
            parts.iter().for_each(|part| merge(&mut all, part));
            for member in 0..enters.len() {
                let latest = enters[..=member].iter().max().copied();
                let told = last_before(&all, member as u32);
                prop_assert_eq!(told.map(|step| step.enter_ns), latest);
                let first = enters.iter().position(|enter| Some(*enter) == latest);
                prop_assert_eq!(told.map(|step| step.member as usize), first);
            }
        }

        /// Those stay that others waited longest for.
        #[test]
        fn large_steps_stay_among_many_small_ones(
            large in prop::collection::btree_set(1u32..500, 1..STEPS_MAX - 1),
        ) {
            let (mut all, mut enter_ns) = (Vec::new(), 0);
            for member in 0..500 {
                enter_ns += if large.contains(&member) { 1_000_000 } else { 1 };
                merge(&mut all, &[step(member, enter_ns)]);
            }
            for member in large {
                let told = last_before(&all, member).map(|step| step.member);
                prop_assert_eq!(told, Some(member));
            }
        }

        /// Of many members nobody is told to have waited longer than it did.
        #[test]
        fn steps_are_bounded_and_claim_nothing(
            rises in prop::collection::vec(0u64..1000, 1..500),
            split in 0usize..500,
        ) {
            let mut enter_ns = 0;
            let members = rises.iter().enumerate().map(|(member, rise)| {
                enter_ns += rise;
                step(member as u32, enter_ns)
            });
            let members: Vec<Step> = members.collect();
            let (one, other) = members.split_at(split.min(members.len()));
            let mut all = Vec::new();
            for part in [other, one] {
                let mut steps = Vec::new();
                part.iter().for_each(|step| merge(&mut steps, &[*step]));
                merge(&mut all, &steps);
            }
            prop_assert!(are_sound(&all, 1001));
            prop_assert_eq!(all.len(), STEPS_MAX.min(rises.iter().filter(|of| **of > 0).count()
                + usize::from(rises[0] == 0)));
            prop_assert_eq!(all[0], members[0]);
            for member in &members {
                let told = last_before(&all, member.member);
                prop_assert!(told.is_none_or(|step| step.enter_ns <= member.enter_ns));
            }
        }
    }
}
