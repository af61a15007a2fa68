//! What a buffer keeps when not everything fits, as plain data. A strategy is a list of rules in
//! the order in which detail is given up; each rule claims some events and sorts them into levels,
//! of which the first goes first. An event belongs to the first rule that claims it, and to the
//! last level of all, the *rest*, if none does.
//!
//! When no bin is free, the oldest bin of the lowest level that has one goes. An event is never
//! kept in place of one of a higher level: if only higher levels have bins, the event itself is
//! given up. So at any time there is one level of which the newest is kept; of those above it
//! everything is kept, and of those below it nothing. (Levels of samples go as a whole and for
//! ever, because what is left must stay evenly spaced.) Without rules there is the rest alone: the
//! flight recorder.

use crate::event::{Classes, EventClass, Traits};
use crate::lambda::lambda;
use alloc::vec;
use alloc::vec::Vec;

/// The most levels of a strategy, the rest included: each costs memory beside the arena and a bin
/// that is not full.
pub const LEVELS_MAX: usize = 64;

/// What goes first, what next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    /// In the order in which detail is given up.
    pub rules: Vec<Rule>,
    /// A limit for everything that is no sample; none by default.
    pub event_cap: Option<EventCap>,
}

/// Some events and how they are sorted into levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The classes that it looks at.
    pub of: Classes,
    /// What it sorts by.
    pub by: Dimension,
}

/// What events are sorted by. Levels number at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Nothing: one level of all.
    Class,
    /// Calling depth, deepest first. Claims calls and regions deeper than `kept`.
    Depth {
        /// The greatest depth that is not claimed.
        kept: u8,
        /// Depths told apart; what is deeper shares the first level.
        levels: u8,
    },
    /// Duration, shortest first. Claims calls and regions shorter than 2^`kept_log2` ticks:
    /// outliers stay.
    Duration {
        /// Logarithm of the least duration that is not claimed, in ticks.
        kept_log2: u8,
        /// Powers of two told apart; what is shorter shares the first level.
        levels: u8,
    },
    /// Iterations by the lambda of their number: first every second one goes, then every second of
    /// what is left. Claims what ends in an iteration whose lambda is below `levels`.
    Iteration {
        /// Levels told apart; every 2^levels-th iteration is not claimed.
        levels: u8,
    },
    /// Samples by the lambda of their ordinal. Levels go as a whole, for ever, and the producer is
    /// told to halve its frequency. Claims all samples; those of higher lambda share the last
    /// level.
    Ordinal {
        /// Levels told apart.
        levels: u8,
    },
}

/// A limit for everything that is no sample: levels of samples alone are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCap {
    /// Its part of all bins, in thousandths.
    pub bins_permille: u16,
    /// What happens there.
    pub then: AtCap,
}

/// What happens at an [`EventCap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtCap {
    /// All events are given up, and no more are taken, as analysers do not bear half a
    /// communication. (The published rule, with a cap of 500.) The loss ledger tells when.
    DropAll,
    /// Events make room among themselves.
    Oldest,
}

/// What a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// What no rule claims.
    Rest,
    /// A class rule's events.
    Class,
    /// A class rule's samples, if it claims nothing else.
    Samples,
    /// Calls and regions of this depth; the first level of its rule holds the deeper ones too.
    Depth(u8),
    /// Calls and regions shorter than 2^this ticks, and not short enough for the level below.
    ShorterThanLog2(u8),
    /// Iterations of this lambda.
    Iteration(u8),
    /// Samples of this lambda.
    Ordinal(u8),
    /// Levels of strategies that are long gone.
    Earlier,
}

impl Label {
    /// Whether an [`EventCap`] is about its level: it may hold something else than samples.
    pub fn holds_events(self) -> bool {
        !matches!(self, Label::Ordinal(_) | Label::Samples)
    }
}

impl Strategy {
    /// The newest complete, of everything.
    pub fn flight_recorder() -> Self {
        Strategy::default()
    }

    /// Gives up classes in this order.
    pub fn by_class(order: &[EventClass]) -> Self {
        let rule = |class: &EventClass| Rule {
            of: Classes::of(&[*class]),
            by: Dimension::Class,
        };
        Strategy {
            rules: order.iter().map(rule).collect(),
            event_cap: None,
        }
    }

    /// Sorts everything by one dimension.
    pub fn by(dimension: Dimension) -> Self {
        Strategy {
            rules: vec![Rule {
                of: Classes::ALL,
                by: dimension,
            }],
            event_cap: None,
        }
    }

    /// First what this one gives up, then what the other does. The other's cap holds if this one
    /// has none.
    #[must_use]
    pub fn then(mut self, other: Strategy) -> Self {
        self.rules.extend(other.rules);
        // A buffer has one cap: the strategy that comes first decides.
        self.event_cap = self.event_cap.or(other.event_cap);
        self
    }

    /// How many levels it has, the rest included.
    pub fn levels(&self) -> usize {
        1 + self.rules.iter().map(Rule::levels).sum::<usize>()
    }

    /// What each level holds, in the order in which they go.
    pub fn labels(&self) -> Vec<Label> {
        let mut labels: Vec<Label> = self.rules.iter().flat_map(Rule::labels).collect();
        labels.push(Label::Rest);
        labels
    }
}

impl Rule {
    fn levels(&self) -> usize {
        usize::from(match self.by {
            Dimension::Class => 1,
            // No more than there is to tell apart: depths up to 255, bounds from 2^0 on.
            Dimension::Depth { kept, levels } => levels.min(u8::MAX - kept).max(1),
            Dimension::Duration { kept_log2, levels } => {
                levels.clamp(1, kept_log2.saturating_add(1))
            }
            Dimension::Iteration { levels } | Dimension::Ordinal { levels } => levels.max(1),
        })
    }

    fn labels(&self) -> Vec<Label> {
        let count = self.levels() as u8;
        let label = |level: u8| match self.by {
            Dimension::Class if self.of == Classes::of(&[EventClass::Sample]) => Label::Samples,
            Dimension::Class => Label::Class,
            Dimension::Depth { kept, .. } => Label::Depth(kept.saturating_add(count - level)),
            Dimension::Duration { kept_log2, .. } => {
                Label::ShorterThanLog2(kept_log2.saturating_sub(count - 1 - level))
            }
            Dimension::Iteration { .. } => Label::Iteration(level),
            Dimension::Ordinal { .. } => Label::Ordinal(level),
        };
        (0..count).map(label).collect()
    }

    /// The level of an event within the rule, if the rule claims it.
    #[inline(always)]
    fn level(&self, event: &Traits, iteration: u64) -> Option<usize> {
        if !self.of.contains(event.class) {
            return None;
        }
        let lasts = matches!(event.class, EventClass::Call | EventClass::Region);
        // The first level goes first, so the deepest, shortest and most frequent come lowest.
        let levels = self.levels();
        match self.by {
            Dimension::Class => Some(0),
            Dimension::Depth { kept, .. } => {
                let deeper = usize::from(event.depth.saturating_sub(kept));
                (lasts && deeper > 0).then(|| levels - deeper.min(levels))
            }
            Dimension::Duration { kept_log2, .. } => {
                // As many bits as the number has: the duration is below 2^bits.
                let bits = u64::BITS - event.duration.leading_zeros();
                let shorter = u32::from(kept_log2).checked_sub(bits)? as usize;
                lasts.then(|| levels - 1 - shorter.min(levels - 1))
            }
            Dimension::Iteration { .. } => {
                // What is not claimed, every 2^levels-th iteration, goes to later rules and stays
                // longest.
                let level = lambda(iteration) as usize;
                (level < levels).then_some(level)
            }
            Dimension::Ordinal { .. } => (event.class == EventClass::Sample)
                .then(|| (lambda(event.ordinal) as usize).min(levels - 1)),
        }
    }
}

/// A strategy with the numbers of its rules' first levels.
#[derive(Debug)]
pub(crate) struct Sorter {
    rules: Vec<(Rule, usize)>,
    rest: usize,
}

impl Sorter {
    pub fn new(strategy: &Strategy) -> Self {
        let mut rest = 0;
        // Level numbers run on through the rules, in the order in which levels go.
        let numbered = |rule: &Rule| {
            let first = rest;
            rest += rule.levels();
            (*rule, first)
        };
        let rules = strategy.rules.iter().map(numbered).collect();
        Sorter { rules, rest }
    }

    /// The level of what no rule claims.
    pub fn rest(&self) -> usize {
        self.rest
    }

    /// The level of an event that ends in this iteration (0 is outside of any).
    #[inline(always)]
    pub fn level(&self, event: &Traits, iteration: u64) -> usize {
        for (rule, first) in &self.rules {
            if let Some(level) = rule.level(event, iteration) {
                return first + level;
            }
        }
        self.rest
    }
}

/// The strategy without rules, as a value that needs no words.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlightRecorder;

impl From<alloc::boxed::Box<FlightRecorder>> for Strategy {
    fn from(_: alloc::boxed::Box<FlightRecorder>) -> Strategy {
        Strategy::flight_recorder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const CALL: Traits = Traits {
        class: EventClass::Call,
        depth: 0,
        duration: 1000,
        ordinal: 0,
    };

    #[test]
    fn labels_say_what_levels_hold() {
        let depth = Strategy::by(Dimension::Depth { kept: 1, levels: 3 });
        assert_eq!(
            depth.labels(),
            [
                Label::Depth(4),
                Label::Depth(3),
                Label::Depth(2),
                Label::Rest
            ]
        );
        let sorter = Sorter::new(&depth);
        let level = |depth| sorter.level(&Traits { depth, ..CALL }, 0);
        assert_eq!([0, 1, 2, 3, 4, 9].map(level), [3, 3, 2, 1, 0, 0]);

        let duration = Strategy::by(Dimension::Duration {
            kept_log2: 10,
            levels: 3,
        });
        assert_eq!(
            duration.labels()[..3],
            [8, 9, 10].map(Label::ShorterThanLog2)
        );
        let sorter = Sorter::new(&duration);
        let level = |duration| sorter.level(&Traits { duration, ..CALL }, 0);
        assert_eq!(
            [0, 255, 256, 511, 512, 1023, 1024, u64::MAX].map(level),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );

        // There is nothing below the lowest of these.
        let shallow = Strategy::by(Dimension::Depth {
            kept: 253,
            levels: 8,
        });
        assert_eq!(
            shallow.labels(),
            [Label::Depth(255), Label::Depth(254), Label::Rest]
        );
        let short = Strategy::by(Dimension::Duration {
            kept_log2: 1,
            levels: 8,
        });
        assert_eq!(
            short.labels(),
            [
                Label::ShorterThanLog2(0),
                Label::ShorterThanLog2(1),
                Label::Rest
            ]
        );
    }

    #[test]
    fn the_first_rule_that_claims_wins() {
        let strategy = Strategy::by_class(&[EventClass::Metric])
            .then(Strategy::by(Dimension::Ordinal { levels: 4 }))
            .then(Strategy::by(Dimension::Iteration { levels: 2 }))
            .then(Strategy::by(Dimension::Depth { kept: 0, levels: 2 }));
        assert_eq!(strategy.levels(), 1 + 4 + 2 + 2 + 1);
        let labels: BTreeSet<Label> = strategy.labels().into_iter().collect();
        assert_eq!(labels.len(), strategy.levels());
        let sorter = Sorter::new(&strategy);
        let of = |class, ordinal, depth, iteration| {
            sorter.level(
                &Traits {
                    class,
                    ordinal,
                    depth,
                    ..CALL
                },
                iteration,
            )
        };

        assert_eq!(of(EventClass::Metric, 0, 9, 1), 0);
        assert_eq!(of(EventClass::Sample, 1, 9, 1), 1);
        assert_eq!(of(EventClass::Sample, 64, 9, 1), 4);
        assert_eq!(of(EventClass::Call, 0, 9, 1), 5);
        assert_eq!(of(EventClass::Call, 0, 9, 6), 6);
        assert_eq!(of(EventClass::Call, 0, 9, 4), 7);
        assert_eq!(of(EventClass::Region, 0, 1, 0), 8);
        assert_eq!(of(EventClass::Call, 0, 0, 0), 9);
    }
}
