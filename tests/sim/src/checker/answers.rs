//! Checks that each question is answered once, in time, and rightly.

use super::Checker;
use crate::agenda::Time;
use crate::flat;
use crate::history::{Asked, Delivery, InHand};
use crate::simulation::TICK_NS_LATE_MAX;
use crate::truth::{Truth, What, truth};
use invivo_proto::control::results::{Coverage, Ledger, RankState};
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::coverage;
use invivo_tbon::limits::WAVE_NS_PER_LAYER;
use invivo_tbon::root::Ask;
use std::collections::BTreeSet;

impl Checker<'_> {
    /// Everything asked is answered once, in time, and rightly.
    pub(super) fn asks(&mut self) {
        let history = self.history;
        let root_died = history.died(self.layout.root());
        for (index, asked) in history.asks.iter().enumerate() {
            let bound = match &asked.what {
                Ask::Query(_) => asked.at + self.height() * WAVE_NS_PER_LAYER,
                Ask::Command { order, .. } => self.command_ends(asked.at, order),
            };
            let bound = bound + TICK_NS_LATE_MAX + self.slack_ns();
            let times = asked.delivered.len();
            // Nobody answers for a root that died before the answer was due.
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
                    ) => self.answer(index, asked, *at, *query, partial, coverage, missing),
                    (Ask::Command { id, order }, Delivery::Acks(acks)) => {
                        self.acks(index, asked, *at, *id, order, acks);
                    }
                    (Ask::Command { id, order }, Delivery::Refused(refusal)) => {
                        self.refused(index, asked, *id, order, refusal);
                    }
                    (_, other) => self
                        .found
                        .push(format!("ask {index} was answered by {other:?}")),
                }
            }
        }
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
        let history = self.history;
        let counted = self.counted(missing);
        let in_hand: Vec<(WorldRank, &InHand)> = counted
            .iter()
            .filter_map(|&place| Some((place, history.in_hand.get(&(asked.wave?, place))?)))
            .collect();
        // { || Whoever is not missing must have been asked: else its part was made up.
        self.require(in_hand.len() == counted.len(), || {
            format!(
                "ask {index}: {} places count and {} were asked",
                counted.len(),
                in_hand.len()
            )
        });
        for (place, hand) in &in_hand {
            self.truly_in_hand(index, *place, hand);
            self.windows_are_whole(index, *place, hand);
        }

        let in_hand: Vec<&InHand> = in_hand.into_iter().map(|(_, hand)| hand).collect();
        self.coverage(index, coverage, missing, &in_hand);

        let fed: Vec<_> = in_hand
            .iter()
            .flat_map(|hand| hand.fed.iter().copied())
            .collect();
        let ranks = self.case.ranks();
        let right = match (query, partial) {
            (Query::Functions { rank_rows_max, .. }, Partial::Functions(table)) => {
                flat::same(table, &flat::functions(&fed, rank_rows_max))
            }
            (Query::Matrix { side_max, .. }, Partial::Matrix(matrix)) => {
                *matrix == flat::matrix(&in_hand, ranks, side_max)
            }
            // Lists are cut to the worst ranks, so only the truth of each row is checked, not that
            // all are there.
            (Query::Status, Partial::Status(status)) => {
                let states: Vec<(Rank, RankState)> = in_hand
                    .iter()
                    .flat_map(|hand| hand.states.iter().copied())
                    .collect();
                let recorded: u32 = in_hand.iter().map(|hand| hand.recorded).sum();
                self.notes(index, asked.at, at, &status.notes, missing);
                status.states == flat::states(&states)
                    && (
                        status.recording.on,
                        status.recording.on + status.recording.off,
                    ) == (recorded, states.len() as u32)
                    && status
                        .named
                        .iter()
                        .all(|named| states.contains(&(named.rank, named.state)))
            }
            (Query::Analyses, Partial::Analyses(analyses)) => {
                **analyses == flat::analyses(&in_hand)
            }
            (Query::Messages { .. }, Partial::Messages(messages)) => {
                messages.sent.messages == fed.len() as u64
            }
            _ => false,
        };

        self.require(right, || {
            format!(
                "ask {index}: the answer to {query:?} is not the flat computation's: {partial:?}"
            )
        });
    }

    /// What a place had in hand is what its ranks really did, behind the cuts that it had made:
    /// each call once, and nothing that was to be forgotten.
    fn truly_in_hand(&mut self, index: usize, place: WorldRank, hand: &InHand) {
        let history = self.history;
        let cuts = history
            .cuts
            .get(&place)
            .map_or(&[][..], |cuts| &cuts[..hand.cuts]);
        let mut seen = BTreeSet::new();
        for fed in &hand.fed {
            let done = history
                .logs
                .get(&fed.rank)
                .and_then(|log| log.get(fed.call.ordinal as usize));
            let expected = done.map(|done| truth(done, cuts));
            // A call that ended at the very tick of a cut may be on either side of it.
            let right =
                matches!(expected, Some(Truth::Tie)) || expected == Some(Truth::Call(fed.seen()));
            // A record that is counted twice is as wrong as a lost one.
            let once = seen.insert((fed.rank, fed.call.ordinal));
            self.require(right && once, || {
                format!(
                    "ask {index}: place {place} has {:?} of rank {}, {expected:?} is true of \
                     {done:?} behind {cuts:?}",
                    fed.seen(),
                    fed.rank
                )
            });
        }
    }

    /// Once a place has acknowledged a window, every call that ended in it is there.
    fn windows_are_whole(&mut self, index: usize, place: WorldRank, hand: &InHand) {
        let history = self.history;
        let cuts = history
            .cuts
            .get(&place)
            .map_or(&[][..], |cuts| &cuts[..hand.cuts]);
        let mut closed = cuts.iter().filter(|cut| cut.what == What::Close);
        // Before this answer only: a later acknowledgement promises nothing for it.
        let acknowledged = history.obeyed.iter().filter(|((_, of), obeyed)| {
            *of == place && obeyed.to.is_some() && obeyed.complete_ns > 0 && obeyed.at < hand.at
        });
        // One that was ended before it was whole has no acknowledgement of this kind.
        let all_whole = closed.clone().count() == acknowledged.count();
        let Some(last) = closed.next_back().filter(|_| all_whole) else {
            return;
        };

        let fed: BTreeSet<(Rank, u64)> = hand
            .fed
            .iter()
            .map(|fed| (fed.rank, fed.call.ordinal))
            .collect();
        for rank in self.layout.ranks_of(place).map(Rank) {
            let log = history.logs.get(&rank).map_or(&[][..], Vec::as_slice);
            for (done, number) in log.iter().zip(0..).filter(|(done, _)| done.end < last.at) {
                // Dropped by the rank or refused by the place: both are counted as losses and may
                // be missing.
                let lost = done.dropped || history.refused.contains(&(rank, number));
                let due = matches!(truth(done, cuts), Truth::Call(_)) && !lost;
                self.require(!due || fed.contains(&(rank, number)), || {
                    format!(
                        "ask {index}: the window was acknowledged by {place}, and {done:?} of \
                        rank {rank} came later"
                    )
                });
            }
        }
    }

    /// The last answer, when all is drained, counts every call that the truth has: nothing was lost
    /// on the way but what the ledger counts as lost.
    pub(super) fn everything_is_there_at_the_end(&mut self) {
        let history = self.history;
        let last = history.asks.last().filter(|asked| {
            history
                .drained
                .first()
                .is_some_and(|&drained| drained <= asked.at && matches!(asked.what, Ask::Query(_)))
        });
        let Some(wave) = last.and_then(|asked| asked.wave) else {
            return;
        };

        for place in (0..self.layout.places()).map(|index| self.layout.place(index)) {
            let Some(hand) = history.in_hand.get(&(wave, place)) else {
                continue;
            };
            let cuts = history
                .cuts
                .get(&place)
                .map_or(&[][..], |cuts| &cuts[..hand.cuts]);
            let fed: BTreeSet<(Rank, u64)> = hand
                .fed
                .iter()
                .map(|fed| (fed.rank, fed.call.ordinal))
                .collect();
            for rank in self.layout.ranks_of(place).map(Rank) {
                let log = history.logs.get(&rank).map_or(&[][..], Vec::as_slice);
                for (done, number) in log.iter().zip(0..) {
                    let lost = done.dropped || history.refused.contains(&(rank, number));
                    let there = fed.contains(&(rank, number));
                    let missing = matches!(truth(done, cuts), Truth::Call(_)) && !lost && !there;
                    self.require(!missing, || {
                        format!("place {place} never had {done:?} of rank {rank} behind {cuts:?}")
                    });
                }
            }
            self.groups_are_known(place, hand);
        }
    }

    /// In a job in which nothing goes wrong, every place comes to know who its peers are.
    fn groups_are_known(&mut self, place: WorldRank, hand: &InHand) {
        // Up to the root and down again, with the delay of each link.
        let way =
            2 * (self.height() + 1) * (Time::from(self.case.delay_us) * 1000) + self.slack_ns();
        let (faultless, ranks) = (self.case.is_faultless(), self.case.ranks());
        for fed in hand
            .fed
            .iter()
            .filter(|fed| faultless && fed.at + way < hand.at)
        {
            let facts = &fed.call.facts;
            let Some(leader) = crate::groups::leader(fed.rank, facts.comm, ranks) else {
                continue;
            };
            let known = hand.groups.contains(&crate::groups::led_by(leader));
            // facts.peer < 0, || { || A call without a peer gives no reason to request the group.
            self.require(known || facts.peer < 0, || {
                format!(
                    "place {place} never heard who is in the communicator that rank {leader} leads"
                )
            });
        }
    }

    /// Who is noted as silent, lost or talking nonsense is at fault.
    fn notes(
        &mut self,
        index: usize,
        from: Time,
        to: Time,
        notes: &[String],
        missing: &[WorldRank],
    ) {
        let settle = self.settle_ns();
        let about = |note: &String| -> Option<WorldRank> {
            let rest = note.strip_prefix("tool process ")?;
            rest.split(' ').next()?.parse().ok().map(WorldRank)
        };

        for note in notes {
            // What was wrong once is told on: garbage for ever, silence until the process is heard.
            let troubled = about(note).is_some_and(|who| {
                let garbage = note.contains("garbage");
                self.history
                    .troubled(who, if garbage { 0 } else { from }, to, settle)
            });
            self.require(troubled, || {
                format!("ask {index}: the note {note:?} is not true")
            });
        }

        // Who came back meanwhile is missing in this answer and not silent any more.
        let away = |who: &&WorldRank| {
            self.history.died(**who).is_some() || self.history.stalled(**who, to, to)
        };

        for who in missing.iter().filter(away) {
            let told = notes.iter().any(|note| about(note) == Some(*who));
            self.require(told, || {
                format!("ask {index}: no note tells of {who}: {notes:?}")
            });
        }
    }

    /// The conservation law, and every number the sum over the places that count.
    fn coverage(
        &mut self,
        index: usize,
        merged: &Coverage,
        missing: &[WorldRank],
        in_hand: &[&InHand],
    ) {
        if let Err(imbalance) = coverage::balance(&merged.ledger) {
            self.found.push(format!("ask {index}: {imbalance}"));
        }

        let mut expected = flat::coverage(in_hand.iter().map(|hand| &hand.coverage));
        // Ranks below a missing member belong to the job all the same.
        expected.ranks = self.case.ranks();
        expected.members_missing = missing.len() as u32;
        // What a member that is gone held when it was last heard counts as dropped.
        let anyone_gone = missing.iter().any(|&who| self.history.was_gone(who));
        let lost = flat::difference(&merged.ledger, &expected.ledger);
        match lost {
            Some(lost) if anyone_gone => {
                let Ledger {
                    open,
                    in_flight,
                    kept,
                    ..
                } = lost;
                self.require(open + in_flight + kept == 0, || {
                    format!("ask {index}: those who are gone hold records: {lost:?}")
                });
            }
            _ => self.require(lost == Some(Ledger::default()), || {
                format!(
                    "ask {index}: ledger {:?} instead of {:?}",
                    merged.ledger, expected.ledger
                )
            }),
        }

        // Checked above; what follows compares the other fields.
        expected.ledger = merged.ledger;
        self.require(*merged == expected, || {
            format!("ask {index}: coverage {merged:?} instead of {expected:?}")
        });
    }
}
