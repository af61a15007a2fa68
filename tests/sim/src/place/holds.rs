//! Ranks that are held right behind their `MPI_Init`.

use super::SimPlace;
use super::steering::{Hold, Moment, Reply};
use crate::agenda::Time;
use crate::history::{Obeyed, Outcome};
use crate::rank::{Phase, SimRank};
use invivo_proto::ids::CommandId;

impl SimPlace {
    pub(super) fn hold(&mut self, now: Moment, id: CommandId, lease_ns: u64) -> Vec<Reply> {
        let starting: Vec<usize> = (0..self.ranks.len())
            .filter(|&index| self.ranks[index].phase == Phase::Starting)
            .collect();
        if !starting.is_empty() {
            self.close(starting.iter().copied(), now.local, lease_ns);
        }

        let past = |(index, rank): (usize, &SimRank)| {
            let why = Outcome::Failed("past MPI_Init; use pause".to_owned());
            (!starting.contains(&index)).then_some((rank.rank, why, 0))
        };

        let ranks = self.ranks.iter().enumerate().filter_map(past).collect();
        self.steering.holds.push(Hold {
            command: id,
            arrived: now.time,
            awaited: starting,
            obeyed: Obeyed {
                ranks,
                ..Obeyed::default()
            },
        });
        self.held(now.time)
    }

    /// The acknowledgements of holds whose ranks all stand by now, or have ended.
    pub fn held(&mut self, now: Time) -> Vec<Reply> {
        for hold in &mut self.steering.holds {
            let stands = |index: &usize| self.ranks[*index].phase != Phase::Starting;
            let (standing, awaited) = hold
                .awaited
                .iter()
                .partition::<Vec<usize>, _>(|index| stands(index));
            let stood = standing
                .into_iter()
                .map(|index| (self.ranks[index].rank, Outcome::Done, now - hold.arrived));
            hold.obeyed.ranks.extend(stood);
            hold.awaited = awaited;
        }

        let done: Vec<Hold> = self
            .steering
            .holds
            .extract_if(.., |hold| hold.awaited.is_empty())
            .collect();
        done.into_iter()
            .map(|hold| self.reply(hold.command, hold.obeyed, 0))
            .collect()
    }

    /// The gates are open: who has not come to them will not stand.
    pub fn holds_released(&mut self, now: Time) -> Vec<Reply> {
        for hold in &mut self.steering.holds {
            for index in hold.awaited.drain(..) {
                let why = Outcome::Failed("resumed before it stood".to_owned());
                hold.obeyed.ranks.push((self.ranks[index].rank, why, 0));
            }
        }
        self.held(now)
    }
}
