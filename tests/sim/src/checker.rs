//! What must hold of a simulated job, whatever went wrong in it.

use crate::agenda::{SECOND, Time};
use crate::case::Case;
use crate::faults::Ailment;
use crate::flat;
use crate::history::{Asked, Delivery, History, InHand, OnRank};
use crate::simulation::TICK_NS_LATE_MAX;
use invivo_proto::control::results::{Coverage, Ledger, RankState};
use invivo_proto::control::tree::{Acks, MISSING_MAX, Partial, Query};
use invivo_proto::ids::{CommandId, Rank, WorldRank};
use invivo_tbon::coverage;
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::{COMMAND_NS_PER_LAYER, SILENCE_NS_MAX, WAVE_NS_PER_LAYER};
use invivo_tbon::node::Ignored;
use invivo_tbon::root::Ask;
use std::collections::BTreeSet;

/// Everything that does not hold, a sentence each.
pub fn violations(case: &Case, layout: &Layout, history: &History) -> Vec<String> {
    let mut checker = Checker {
        case,
        layout,
        history,
        found: Vec::new(),
    };
    checker.asks();
    checker.commands_done_once();
    checker.root_lost();
    checker.end();
    checker.found
}

struct Checker<'a> {
    case: &'a Case,
    layout: &'a Layout,
    history: &'a History,
    found: Vec<String>,
}

impl Checker<'_> {
    fn require(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found.push(otherwise());
        }
    }

    /// Everything asked is answered once, in time, and rightly.
    fn asks(&mut self) {
        let history = self.history;
        let root_died = history.died(self.layout.root());
        let height = u64::from(self.layout.height(self.layout.root()).unwrap_or(0));
        for (index, asked) in history.asks.iter().enumerate() {
            let per_layer = match asked.what {
                Ask::Query(_) => WAVE_NS_PER_LAYER,
                Ask::Command(_) => COMMAND_NS_PER_LAYER,
            };
            let bound = asked.at + height * per_layer + TICK_NS_LATE_MAX;
            let times = asked.delivered.len();
            let silenced = root_died.is_some_and(|died| died <= bound);
            self.require(times == 1 || times == 0 && silenced, || {
                format!("ask {index} was answered {times} times")
            });
            for (at, delivery) in &asked.delivered {
                self.require(*at <= bound, || {
                    format!("ask {index} was answered {} ns too late", at - bound)
                });
                match (&asked.what, delivery) {
                    (
                        Ask::Query(query),
                        Delivery::Answer {
                            partial,
                            coverage,
                            missing,
                        },
                    ) => {
                        self.answer(index, asked, *at, *query, partial, coverage, missing);
                    }
                    (Ask::Command(command), Delivery::Acks(acks)) => {
                        self.acks(index, asked, *at, command.id, acks)
                    }
                    (_, other) => self.found.push(format!("ask {index} was answered by {other:?}")),
                }
            }
        }
    }

    /// Who is named as missing is at fault, and nobody is held back with whom nothing was wrong.
    fn missing(&mut self, index: usize, from: Time, to: Time, missing: &[WorldRank]) {
        let sorted = missing.is_sorted_by(|a, b| a < b);
        self.require(sorted && missing.len() < MISSING_MAX, || {
            format!("ask {index}: missing {missing:?}")
        });
        for &who in missing {
            let troubled = self.history.troubled(who, from, to);
            self.require(troubled, || {
                format!("ask {index}: {who} is named as missing and nothing was wrong with it")
            });
        }
    }

    /// The places whose answers count: none of the processes between them and the root is missing.
    fn counted(&self, missing: &[WorldRank]) -> Vec<WorldRank> {
        let places = (0..self.layout.places()).map(|index| self.layout.place(index));
        let up = |place| std::iter::successors(Some(place), |&world| self.layout.parent(world));
        places
            .filter(|&place| !up(place).any(|world| missing.contains(&world)))
            .collect()
    }

    #[expect(clippy::too_many_arguments, reason = "an answer has as many sides")]
    fn answer(
        &mut self,
        index: usize,
        asked: &Asked,
        at: Time,
        query: Query,
        partial: &Partial,
        coverage: &Coverage,
        missing: &[WorldRank],
    ) {
        self.missing(index, asked.at, at, missing);
        let counted = self.counted(missing);
        let in_hand: Vec<&InHand> = counted
            .iter()
            .filter_map(|&place| self.history.in_hand.get(&(asked.wave?, place)))
            .collect();
        self.require(in_hand.len() == counted.len(), || {
            format!(
                "ask {index}: {} places count and {} were asked",
                counted.len(),
                in_hand.len()
            )
        });
        self.coverage(index, coverage, missing, &in_hand);

        let calls: Vec<_> = in_hand
            .iter()
            .flat_map(|hand| hand.calls.iter().copied())
            .collect();
        let right = match (query, partial) {
            (Query::Functions { per_rank }, Partial::Functions(table)) => {
                flat::same(table, &flat::functions(&calls, per_rank))
            }
            (Query::Matrix, Partial::Matrix(matrix)) => *matrix == flat::matrix(&calls),
            (Query::Status, Partial::Status(status)) => {
                let states: Vec<(Rank, RankState)> = in_hand
                    .iter()
                    .flat_map(|hand| hand.states.iter().copied())
                    .collect();
                status.states == flat::states(&states)
                    && status
                        .named
                        .iter()
                        .all(|named| states.contains(&(named.rank, named.state)))
            }
            _ => false,
        };
        self.require(right, || {
            format!("ask {index}: the answer to {query:?} is not the flat computation's: {partial:?}")
        });
    }

    /// The conservation law, and every number the sum over the places that count.
    fn coverage(&mut self, index: usize, merged: &Coverage, missing: &[WorldRank], in_hand: &[&InHand]) {
        if let Err(imbalance) = coverage::balance(&merged.ledger) {
            self.found.push(format!("ask {index}: {imbalance}"));
        }
        let mut expected = flat::coverage(in_hand.iter().map(|hand| &hand.coverage));
        expected.ranks = self.case.ranks;
        expected.members_missing = missing.len() as u32;
        // What a dead member held when it was last heard counts as dropped.
        let anyone_died = missing.iter().any(|&who| self.history.died(who).is_some());
        let lost = flat::difference(&merged.ledger, &expected.ledger);
        match lost {
            Some(lost) if anyone_died => {
                let Ledger {
                    open,
                    in_flight,
                    kept,
                    ..
                } = lost;
                self.require(open + in_flight + kept == 0, || {
                    format!("ask {index}: the dead hold records: {lost:?}")
                });
            }
            _ => self.require(lost == Some(Ledger::default()), || {
                format!(
                    "ask {index}: books {:?} instead of {:?}",
                    merged.ledger, expected.ledger
                )
            }),
        }
        expected.ledger = merged.ledger;
        self.require(*merged == expected, || {
            format!("ask {index}: coverage {merged:?} instead of {expected:?}")
        });
    }

    fn acks(&mut self, index: usize, asked: &Asked, at: Time, command: CommandId, acks: &Acks) {
        // A repeated command is answered from memory: what counts is when it was first given.
        let same = |other: &&Asked| matches!(&other.what, Ask::Command(given) if given.id == command);
        let first = self
            .history
            .asks
            .iter()
            .filter(same)
            .map(|other| other.at)
            .min()
            .unwrap_or(asked.at);
        self.missing(index, first, at, &acks.missing);
        let counted = self.counted(&acks.missing);
        let outcomes: Vec<OnRank> = counted
            .iter()
            .filter_map(|&place| self.history.outcomes.get(&(command, place)))
            .flatten()
            .copied()
            .collect();
        let below: usize = counted
            .iter()
            .map(|&place| self.layout.ranks_of(place).len())
            .sum();
        let expected = flat::acks(&outcomes, self.case.ranks - below as u32, &acks.missing);
        self.require(*acks == expected, || {
            format!("ask {index}: {acks:?} instead of {expected:?}")
        });
    }

    /// No rank does a command twice, and all in the order in which they were given.
    fn commands_done_once(&mut self) {
        for (rank, done) in &self.history.done {
            let mut given = self.history.command_order.iter();
            let in_order = done.iter().all(|command| given.any(|next| next == command));
            self.require(in_order, || {
                format!(
                    "rank {rank} did {done:?}, given were {:?}",
                    self.history.command_order
                )
            });
        }
    }

    /// Whoever is cut off from the root says so, once, and nobody else does.
    fn root_lost(&mut self) {
        let history = self.history;
        for world in (self.layout.app()..self.layout.total() - 1).map(WorldRank) {
            let said = history.root_lost.get(&world).map_or(&[][..], Vec::as_slice);
            let above: Vec<WorldRank> =
                std::iter::successors(self.layout.parent(world), |&above| self.layout.parent(above))
                    .collect();
            let stalls = |who| {
                history
                    .faults
                    .iter()
                    .any(|f| f.who == who && matches!(f.what, Ailment::Stall { .. }))
            };
            let cut_off = above.iter().filter_map(|&above| history.died(above)).min();
            let steady = !above.iter().any(|&above| stalls(above)) && !stalls(world);
            match cut_off {
                None => self.require(said.is_empty() || !steady, || {
                    format!("{world} lost a root that was there, at {said:?}")
                }),
                Some(at) if steady && history.died(world).is_none() && !history.left.contains_key(&world) => {
                    let in_time = said.iter().all(|&said| said <= at + SILENCE_NS_MAX + SECOND);
                    self.require(said.len() == 1 && in_time, || {
                        format!("{world} lost the root at {said:?}, not {at}")
                    });
                }
                Some(_) => {}
            }
        }
    }

    /// The job comes to its end, and everybody whom the root can reach leaves.
    fn end(&mut self) {
        let history = self.history;
        self.require(!history.endless, || "the job does not end".into());
        if self.case.is_faultless() {
            let set = |ranks: &[Rank]| ranks.iter().copied().collect::<BTreeSet<Rank>>();
            let (ended, heard) = (&history.ended, &history.ended_at_root);
            self.require(ended.len() == heard.len() && set(ended) == set(heard), || {
                format!("ranks {ended:?} ended and the root heard of {heard:?}")
            });
            let mut groups = history.groups_at_root.clone();
            groups.sort_unstable();
            self.require(groups == history.groups, || {
                format!("the root heard of the groups {groups:?}")
            });
            let attentive = history
                .ignored
                .values()
                .all(|ignored| *ignored == Ignored::default());
            self.require(attentive, || {
                format!("messages were ignored: {:?}", history.ignored)
            });
        }
        if history.died(self.layout.root()).is_some() {
            return;
        }
        self.require(history.present == [self.case.ranks], || {
            format!("present: {:?}", history.present)
        });
        self.require(history.drained.len() == 1, || {
            format!("drained at {:?}", history.drained)
        });
        for world in (self.layout.app()..self.layout.total()).map(WorldRank) {
            let mut path = std::iter::successors(Some(world), |&above| self.layout.parent(above));
            let alive = path.all(|who| history.died(who).is_none());
            self.require(!alive || history.left.contains_key(&world), || {
                format!("{world} was never told to leave")
            });
        }
    }
}
