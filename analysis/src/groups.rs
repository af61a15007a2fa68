//! Keeps the members of communicators as run-length coded groups, joined as their pieces arrive.
//!
//! The rank of the application that a rank *in a communicator* is, is found without writing the
//! group out.
//!
//! A group is reported only by the communicator's rank 0, in pieces that each begin at a stated
//! communicator rank. Pieces may come more than once and in any order.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use invivo_proto::control::results::Group;
use invivo_proto::definition::{Definition, DefinitionError, Run};
use invivo_proto::ids::{CommId, Rank};

/// Groups by communicator.
pub type Groups = BTreeMap<CommId, Group>;

/// Takes over the definition of a group; other definitions are ignored.
///
/// # Errors
/// When its runs are malformed; then nothing is taken over.
pub fn learn(groups: &mut Groups, definition: &Definition<'_>) -> Result<(), DefinitionError> {
    if let Definition::Group { id, start, runs } = definition {
        let runs = runs.iter().collect::<Result<Vec<Run>, _>>()?;
        let piece = Group {
            pieces: [(*start, runs)].into(),
        };
        groups.entry(*id).or_default().merge(&piece);
    }
    Ok(())
}

/// Runs that a group is told in: what it takes in memory.
pub fn runs(of: &Group) -> usize {
    of.pieces.values().map(Vec::len).sum()
}

/// An index of a group: its runs by the communicator rank that each begins at.
#[derive(Clone, Debug, Default)]
pub struct Members(Vec<(u32, Run)>);

impl Members {
    /// Of a group; takes memory for its runs, not for its members.
    pub fn of(group: &Group) -> Self {
        let mut starts = Vec::new();
        for (&piece, runs) in &group.pieces {
            let mut start = Some(piece);
            for run in runs {
                // A group has at most 2^32 members: what lies beyond is nobody's rank.
                let Some(at) = start else { break };
                starts.push((at, *run));
                start = at.checked_add(run.count);
            }
        }
        starts.sort_by_key(|&(start, _)| start);
        Members(starts)
    }

    /// The rank of the application that has this rank in the communicator; `None` where no piece
    /// has it.
    pub fn rank(&self, in_communicator: u32) -> Option<Rank> {
        let behind = self
            .0
            .partition_point(|&(start, _)| start <= in_communicator);
        let &(start, run) = self.0.get(behind.checked_sub(1)?)?;
        let step = in_communicator - start;
        if step >= run.count {
            return None;
        }
        let rank = i64::from(run.first.0) + i64::from(run.stride) * i64::from(step);
        u32::try_from(rank).ok().map(Rank)
    }

    /// How many members are known from communicator rank 0 on, up to the first gap.
    pub fn reach(&self) -> u64 {
        let mut reach = 0;
        for &(start, run) in &self.0 {
            if u64::from(start) > reach {
                break;
            }
            reach = reach.max(u64::from(start) + u64::from(run.count));
        }
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::definition::Runs;
    use proptest::prelude::*;

    fn run() -> impl Strategy<Value = Run> {
        (0u32..1000, -3i32..40, 1u32..30).prop_map(|(first, stride, count)| Run {
            first: Rank(first + 90),
            stride,
            count,
        })
    }

    fn expand(runs: &[Run]) -> Vec<Rank> {
        let of = |run: &Run| {
            let run = *run;
            (0..run.count).map(move |n| {
                Rank((i64::from(run.first.0) + i64::from(run.stride) * i64::from(n)) as u32)
            })
        };
        runs.iter().flat_map(of).collect()
    }

    /// The runs cut into pieces, as definitions that travel through the ring.
    fn pieces(runs: &[Run], cuts: &[usize]) -> Vec<(u32, Vec<Run>)> {
        let mut pieces = Vec::new();
        let (mut rest, mut start) = (runs, 0);
        for cut in cuts {
            let (piece, behind) = rest.split_at((*cut).min(rest.len()));
            pieces.push((start, piece.to_vec()));
            start += piece.iter().map(|run| run.count).sum::<u32>();
            rest = behind;
        }
        pieces.push((start, rest.to_vec()));
        pieces.retain(|(_, runs)| !runs.is_empty());
        pieces
    }

    proptest! {
        #[test]
        fn members_are_found_as_in_the_written_out_group(
            runs in prop::collection::vec(run(), 0..12),
            cuts in prop::collection::vec(0usize..4, 0..4),
            swap: bool,
        ) {
            let id = CommId { leader: Rank(3), counter: 5 };
            let mut told = pieces(&runs, &cuts);
            // Any order, and some of it twice.
            told.extend_from_within(..told.len() / 2);
            if swap {
                told.reverse();
            }

            let mut groups = Groups::new();
            for (start, runs) in told {
                let mut bytes = [0u8; 512];
                let mut at = 0;
                for run in &runs {
                    Runs::encode(*run, &mut bytes, &mut at).expect("room");
                }
                let definition = Definition::Group { id, start, runs: Runs(&bytes[..at]) };
                learn(&mut groups, &definition).expect("well-formed");
            }

            let members = groups.get(&id).map(Members::of).unwrap_or_default();
            let written_out = expand(&runs);
            for rank in 0..written_out.len() as u32 + 40 {
                prop_assert_eq!(members.rank(rank), written_out.get(rank as usize).copied());
            }

            prop_assert_eq!(members.rank(u32::MAX), None);
            prop_assert_eq!(members.reach(), written_out.len() as u64);
        }

        #[test]
        fn pieces_join_in_any_order(
            starts in prop::collection::vec((0u32..4, prop::collection::vec(run(), 0..3)), 0..9),
            cut in 0usize..9,
            rotate in 0usize..9,
        ) {
            let gather = |told: &[(u32, Vec<Run>)]| {
                let mut group = Group::default();
                for (start, runs) in told {
                    group.merge(&Group { pieces: [(*start, runs.clone())].into() });
                }
                group
            };

            let flat = gather(&starts);
            let mut turned = starts.clone();
            turned.rotate_left(rotate % starts.len().max(1));
            let (a, b) = turned.split_at(cut.min(turned.len()));
            let mut left = gather(a);
            left.merge(&gather(b));
            prop_assert_eq!(&left, &flat);
        }
    }

    #[test]
    fn a_gap_is_nobody() {
        let run = |first, count| Run {
            first: Rank(first),
            stride: 1,
            count,
        };
        let group = Group {
            pieces: [(0, [run(10, 2)].to_vec()), (4, [run(20, 1)].to_vec())].into(),
        };
        let members = Members::of(&group);
        let found: Vec<_> = (0..6).map(|rank| members.rank(rank).map(|r| r.0)).collect();
        assert_eq!(found, [Some(10), Some(11), None, None, Some(20), None]);
        assert_eq!(members.reach(), 2);
    }

    #[test]
    fn malformed_runs_leave_nothing_behind() {
        let mut groups = Groups::new();
        let definition = Definition::Group {
            id: CommId::WORLD,
            start: 0,
            runs: Runs(&[1, 2, 0]),
        };
        assert!(learn(&mut groups, &definition).is_err());
        assert!(groups.is_empty());
    }
}
