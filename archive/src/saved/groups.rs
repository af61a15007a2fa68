//! Members of communicators, found without writing the groups out.

use super::format::{CommId, Communicator, Run};

/// A group's runs by the rank in the communicator that each begins at.
#[derive(Clone, Debug, Default)]
pub struct Group(Vec<(u32, Run)>);

impl Group {
    /// Of what an observation says of a communicator.
    pub fn of(told: &Communicator) -> Group {
        let mut runs = Vec::new();
        for (start, piece) in &told.pieces {
            let mut start = Some(*start);
            for run in piece {
                // A group has at most 2^32 members: what lies beyond is nobody's rank.
                let Some(at) = start else { break };
                runs.push((at, *run));
                start = at.checked_add(run.2);
            }
        }
        runs.sort_unstable_by_key(|(start, _)| *start);
        Group(runs)
    }

    /// The ranks from 0 on, `count` of them.
    pub fn world(count: u32) -> Group {
        Group(vec![(0, (0, 1, count))])
    }

    /// The rank of the job that has this rank in the communicator.
    pub fn rank(&self, member: u32) -> Option<u32> {
        let behind = self.0.partition_point(|(start, _)| *start <= member);
        let (start, (first, stride, count)) = *self.0.get(behind.checked_sub(1)?)?;
        let step = member - start;
        let rank = i64::from(first) + i64::from(stride) * i64::from(step);
        (step < count).then_some(u32::try_from(rank).ok()?)
    }

    /// Members from rank 0 of the communicator on, up to the first that is not known, and to
    /// `most`.
    pub fn members(&self, most: u32) -> impl Iterator<Item = u32> + '_ {
        (0..most).map_while(|member| self.rank(member))
    }
}

/// The name of `MPI_COMM_WORLD`.
pub const WORLD: CommId = (0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_their_runs() {
        let told = Communicator {
            id: (3, 1),
            pieces: vec![(2, vec![(9, -3, 2)]), (0, vec![(4, 0, 1), (7, 1, 1)])],
        };
        let group = Group::of(&told);
        assert_eq!(group.members(10).collect::<Vec<_>>(), [4, 7, 9, 6]);
        assert_eq!(group.rank(4), None);
        assert_eq!(Group::world(3).members(9).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
