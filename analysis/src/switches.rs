//! Says which analyses get a call, by the times at which they are switched.
//!
//! Pure: `ticks` are of the ranks' clock. A call belongs to an analysis that is on where the call
//! *ends*; of one that began before the analysis was switched on only the part behind counts.
//! Changes are planned ahead and take effect when time has passed them or when the first call that
//! ended behind them is judged, whichever comes first, so that it makes no difference how late
//! records come.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use invivo_proto::control::analyses::{
    ANALYSES, AnalysesStatus, Analysis, AnalysisSet, AnalysisStatus, GAPS_MAX, Gaps,
};

/// Changes that are remembered for calls that come late. Calls that ended before the oldest of them
/// are judged by it: they would be later than so many switches.
pub const CHANGES_MAX: usize = 64;

/// A change that nothing has passed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When, in job time.
    pub job_ns: u64,
    /// When, in ticks, as far as is known.
    pub ticks: u64,
    /// Which analyses.
    pub these: AnalysisSet,
    /// On or off.
    pub on: bool,
}

/// Which analyses get a call, and from where on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub on: AnalysisSet,
    /// What lies before counts for nothing, in ticks; in the order of [`Analysis::ALL`].
    pub from: [u64; ANALYSES],
}

/// A change that has taken effect.
#[derive(Clone, Copy, Debug)]
struct Passed {
    ticks: u64,
    /// What is on from there.
    on: AnalysisSet,
}

/// The switches of one place.
#[derive(Clone, Debug)]
pub struct Switches {
    /// Oldest first; never empty.
    passed: VecDeque<Passed>,
    ahead: VecDeque<Planned>,
    /// Calls within these get what is on now, whole: from the last change to the next.
    plain: (u64, u64),
    on: AnalysisSet,
    gaps: [Gaps; ANALYSES],
    since_ns: [u64; ANALYSES],
    /// How often the matching of messages was switched on.
    matchings: u64,
    /// When each was switched on last, in ticks.
    on_since: [u64; ANALYSES],
}

impl Default for Switches {
    fn default() -> Switches {
        Switches::new(AnalysisSet::DEFAULT)
    }
}

impl Switches {
    /// With these on from the start of the job.
    pub fn new(on: AnalysisSet) -> Switches {
        let mut switches = Switches {
            passed: VecDeque::from([Passed { ticks: 0, on }]),
            ahead: VecDeque::new(),
            plain: (0, u64::MAX),
            on,
            gaps: Default::default(),
            since_ns: [0; ANALYSES],
            matchings: 0,
            on_since: [0; ANALYSES],
        };
        for analysis in AnalysisSet::ALL.switched(on, false).iter() {
            open(&mut switches.gaps[analysis as usize], 0);
        }
        switches
    }

    /// What is on now.
    pub fn on(&self) -> AnalysisSet {
        self.on
    }

    /// Whether an analysis is on now, or will be by what is planned: what only it needs is wanted.
    pub fn wants(&self, analysis: Analysis) -> bool {
        let mut ahead = self.ahead.iter();
        self.on.contains(analysis)
            || ahead.any(|planned| planned.on && planned.these.contains(analysis))
    }

    /// How often the matching of messages was switched on, and when last, in ticks. Who matches
    /// begins anew when this has changed, before the next call.
    pub fn matching(&self) -> (u64, u64) {
        (self.matchings, self.on_since(Analysis::Messages))
    }

    /// When an analysis was switched on last, in ticks; 0 if it never was, or has been on from the
    /// start.
    #[inline]
    pub fn on_since(&self, analysis: Analysis) -> u64 {
        self.on_since[analysis as usize]
    }

    /// Plans a change. One that would come before another that is planned comes right behind it.
    pub fn plan(&mut self, mut planned: Planned) -> Planned {
        if let Some(last) = self.ahead.back() {
            planned.job_ns = planned.job_ns.max(last.job_ns);
            planned.ticks = planned.ticks.max(last.ticks);
        }
        self.ahead.push_back(planned);
        self.settle();
        planned
    }

    /// Job time is known better than when the changes were planned.
    pub fn retime(&mut self, ticks_of: impl Fn(u64) -> u64) {
        if self.ahead.is_empty() {
            return;
        }
        let mut last = 0;
        for planned in &mut self.ahead {
            planned.ticks = ticks_of(planned.job_ns).max(last);
            last = planned.ticks;
        }
        self.settle();
    }

    /// Time has passed.
    pub fn pass(&mut self, now: u64) {
        self.apply_while(|planned| planned.ticks <= now);
    }

    /// Something is known that ended at this job time.
    pub fn pass_job_ns(&mut self, job_ns: u64) {
        self.apply_while(|planned| planned.job_ns < job_ns);
    }

    /// Which analyses get a call from `begin` to `end` whole, where no switch is near; else
    /// [`Switches::judge`] knows.
    #[inline(always)]
    pub fn plain(&self, begin: u64, end: u64) -> Option<AnalysisSet> {
        // Two comparisons for a call between two changes, which nearly every call is.
        (begin >= self.plain.0 && end <= self.plain.1).then_some(self.on)
    }

    /// What of a call from `begin` to `end` each analysis gets.
    pub fn judge(&mut self, begin: u64, end: u64) -> Share {
        if let Some(on) = self.plain(begin, end) {
            let from = [0; ANALYSES];
            return Share { on, from };
        }
        self.apply_while(|planned| planned.ticks < end);
        // Strict: a call that ends where a change lies is before it. The oldest holds for all
        // before it.
        let at = self.passed.iter().rposition(|passed| passed.ticks < end);
        let at = at.unwrap_or(0);
        let on = self.passed[at].on;
        let from = Analysis::ALL.map(|analysis| {
            let before = self.passed.iter().take(at + 1).rev();
            let run = before.take_while(|passed| passed.on.contains(analysis));
            run.last().map_or(0, |passed| passed.ticks)
        });
        Share { on, from }
    }

    fn apply_while(&mut self, is_due: impl Fn(&Planned) -> bool) {
        while let Some(planned) = self.ahead.pop_front_if(|planned| is_due(planned)) {
            self.apply(planned);
        }
    }

    fn apply(&mut self, planned: Planned) {
        let on = self.on.switched(planned.these, planned.on);
        for analysis in Analysis::ALL {
            let (was, is) = (self.on.contains(analysis), on.contains(analysis));
            if was == is {
                continue;
            }
            let index = analysis as usize;
            self.since_ns[index] = planned.job_ns;
            if is {
                self.on_since[index] = planned.ticks;
                close(&mut self.gaps[index], planned.job_ns);
            } else {
                open(&mut self.gaps[index], planned.job_ns);
            }
            if is && analysis == Analysis::Messages {
                self.matchings += 1;
            }
        }
        if on != self.on {
            self.on = on;
            let ticks = planned.ticks;
            self.passed.push_back(Passed { ticks, on });
            if self.passed.len() > CHANGES_MAX {
                self.passed.pop_front();
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        // A call that begins and ends right where the change lies is before it.
        let behind = |passed: &Passed| match passed.ticks {
            0 => 0,
            ticks => ticks.saturating_add(1),
        };
        let last = self.passed.back().map_or(0, behind);
        let next = self.ahead.front().map_or(u64::MAX, |next| next.ticks);
        self.plain = (last, next);
    }

    /// For an answer of `ranks` ranks, whose sums begin at `from_ns`, at `now_ns` (job time).
    pub fn status(&self, ranks: u32, from_ns: u64, now_ns: u64) -> AnalysesStatus {
        let of = Analysis::ALL.map(|analysis| {
            let index = analysis as usize;
            let is_on = self.on.contains(analysis);
            AnalysisStatus {
                on: if is_on { ranks } else { 0 },
                off: if is_on { 0 } else { ranks },
                since_ns: self.since_ns[index],
                gaps: behind(&self.gaps[index], from_ns),
            }
        });
        AnalysesStatus { of, now_ns }
    }
}

/// A gap begins.
fn open(gaps: &mut Gaps, at_ns: u64) {
    if gaps.last.len() == GAPS_MAX {
        let (from_ns, to_ns) = gaps.last.remove(0);
        gaps.earlier = gaps.earlier.saturating_add(1);
        gaps.earlier_ns = gaps
            .earlier_ns
            .saturating_add(to_ns.saturating_sub(from_ns));
    }
    gaps.last.push((at_ns, u64::MAX));
}

/// The gap that goes on ends.
fn close(gaps: &mut Gaps, at_ns: u64) {
    if let Some((_, to_ns)) = gaps.last.last_mut() {
        *to_ns = at_ns;
    }
}

/// What of the gaps lies behind a reset. Those that are not named any more count until one that is
/// lies before it.
fn behind(gaps: &Gaps, from_ns: u64) -> Gaps {
    let is_before = |&(from, _): &(u64, u64)| from < from_ns;
    let forgets = from_ns > 0 && gaps.last.first().is_some_and(is_before);
    let last = gaps.last.iter().filter(|(_, to_ns)| *to_ns > from_ns);
    Gaps {
        earlier: if forgets { 0 } else { gaps.earlier },
        earlier_ns: if forgets { 0 } else { gaps.earlier_ns },
        last: last
            .map(|&(begin_ns, to_ns)| (begin_ns.max(from_ns), to_ns))
            .collect::<Vec<_>>(),
    }
}

/// Adds the analyses of other ranks.
pub fn merge(into: &mut AnalysesStatus, from: AnalysesStatus) {
    into.now_ns = into.now_ns.max(from.now_ns);
    for (into, from) in into.of.iter_mut().zip(from.of) {
        into.on = into.on.saturating_add(from.on);
        into.off = into.off.saturating_add(from.off);
        into.since_ns = into.since_ns.max(from.since_ns);
        into.gaps = core::cmp::max(core::mem::take(&mut into.gaps), from.gaps);
    }
}

#[cfg(test)]
mod tests;
