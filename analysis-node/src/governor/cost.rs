//! What the measurement took of the ranks' time between two looks, and what for.

use super::detail::Detail;
use invivo_proto::control::results::{Coverage, JobStatus, RANK_STATES, RankState};

/// A tool place takes so many times as long for a record as the rank, at most.
const TAKEN_MAX: f64 = 2.0;
/// What recording a call takes at least, in ns: two time stamps.
const CALL_NS: f64 = 15.0;
/// What calls that carry messages take of what all calls do, where nobody knows.
const CARRYING: f64 = 0.5;

/// Counts since the start of the job, as a status tells them.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    at_ns: u64,
    /// Ranks by state, and those that the counts are of: where these are others, counts of before
    /// cannot be compared.
    states: [u32; RANK_STATES],
    reporting: (u32, u32),
    overhead_ns: u64,
    regions_ns: u64,
    samples_ns: u64,
    tools_ns: u64,
    observers_ns: u64,
    displaced_ns: u64,
    calls: u64,
}

/// The time between two looks, in ns, and shares of the ranks' time in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub elapsed_ns: u64,
    /// All of it.
    pub share: f64,
    /// What recording regions took.
    regions: f64,
    /// What recording calls took, and of that what places took for them.
    calls: f64,
    analyses: f64,
    /// What samples and metrics took.
    observers: f64,
    /// What the calls took at least, by their number alone. A rank that lost its processor while it
    /// was timed, or a large question, is not in it.
    pub counted: f64,
}

impl Counts {
    /// Of a status at a time; nothing while it says nothing of the cost: where no rank runs, or
    /// some are held.
    pub fn of(at_ns: u64, status: &JobStatus, coverage: &Coverage) -> Option<Counts> {
        let ranks = |state: RankState| status.states[state as usize];
        let is_held = ranks(RankState::Paused) > 0 || ranks(RankState::Held) > 0;
        let is_told = running(&status.states) > 0 && !is_held;
        is_told.then_some(Counts {
            at_ns,
            states: status.states,
            reporting: (coverage.ranks_reporting, coverage.members_missing),
            overhead_ns: coverage.overhead_ns,
            regions_ns: coverage.overhead_regions_ns,
            samples_ns: coverage.overhead_samples_ns,
            tools_ns: coverage.tool_cpu_ns,
            observers_ns: coverage.observer_cpu_ns,
            displaced_ns: coverage.displaced_ns,
            calls: coverage.ledger.entered,
        })
    }

    /// What was taken since `before`; nothing where the counts are of other ranks, or smaller.
    pub fn since(&self, before: &Counts) -> Option<Cost> {
        let elapsed_ns = self.at_ns.checked_sub(before.at_ns).filter(|ns| *ns > 0)?;
        let ranks = running(&self.states);
        let are_same = ranks == running(&before.states) && self.reporting == before.reporting;
        if !are_same {
            return None;
        }
        let all_ns = elapsed_ns as f64 * f64::from(ranks);
        let of = |count: fn(&Counts) -> u64| {
            let ns = count(self).checked_sub(count(before))?;
            Some(ns as f64 / all_ns)
        };
        let (in_rank, regions) = (of(|c| c.overhead_ns)?, of(|c| c.regions_ns)?);
        let (samples, displaced) = (of(|c| c.samples_ns)?, of(|c| c.displaced_ns)?);
        let (tools, observers) = (of(|c| c.tools_ns)?, of(|c| c.observers_ns)?);
        let counted = of(|c| c.calls)? * CALL_NS;

        // What ranks lacked goes by who took processors; and of what takes records, by what they
        // cost the ranks. The rest is for questions and for being there.
        let by_observers = part(observers, tools);
        let records = in_rank - samples;
        let by_regions = part(regions, records);
        let taken = (displaced * (1.0 - by_observers)).min(records * TAKEN_MAX);
        let recording = records + taken;
        Some(Cost {
            elapsed_ns,
            share: in_rank + displaced,
            regions: recording * by_regions,
            calls: recording * (1.0 - by_regions),
            analyses: taken * (1.0 - by_regions),
            observers: samples + displaced * by_observers,
            counted,
        })
    }
}

impl Cost {
    /// How much of it giving up a kind of detail can save.
    pub fn of(&self, detail: Detail) -> f64 {
        match detail {
            Detail::Regions => self.regions,
            Detail::Sampling | Detail::Metrics => self.observers,
            // Regions that are still recorded by then are so because a user wants it.
            Detail::Functions | Detail::Recording => self.calls,
            Detail::Analyses => self.analyses,
        }
    }

    /// What all detail takes, without what tool processes take for being there.
    pub fn of_detail(mut self) -> Cost {
        self.share = self.regions + self.calls + self.observers;
        self
    }

    /// What it should be without a kind of detail.
    pub fn without(mut self, detail: Detail) -> Cost {
        let calls = self.calls;
        match detail {
            Detail::Regions => {
                self.share -= self.regions;
                self.regions = 0.0;
            }
            Detail::Sampling | Detail::Metrics => {
                self.share -= self.observers;
                self.observers = 0.0;
            }
            Detail::Analyses => (self.calls, self.analyses) = (calls - self.analyses, 0.0),
            Detail::Functions => {
                (self.calls, self.analyses) = (calls * CARRYING, self.analyses * CARRYING);
            }
            Detail::Recording => (self.calls, self.analyses) = (0.0, 0.0),
        }
        self.share -= calls - self.calls;
        self
    }
}

/// Ranks that run.
fn running(states: &[u32; RANK_STATES]) -> u32 {
    let ranks = |state: RankState| states[state as usize];
    ranks(RankState::Computing).saturating_add(ranks(RankState::InMpi))
}

fn part(of: f64, all: f64) -> f64 {
    if all > 0.0 {
        (of / all).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(states: [u32; 6]) -> JobStatus {
        JobStatus {
            states,
            ..JobStatus::default()
        }
    }

    #[test]
    fn shares_are_of_the_time_of_all_ranks() {
        // Four ranks for a second; in units of a thousandth of that.
        let unit = 4_000_000;
        let status = status([0, 1, 3, 0, 0, 0]);
        let nothing = Counts::of(0, &status, &Coverage::default()).expect("they run");
        let coverage = Coverage {
            overhead_ns: 50 * unit,
            overhead_regions_ns: 30 * unit,
            overhead_samples_ns: 10 * unit,
            tool_cpu_ns: 40 * unit,
            observer_cpu_ns: 10 * unit,
            displaced_ns: 20 * unit,
            ..Coverage::default()
        };
        let now = Counts::of(1_000_000_000, &status, &coverage).expect("they run");
        let cost = now.since(&nothing).expect("a cost");
        let thousandths = |share: f64| (share * 1e6).round() / 1e3;
        assert_eq!(thousandths(cost.share), 70.0);
        // Of 40 for records and 15 that they displaced three quarters are regions.
        assert_eq!(thousandths(cost.of(Detail::Regions)), 41.25);
        assert_eq!(thousandths(cost.of(Detail::Functions)), 13.75);
        assert_eq!(thousandths(cost.of(Detail::Analyses)), 3.75);
        assert_eq!(thousandths(cost.of(Detail::Recording)), 13.75);
        assert_eq!(thousandths(cost.of(Detail::Sampling)), 15.0);
        assert_eq!(nothing.since(&now), None, "time does not run back");

        // Without one kind after the other, what nothing would save is left.
        let mut left = cost;
        let shares = Detail::ALL.map(|detail| {
            left = left.without(detail);
            thousandths(left.share)
        });
        assert_eq!(shares, [28.75, 13.75, 13.75, 10.0, 5.0, 0.0]);
        assert_eq!(Detail::ALL.map(|detail| left.of(detail)), [0.0; 6]);

        // Somebody asks for much: it is in the overhead, and no detail would save it.
        let asked = Coverage {
            tool_cpu_ns: 900 * unit,
            displaced_ns: 880 * unit,
            ..coverage
        };
        let now = Counts::of(1_000_000_000, &status, &asked).expect("they run");
        let cost = now.since(&nothing).expect("a cost");
        assert_eq!(thousandths(cost.share), 930.0);
        assert_eq!(thousandths(cost.of(Detail::Regions)), 90.0);
    }

    #[test]
    fn ranks_that_are_held_tell_nothing() {
        let coverage = Coverage::default();
        for states in [[0, 3, 0, 1, 0, 0], [0, 3, 0, 0, 0, 1], [0, 0, 0, 0, 4, 0]] {
            assert!(
                Counts::of(0, &status(states), &coverage).is_none(),
                "{states:?}"
            );
        }
        let early = Counts::of(0, &status([1, 2, 1, 0, 1, 0]), &coverage).expect("most run");
        let fewer = Counts::of(9, &status([1, 1, 1, 0, 2, 0]), &coverage).expect("some run");
        assert_eq!(
            fewer.since(&early),
            None,
            "the time of those that ended is in it"
        );
        let back = Coverage {
            overhead_ns: 1 << 40,
            ranks_reporting: 4,
            ..coverage
        };
        let back = Counts::of(9, &status([1, 2, 1, 0, 1, 0]), &back).expect("most run");
        assert_eq!(
            back.since(&early),
            None,
            "nor is what a place brings back of one look"
        );
    }
}
