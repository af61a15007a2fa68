//! Checks gates, the loss of the root, and the end of the job.

use super::Checker;
use crate::agenda::{SECOND, Time};
use crate::faults::Ailment;
use crate::place::GATE_NS;
use crate::simulation::HELD_LEASE_NS;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::limits::SILENCE_NS_MAX;
use invivo_tbon::node::Ignored;
use std::collections::BTreeSet;

impl Checker<'_> {
    /// No rank stands longer than the lease of a pause or hold, nor longer than a moment when
    /// nobody is there any more who could let it go.
    pub(super) fn gates(&mut self) {
        let history = self.history;
        for &(rank, from, until) in &history.stood {
            let place = self.layout.place_of(rank);
            let leases = history.leases.get(&place).map_or(&[][..], Vec::as_slice);
            let ends = leases
                .iter()
                .filter(|(begin, _)| *begin <= until)
                .map(|(_, end)| *end);
            let at_start = if self.case.held {
                // The supervisor's gate is closed before the place takes it over with the lease.
                HELD_LEASE_NS + 2 * GATE_NS
            } else {
                0
            };
            let by_lease = ends.chain([at_start]).max().unwrap_or(0);
            self.require(until <= by_lease + self.slack_ns(), || {
                format!(
                    "rank {rank} stood from {from} to {until}, its last lease ended at {by_lease}"
                )
            });
            // Its place, or whoever is between that and the root.
            let alone = [history.died(place), self.cut_off(place)]
                .into_iter()
                .flatten()
                .min();
            if let Some(alone) = alone {
                // Silence must be noticed, and what was granted last runs out.
                let free = alone.max(from) + SILENCE_NS_MAX.max(GATE_NS) + GATE_NS + SECOND;
                self.require(until <= free, || {
                    format!(
                        "rank {rank} stood from {from} to {until}, with nobody above since {alone}"
                    )
                });
            }
        }
    }

    /// Whoever is cut off from the root says so, once, and nobody else does.
    pub(super) fn root_lost(&mut self) {
        let history = self.history;
        // Before the root's first word silence means nothing yet.
        let heard = (self.height() + 1) * Time::from(self.case.delay_us) * 1000 + self.slack_ns();
        let stalls = |who: WorldRank| {
            history
                .faults
                .iter()
                .any(|f| f.who == who && matches!(f.what, Ailment::Stall { .. }))
        };

        for &world in history
            .ignored
            .keys()
            .filter(|&&world| world != self.layout.root())
        {
            let said = history.root_lost.get(&world).map_or(&[][..], Vec::as_slice);
            let steady = !self.up_from(world).any(stalls);
            match self.cut_off(world) {
                None => self.require(said.is_empty() || !steady, || {
                    format!("{world} lost a root that was there, at {said:?}")
                }),
                Some(at)
                    if steady
                        && at > heard
                        && history.died(world).is_none()
                        && !history.left.contains_key(&world) =>
                {
                    let in_time = said
                        .iter()
                        .all(|&said| said <= at + SILENCE_NS_MAX + SECOND);
                    self.require(said.len() == 1 && in_time, || {
                        format!("{world} lost the root at {said:?}, not {at}")
                    });
                }
                Some(_) => {}
            }
        }
    }

    /// The job comes to its end, and everybody whom the root can reach leaves.
    pub(super) fn end(&mut self) {
        let history = self.history;
        self.require(!history.endless, || "the job does not end".into());
        if self.case.is_faultless() {
            let set = |ranks: &[Rank]| ranks.iter().copied().collect::<BTreeSet<Rank>>();
            let (ended, heard) = (&history.ended, &history.ended_at_root);
            self.require(
                ended.len() == heard.len() && set(ended) == set(heard),
                || format!("ranks {ended:?} ended and the root heard of {heard:?}"),
            );
            self.nothing_was_ignored();
        }

        if history.died(self.layout.root()).is_some() {
            return;
        }
        // Whoever died may not have said so before.
        let least = usize::from(
            history
                .faults
                .iter()
                .all(|fault| fault.what != Ailment::Death),
        );
        let all_here = history
            .present
            .iter()
            .all(|&ranks| ranks == self.case.ranks());
        self.require(
            all_here && (least..=1).contains(&history.present.len()),
            || format!("present: {:?}", history.present),
        );
        self.require((least..=1).contains(&history.drained.len()), || {
            format!("drained at {:?}", history.drained)
        });
        for &world in history.ignored.keys() {
            let alive = self.up_from(world).all(|who| history.died(who).is_none());
            self.require(!alive || history.left.contains_key(&world), || {
                format!("{world} was never told to leave")
            });
        }
    }

    /// Clocks ask on until the last moment, and a place may learn a group when it is told to leave:
    /// what comes then is for nobody.
    fn nothing_was_ignored(&mut self) {
        let attentive = |(_, ignored): &(&WorldRank, &Ignored)| {
            Ignored {
                after_shutdown: 0,
                ..**ignored
            } != Ignored::default()
        };
        let inattentive: Vec<_> = self.history.ignored.iter().filter(attentive).collect();
        self.require(inattentive.is_empty(), || {
            format!("messages were ignored: {inattentive:?}")
        });
    }
}
