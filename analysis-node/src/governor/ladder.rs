//! The steps by which detail is given up and comes back: what each of them is, and the order for
//! it.
//!
//! A step lies on what the user wants, and not in its place: rules of a selection stand before the
//! user's, so that these decide, and a frequency is a part of the user's.

use super::detail::{Detail, Reduction};
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::order::Order;
use invivo_proto::control::results::Measuring;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::selection::{Fits, RULES_MAX, Rule, Selection};
use invivo_proto::control::tree::JobInfo;

/// Regions that are given up first and next, by their mean time in ns.
const SHORT_NS: [u64; 2] = [1_000, 10_000];
/// Visits behind which that is known well enough.
const SHORT_VISITS: u64 = 1_000;
/// By what the frequency of samples is divided in each step.
const SAMPLING_STEP: u32 = 4;
/// The lowest frequency in Hz: with fewer samples no function is seen in time.
const SAMPLING_LEAST: u32 = 20;
/// By what the time between two readings of metrics is multiplied in each step.
const METRICS_STEP: u64 = 10;
/// The longest of these times, in ns.
const METRICS_LONGEST_NS: u64 = 10_000_000_000;
/// Analyses that cost something for each call.
const DEAR: AnalysisSet = AnalysisSet::of(Analysis::Messages)
    .switched(AnalysisSet::of(Analysis::Sites), true)
    .switched(AnalysisSet::of(Analysis::WaitStates), true);
/// Functions of MPI that can be left out: those that carry messages never are.
const FUNCTIONS: &str = "MPI*";

/// What the user wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub rules: Vec<Rule>,
    pub sampling: Sampling,
    pub metrics: Measured,
    pub analyses: AnalysisSet,
    pub recording: bool,
}

impl Wanted {
    /// As the job begins.
    pub fn at_first(info: &JobInfo, analyses: AnalysisSet) -> Wanted {
        Wanted {
            rules: info.selection.after(&[]).unwrap_or_default(),
            sampling: info.sampling,
            metrics: *info.metrics,
            analyses,
            recording: info.recording,
        }
    }
}

/// How far each kind of detail is given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ladder {
    wanted: Wanted,
    /// By [`Detail`].
    levels: [usize; Detail::ALL.len()],
    /// Which kinds were lowered, the last one last, once for each level.
    taken: Vec<Detail>,
    /// What the user has decided, which is not touched.
    decided: Vec<Detail>,
    /// What cannot be given up: an order for it was refused.
    refused: Vec<Detail>,
}

impl Ladder {
    pub fn new(wanted: Wanted) -> Ladder {
        Ladder {
            wanted,
            ..Ladder::default()
        }
    }

    /// A user's command was done. While there is a cap, what it is about is decided by it. Kinds
    /// that have to be ordered now, because the command was not about all that was given up.
    pub fn heard(&mut self, order: &Order, is_capped: bool) -> Vec<Detail> {
        let wanted = &mut self.wanted;
        let mut to_order = Vec::new();
        let details: &[Detail] = match order {
            Order::Select(selection) => {
                // More rules come behind those of steps and the user's, and nothing else changes.
                let after = selection.after(&wanted.rules);
                wanted.rules = after.unwrap_or_else(|| wanted.rules.clone());
                match selection.replaces {
                    true => &[Detail::Regions, Detail::Functions],
                    false => &[],
                }
            }
            Order::Sampling(sampling) => {
                wanted.sampling = *sampling;
                &[Detail::Sampling]
            }
            Order::Metrics(measured) => {
                wanted.metrics = *measured;
                &[Detail::Metrics]
            }
            Order::Analyses { these, on } => {
                wanted.analyses = wanted.analyses.switched(*these, *on);
                let is_about_them = *on && !dear(*these).is_empty();
                if is_about_them && self.levels[Detail::Analyses as usize] > 0 {
                    to_order.push(Detail::Analyses);
                }
                if is_about_them {
                    &[Detail::Analyses]
                } else {
                    &[]
                }
            }
            Order::Record { on } => {
                wanted.recording = *on;
                &[Detail::Recording]
            }
            Order::Window { .. } => {
                // It leaves recording off.
                wanted.recording = false;
                &[Detail::Recording]
            }
            _ => &[],
        };
        for &detail in details {
            self.levels[detail as usize] = 0;
            self.taken.retain(|taken| *taken != detail);
            if is_capped && !self.decided.contains(&detail) {
                self.decided.push(detail);
            }
        }
        to_order
    }

    /// An order was refused: the kind is as it was at this level, and not tried again.
    pub fn refused(&mut self, detail: Detail, level: usize) {
        self.taken.retain(|taken| *taken != detail);
        self.taken.extend(std::iter::repeat_n(detail, level));
        self.levels[detail as usize] = level;
        self.refused.push(detail);
    }

    pub fn level(&self, detail: Detail) -> usize {
        self.levels[detail as usize]
    }

    /// All kinds may be given up, whatever was decided before.
    pub fn forget_decisions(&mut self) {
        self.decided.clear();
        self.refused.clear();
    }

    pub fn decided(&self) -> &[Detail] {
        &self.decided
    }

    /// Gives up the next detail of those that matter, by so many steps of its kind; nothing where
    /// there is none.
    pub fn lower(&mut self, matters: impl Fn(Detail) -> bool, steps: usize) -> Option<Detail> {
        let can = |detail: &Detail| {
            !self.decided.contains(detail)
                && !self.refused.contains(detail)
                && matters(*detail)
                && self
                    .reduction(*detail, self.levels[*detail as usize] + 1)
                    .is_some()
        };
        let detail = Detail::ALL.into_iter().find(can)?;
        for _ in 0..steps {
            let next = self.levels[detail as usize] + 1;
            if self.reduction(detail, next).is_some() {
                self.levels[detail as usize] = next;
                self.taken.push(detail);
            }
        }
        Some(detail)
    }

    /// Gives up a kind by one more step, whether it matters or not. Whether there was one.
    pub fn lower_again(&mut self, detail: Detail) -> bool {
        let next = self.levels[detail as usize] + 1;
        let is_free = !self.decided.contains(&detail) && !self.refused.contains(&detail);
        let can = is_free && self.reduction(detail, next).is_some();
        if can {
            self.levels[detail as usize] = next;
            self.taken.push(detail);
        }
        can
    }

    /// Takes back the last step of a kind that may come back; nothing where there is none. Kinds of
    /// what is recorded come back while recording is on: before, nobody sees what they take.
    pub fn raise(&mut self, may: impl Fn(Detail) -> bool) -> Option<Detail> {
        let is_off = self.level(Detail::Recording) > 0;
        let is_seen = |detail| match detail {
            Detail::Regions | Detail::Analyses | Detail::Functions => !is_off,
            Detail::Sampling | Detail::Metrics | Detail::Recording => true,
        };
        let can = |detail: &Detail| is_seen(*detail) && may(*detail);
        let detail = self.taken.remove(self.taken.iter().rposition(can)?);
        self.levels[detail as usize] -= 1;
        Some(detail)
    }

    /// What is given up of a kind now.
    pub fn given_up_of(&self, detail: Detail) -> Option<Reduction> {
        self.reduction(detail, self.levels[detail as usize])
    }

    /// What is given up now, in the order in which it is.
    pub fn given_up(&self) -> impl Iterator<Item = Reduction> {
        Detail::ALL
            .into_iter()
            .filter_map(|detail| self.given_up_of(detail))
    }

    /// What is measured beside MPI calls, without what is given up.
    pub fn measuring(&self) -> Measuring {
        Measuring {
            sampling: self.sampling(),
            metrics: self.metrics(),
            rules: self.rules().len() as u32,
        }
    }

    /// How ranks are sampled, without what is given up.
    fn sampling(&self) -> Sampling {
        let wanted = self.wanted.sampling;
        match self.given_up_of(Detail::Sampling) {
            Some(Reduction::Sampling { frequency, .. }) => Sampling {
                frequency,
                ..wanted
            },
            _ => wanted,
        }
    }

    /// What is read how often, without what is given up.
    fn metrics(&self) -> Measured {
        match self.given_up_of(Detail::Metrics) {
            Some(Reduction::Metrics { now, .. }) => now,
            _ => self.wanted.metrics,
        }
    }

    /// The order by which a kind of detail is as it should be now.
    pub fn order(&self, detail: Detail) -> Order {
        let is_given_up = self.given_up_of(detail).is_some();
        match detail {
            Detail::Regions | Detail::Functions => Order::Select(Selection {
                replaces: true,
                rules: self.rules(),
            }),
            Detail::Sampling => Order::Sampling(self.sampling()),
            Detail::Metrics => Order::Metrics(self.metrics()),
            Detail::Analyses => Order::Analyses {
                these: dear(self.wanted.analyses),
                on: !is_given_up,
            },
            Detail::Recording => Order::Record {
                on: self.wanted.recording && !is_given_up,
            },
        }
    }

    /// What is given up of a kind at a level; nothing at the lowest, and beyond the highest.
    fn reduction(&self, detail: Detail, level: usize) -> Option<Reduction> {
        let above = level.checked_sub(1)?;
        let wanted = &self.wanted;
        let first = |reduction| (above == 0).then_some(reduction);
        let has_room = wanted.rules.len() + 2 <= RULES_MAX;
        match detail {
            Detail::Regions if !has_room => None,
            Detail::Regions => match SHORT_NS.get(above) {
                Some(&ns) => Some(Reduction::ShortRegions { ns }),
                None => (above == SHORT_NS.len()).then_some(Reduction::Regions),
            },
            Detail::Sampling => {
                let before = wanted.sampling.frequency;
                let of = |above: usize| {
                    let parts = SAMPLING_STEP.saturating_pow(u32::try_from(above).ok()?);
                    Some(before / parts).filter(|frequency| *frequency >= SAMPLING_LEAST)
                };
                // Behind the lowest frequency there is none.
                let is_there = above == 0 || of(above).is_some();
                (before > 0 && is_there).then(|| Reduction::Sampling {
                    frequency: of(level).unwrap_or(0),
                    before,
                })
            }
            Detail::Metrics => {
                let before = wanted.metrics;
                let of = |level: usize| {
                    let times = METRICS_STEP.saturating_pow(u32::try_from(level).ok()?);
                    let interval_ns = before.interval_ns.saturating_mul(times);
                    (interval_ns <= METRICS_LONGEST_NS).then_some(Measured {
                        interval_ns,
                        ..before
                    })
                };
                let is_there = above == 0 || of(above).is_some();
                (!before.set.is_empty() && is_there).then(|| Reduction::Metrics {
                    now: of(level).unwrap_or_default(),
                    before,
                })
            }
            Detail::Analyses => {
                let these = dear(wanted.analyses);
                first(Reduction::Analyses { these }).filter(|_| !these.is_empty())
            }
            Detail::Functions => first(Reduction::Functions).filter(|_| has_room),
            Detail::Recording => first(Reduction::Recording).filter(|_| wanted.recording),
        }
    }

    /// The rules in force: those of steps, then the user's.
    fn rules(&self) -> Vec<Rule> {
        let exclude = |fits| Rule {
            include: false,
            fits,
        };
        let regions = self
            .given_up_of(Detail::Regions)
            .map(|reduction| match reduction {
                Reduction::ShortRegions { ns } => exclude(Fits::Short {
                    visits: SHORT_VISITS,
                    mean_ns: ns,
                }),
                _ => exclude(Fits::Name("*".into())),
            });
        let functions = self.given_up_of(Detail::Functions);
        let functions = functions.map(|_| exclude(Fits::Name(FUNCTIONS.into())));
        let steps = regions.into_iter().chain(functions);
        steps.chain(self.wanted.rules.iter().cloned()).collect()
    }
}

/// Those of some analyses that cost something for each call.
fn dear(of: AnalysisSet) -> AnalysisSet {
    let these = of.iter().filter(|analysis| DEAR.contains(*analysis));
    these.fold(AnalysisSet::NONE, |these, analysis| {
        these.switched(AnalysisSet::of(analysis), true)
    })
}

#[cfg(test)]
mod tests;
