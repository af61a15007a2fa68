//! Decides by the times at which recording is switched which calls count, whole or clipped.
//!
//! Pure: times are ticks of the ranks' clock.
//!
//! ```text
//!            on       off   on        window: reset + on          off
//!   ---------[=========]-----[===========|=======================]--------> ticks
//!   a call       kept whole               clipped ...  ... clipped
//! ```
//!
//! Time is divided into *spans* in which calls are recorded. A call belongs to the oldest span that
//! it touches; what stands out at its edges is clipped, but for the end of a span that says that
//! calls under way there count whole. A call that touches no span lies *outside*. A *reset* ends
//! all spans and forgets what is known of them.
//!
//! Changes are planned ahead, and take effect when time has passed them or when the first call that
//! ended behind them is judged, whichever comes first: so it makes no difference how late the
//! records come or who looks at the clock.

use std::collections::VecDeque;

/// Spans kept one by one. Of more the two oldest become one: nothing is recorded between spans, so
/// the gap that is lost this way could only matter for calls that span more switches than anybody
/// makes.
const SPANS_MAX: usize = 64;

/// What happens to recording at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Everything before is forgotten.
    Reset,
    /// Recording begins, unless it is on; calls under way are clipped. From here on it is in this
    /// epoch.
    On(u32),
    /// Recording ends, unless it is off; calls under way count whole.
    Off,
    /// Recording ends, unless it is off; calls under way are clipped.
    End,
}

/// What a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts as it is.
    Whole,
    /// Only this part of it counts.
    Clipped {
        /// Where it begins now.
        begin: u64,
        /// Where it ends now.
        end: u64,
    },
    /// It does not count.
    Outside,
}

/// A change that nothing has passed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When, in job time.
    pub job_ns: u64,
    /// When, in ticks, as far as is known.
    pub ticks: u64,
    pub change: Change,
}

/// The number of a planned change, from 1; 0 is none.
pub type CutNumber = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: u64,
    from_cut: CutNumber,
    /// `u64::MAX` while it is open.
    to: u64,
    to_cut: CutNumber,
    /// Calls that stand out at the end count whole.
    whole: bool,
}

/// The cuts in time, passed and planned.
#[derive(Clone, Debug)]
pub struct Cuts {
    spans: VecDeque<Span>,
    ahead: VecDeque<(CutNumber, Planned)>,
    planned: CutNumber,
    /// The epoch that recording is or was in.
    epoch: u32,
    /// Calls within these are whole: from the open span's beginning to the next change.
    plain: (u64, u64),
    resets: u64,
    reset_job_ns: u64,
    reset_ticks: u64,
    last_clip: (CutNumber, CutNumber),
}

impl Default for Cuts {
    /// Recording has always been on.
    fn default() -> Cuts {
        Cuts {
            spans: VecDeque::from([Span {
                from: 0,
                from_cut: 0,
                to: u64::MAX,
                to_cut: 0,
                whole: true,
            }]),
            ahead: VecDeque::new(),
            planned: 0,
            epoch: 0,
            plain: (0, u64::MAX),
            resets: 0,
            reset_job_ns: 0,
            reset_ticks: 0,
            last_clip: (0, 0),
        }
    }
}

impl Cuts {
    /// Plans a change, and gives its number. One that would come before another that is planned
    /// comes right behind it.
    pub fn plan(&mut self, mut planned: Planned) -> CutNumber {
        if let Some((_, last)) = self.ahead.back() {
            planned.job_ns = planned.job_ns.max(last.job_ns);
            planned.ticks = planned.ticks.max(last.ticks);
        }
        self.planned += 1;
        self.ahead.push_back((self.planned, planned));
        self.settle();
        self.planned
    }

    /// The number that the next planned change gets.
    pub fn next_number(&self) -> CutNumber {
        self.planned + 1
    }

    /// Gives up a change, if it has not taken effect.
    pub fn cancel(&mut self, unwanted: CutNumber) {
        self.ahead.retain(|(number, _)| *number != unwanted);
        self.settle();
    }

    /// The ranks, which did not record before, do so from here on (ticks, and job time), and not as
    /// early as was planned: a beginning that lies before this lies here now, together with what
    /// was planned for between. Gives the number of the beginning. No call may have been judged
    /// since it took effect.
    pub fn begin_at(&mut self, ticks: u64, job_ns: u64) -> Option<CutNumber> {
        let open = self.spans.back_mut().filter(|span| span.to == u64::MAX);
        let (moved, was) = match open {
            Some(span) => {
                let was = span.from;
                span.from = was.max(ticks);
                (span.from_cut, was)
            }
            None => {
                let begins =
                    |(_, planned): &&(CutNumber, Planned)| matches!(planned.change, Change::On(_));
                let (number, planned) = self.ahead.iter().find(begins)?;
                (*number, planned.ticks)
            }
        };

        if was >= ticks {
            return None;
        }
        // The reset of a window lies where the window begins, so it moves with that.
        if self.reset_ticks == was {
            self.reset_job_ns = self.reset_job_ns.max(job_ns);
        }

        for (_, planned) in self
            .ahead
            .iter_mut()
            .filter(|(_, planned)| planned.ticks >= was)
        {
            planned.ticks = planned.ticks.max(ticks);
            planned.job_ns = planned.job_ns.max(job_ns);
        }
        self.settle();
        Some(moved)
    }

    /// Job time is known better than when the changes were planned.
    pub fn retime(&mut self, ticks_of: impl Fn(u64) -> u64) {
        if self.ahead.is_empty() {
            return;
        }
        // The order of changes stays: two that a refined clock would swap come at one tick.
        let mut last = 0;
        for (_, planned) in &mut self.ahead {
            planned.ticks = ticks_of(planned.job_ns).max(last);
            last = planned.ticks;
        }
        self.settle();
    }

    /// When the last of the planned changes takes effect, in job time; nothing without one.
    pub fn planned_until_ns(&self) -> Option<u64> {
        self.ahead.back().map(|(_, planned)| planned.job_ns)
    }

    /// Time has passed.
    pub fn pass(&mut self, now: u64) {
        while self
            .ahead
            .front()
            .is_some_and(|(_, planned)| planned.ticks <= now)
        {
            self.apply();
        }
    }

    /// Something that happened then is known: what was planned for before has taken effect.
    #[inline]
    pub fn reach(&mut self, time: u64) {
        while self
            .ahead
            .front()
            .is_some_and(|(_, planned)| planned.ticks < time)
        {
            self.apply();
        }
    }

    /// The parts of a stretch of time in which recording is on, as far as changes have taken
    /// effect.
    pub fn parts(&self, begin: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        // Nearly always all of it lies in the last span.
        let first = self.spans.iter().rposition(|span| span.from <= begin);
        let spans = self.spans.iter().skip(first.unwrap_or(0));
        let parts = spans.map(move |span| (begin.max(span.from), end.min(span.to)));
        parts.filter(|(begin, end)| begin < end)
    }

    /// The last stretch of a visit in which recording was on; nothing where it was not when the
    /// visit ended: whoever records says when it ends, so that its end is never moved.
    #[inline]
    pub fn last_part(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        if begin >= self.plain.0 && end <= self.plain.1 {
            return Some((begin, end));
        }
        let mut spans = self.spans.iter().rev();
        let span = spans.find(|span| span.from < end)?;
        (end <= span.to).then_some((begin.max(span.from), end))
    }

    /// Whether calls are recorded now.
    pub fn is_on(&self) -> bool {
        self.spans.back().is_some_and(|span| span.to == u64::MAX)
    }

    /// Whether calls are recorded behind all that is planned.
    pub fn will_be_on(&self) -> bool {
        let last = self
            .ahead
            .iter()
            .rev()
            .find(|(_, planned)| planned.change != Change::Reset);
        last.map_or(self.is_on(), |(_, planned)| {
            matches!(planned.change, Change::On(_))
        })
    }

    /// The epoch in which ranks have to record, if they have to: what is recorded now, or will be
    /// soon.
    pub fn wants_records(&self) -> Option<u32> {
        let will_be = || {
            self.ahead
                .iter()
                .find_map(|(_, planned)| match planned.change {
                    Change::On(epoch) => Some(epoch),
                    Change::Reset | Change::Off | Change::End => None,
                })
        };
        if self.is_on() {
            Some(self.epoch)
        } else {
            will_be()
        }
    }

    /// The intervals in which calls are recorded, in ticks, since the last reset, oldest first; the
    /// end of the one that goes on is `u64::MAX`.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        self.spans.iter().map(|span| (span.from, span.to))
    }

    /// How many resets have taken effect. Who keeps anything of calls forgets it when this number
    /// has changed, before the next call.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Where the last reset lay, in job time; 0 without one.
    pub fn reset_job_ns(&self) -> u64 {
        self.reset_job_ns
    }

    /// The cuts that clipped the call which was clipped last: at its begin, and at its end.
    pub fn last_clip(&self) -> (CutNumber, CutNumber) {
        self.last_clip
    }

    /// What a call from `begin` to `end` is.
    #[inline]
    pub fn judge(&mut self, begin: u64, end: u64) -> Verdict {
        // The hot path: two comparisons for a call within the open span.
        if begin >= self.plain.0 && end <= self.plain.1 {
            return Verdict::Whole;
        }
        self.judge_slowly(begin, end)
    }

    #[cold]
    fn judge_slowly(&mut self, begin: u64, end: u64) -> Verdict {
        self.reach(end);
        // Oldest first, and strict at both edges: a call that ends where a span begins is outside.
        let touches = |span: &&Span| begin < span.to && end > span.from;
        let Some(span) = self.spans.iter().find(touches) else {
            return Verdict::Outside;
        };
        let clipped_begin = begin.max(span.from);
        let clipped_end = if span.whole { end } else { end.min(span.to) };
        if (clipped_begin, clipped_end) == (begin, end) {
            return Verdict::Whole;
        }
        self.last_clip = (
            if clipped_begin == begin {
                0
            } else {
                span.from_cut
            },
            if clipped_end == end { 0 } else { span.to_cut },
        );
        Verdict::Clipped {
            begin: clipped_begin,
            end: clipped_end,
        }
    }

    /// The next change takes effect.
    fn apply(&mut self) {
        let Some((number, planned)) = self.ahead.pop_front() else {
            return;
        };
        let Planned {
            job_ns,
            ticks,
            change,
        } = planned;
        match change {
            Change::Reset => {
                // A reset does not switch: what was on begins anew at the cut.
                let on = self.is_on();
                self.spans.clear();
                if on {
                    self.open(ticks, number);
                }
                self.resets += 1;
                self.reset_job_ns = job_ns;
                self.reset_ticks = ticks;
            }
            Change::On(epoch) => {
                // Without a new span where recording is on already: calls across this are not
                // clipped.
                self.epoch = epoch;
                if !self.is_on() {
                    self.open(ticks, number);
                }
            }
            Change::Off | Change::End if self.is_on() => {
                if let Some(last) = self.spans.back_mut() {
                    last.to = ticks;
                    last.to_cut = number;
                    last.whole = change == Change::Off;
                }
                // A span that ended where it began would clip calls to nothing.
                self.spans.retain(|span| span.from < span.to);
            }
            Change::Off | Change::End => {}
        }
        self.settle();
    }

    fn open(&mut self, from: u64, from_cut: CutNumber) {
        self.spans.push_back(Span {
            from,
            from_cut,
            to: u64::MAX,
            to_cut: 0,
            whole: true,
        });
        // The two oldest become one; what was not recorded between them is forgotten with the gap.
        if self.spans.len() > SPANS_MAX
            && let Some(oldest) = self.spans.pop_front()
            && let Some(next) = self.spans.front_mut()
        {
            next.from = oldest.from;
            next.from_cut = oldest.from_cut;
        }
    }

    fn settle(&mut self) {
        let until = self
            .ahead
            .front()
            .map_or(u64::MAX, |(_, planned)| planned.ticks);
        let from = match self.spans.back() {
            Some(last) if last.to == u64::MAX => last.from,
            _ => u64::MAX,
        };
        // `judge` compares with this only: (MAX, ..) sends every call to the slow path while
        // recording is off.
        self.plain = (from, until);
    }
}

#[cfg(test)]
mod tests;
