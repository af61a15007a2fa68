//! Subtracts pauses from the durations of calls: while the job is paused, its calls take no time.
//!
//! Pauses of one rank are disjoint and come in order; all times are ticks of one clock. Mostly
//! there are none, and a call that begins after the last one is told from two numbers. The newest
//! [`PAUSES_MAX`] are kept one by one. Of older ones the sum is kept: a call that began before all
//! of them has them subtracted exactly; one that began in their midst has not, and is told apart.

use alloc::collections::VecDeque;

/// Pauses kept one by one: a call that spans more than so many is rare enough to be told apart.
pub const PAUSES_MAX: usize = 64;

/// The pauses of a rank.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    recent: VecDeque<Interval>,
    /// Begin of the first and end of the last pause that is no longer kept, and how long all of
    /// them were.
    forgotten: Option<(Interval, u64)>,
    /// The pause in force.
    since: Option<u64>,
    /// End of the last pause that is over.
    last_end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    begin: u64,
    end: u64,
}

impl Interval {
    fn overlap(&self, begin: u64, end: u64) -> u64 {
        self.end.min(end).saturating_sub(self.begin.max(begin))
    }
}

/// A duration without pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// Ticks of the call in which the job was not paused.
    pub ticks: u64,
    /// Ticks that were subtracted.
    pub paused: u64,
    /// Whether these are all: false where the call began among pauses that are no longer kept one
    /// by one.
    pub exact: bool,
}

impl Pauses {
    /// A pause begins. One that is in force goes on; one that would begin before the last ended
    /// begins there.
    pub fn begin(&mut self, at: u64) {
        self.since = self.since.or(Some(at.max(self.last_end)));
    }

    /// The pause in force ends; without one nothing happens.
    pub fn end(&mut self, at: u64) {
        let Some(begin) = self.since.take() else {
            return;
        };
        // Clocks of the place may step back by their error; an empty pause is none.
        if at <= begin {
            return;
        }

        // The oldest joins the sum of those that are no longer kept one by one.
        if self.recent.len() == PAUSES_MAX
            && let Some(oldest) = self.recent.pop_front()
        {
            let (span, sum) = self.forgotten.unwrap_or((oldest, 0));
            let span = Interval {
                begin: span.begin,
                end: oldest.end,
            };
            self.forgotten = Some((span, sum + (oldest.end - oldest.begin)));
        }

        self.recent.push_back(Interval { begin, end: at });
        self.last_end = at;
    }

    /// The clock is known to have been `offset` behind: all pauses so far lie that much later.
    pub fn shift(&mut self, offset: i64) {
        let all = self
            .recent
            .iter_mut()
            .chain(self.forgotten.iter_mut().map(|(span, _)| span));
        for interval in all {
            interval.begin = interval.begin.saturating_add_signed(offset);
            interval.end = interval.end.saturating_add_signed(offset);
        }
        self.since = self.since.map(|since| since.saturating_add_signed(offset));
        if self.last_end != 0 {
            self.last_end = self.last_end.saturating_add_signed(offset);
        }
    }

    /// The pauses that are kept one by one, as begin and end, oldest first; one in force ends now.
    pub fn kept(&self, now: u64) -> impl Iterator<Item = (u64, u64)> {
        let recent = self.recent.iter().map(|pause| (pause.begin, pause.end));
        recent.chain(self.since.map(|since| (since, now.max(since))))
    }

    /// How long a call from `begin` to `end` took without the pauses.
    #[inline]
    pub fn net(&self, begin: u64, end: u64) -> Net {
        let ticks = end.saturating_sub(begin);
        // The usual case: no pause since the call began.
        if begin >= self.last_end && self.since.is_none() {
            return Net {
                ticks,
                paused: 0,
                exact: true,
            };
        }
        self.subtract(begin, end.max(begin))
    }

    #[cold]
    fn subtract(&self, begin: u64, end: u64) -> Net {
        let mut paused = self
            .since
            .map_or(0, |since| end.saturating_sub(since.max(begin)));
        // Newest first: what ended before the call began ends the search.
        let touched = self
            .recent
            .iter()
            .rev()
            .take_while(|pause| pause.end > begin);
        paused += touched.map(|pause| pause.overlap(begin, end)).sum::<u64>();
        let mut exact = true;
        if let Some((span, sum)) = self.forgotten
            && span.overlap(begin, end) != 0
        {
            // The sum is exact only for a call around all of them.
            exact = begin <= span.begin && end >= span.end;
            paused += if exact { sum } else { 0 };
        }

        Net {
            ticks: end - begin - paused,
            paused,
            exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Ticks of `begin..end` in which one of all pauses ever was in force, counted one by one.
    fn naive(pauses: &[(u64, u64)], begin: u64, end: u64) -> u64 {
        (begin..end)
            .filter(|tick| pauses.iter().any(|(from, to)| (from..to).contains(&tick)))
            .count() as u64
    }

    /// Disjoint pauses in order, from gaps and lengths.
    fn pauses(most: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..6, 0u64..6), 0..most).prop_map(|steps| {
            let mut at = 3;
            let step = |(gap, length)| {
                let begin = at + gap;
                at = begin + length;
                (begin, at)
            };
            steps.into_iter().map(step).collect()
        })
    }

    proptest! {
        #[test]
        fn what_is_left_equals_a_count_tick_by_tick(
            pauses in pauses(2 * PAUSES_MAX),
            open in prop::option::of(0u64..6),
            calls in prop::collection::vec((0u64..900, 0u64..900), 0..30),
        ) {
            let mut kept = Pauses::default();
            for (begin, end) in &pauses {
                kept.begin(*begin);
                kept.end(*end);
            }

            let mut all = pauses.clone();
            if let Some(gap) = open {
                let since = pauses.last().map_or(0, |last| last.1) + gap;
                kept.begin(since);
                all.push((since, u64::MAX));
            }

            // Pauses of no length are none.
            let real: Vec<_> = pauses.iter().filter(|(begin, end)| begin < end).collect();
            let forgotten = &real[..real.len().saturating_sub(PAUSES_MAX)];
            for (a, b) in calls {
                let (begin, end) = (a.min(b), a.max(b));
                let net = kept.net(begin, end);
                let paused = naive(&all, begin, end);
                prop_assert_eq!(net.ticks + net.paused, end - begin);
                if net.exact {
                    prop_assert_eq!(net.paused, paused);
                } else {
                    prop_assert!(net.paused <= paused);
                    let (first, last) = (forgotten[0], forgotten[forgotten.len() - 1]);
                    prop_assert!(
                        begin < last.1 && end > first.0 && (begin > first.0 || end < last.1)
                    );
                }
                // Calls are looked at when they end, so mostly none of this is inexact.
                if forgotten.is_empty() {
                    prop_assert!(net.exact);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_shifted_clock_has_the_same_pauses(
            pauses in pauses(2 * PAUSES_MAX),
            open: bool,
            offset in 0i64..50,
            back: bool,
            calls in prop::collection::vec((200u64..900, 200u64..900), 0..30),
        ) {
            // So late that no time falls below zero.
            let offset = if back { -offset } else { offset };
            let tell = |by: i64| {
                let mut told = Pauses::default();
                for (begin, end) in &pauses {
                    told.begin((begin + 100).saturating_add_signed(by));
                    told.end((end + 100).saturating_add_signed(by));
                }
                if open {
                    told.begin(1500u64.saturating_add_signed(by));
                }
                told
            };

            let (mut shifted, right) = (tell(0), tell(offset));
            shifted.shift(offset);
            for (a, b) in calls {
                prop_assert_eq!(shifted.net(a.min(b), a.max(b)), right.net(a.min(b), a.max(b)));
            }
        }
    }

    #[test]
    fn a_job_that_was_never_paused() {
        let pauses = Pauses::default();
        assert_eq!(
            pauses.net(5, 25),
            Net {
                ticks: 20,
                paused: 0,
                exact: true
            }
        );
        assert_eq!(
            pauses.net(25, 5),
            Net {
                ticks: 0,
                paused: 0,
                exact: true
            }
        );
    }

    #[test]
    fn a_receive_that_waited_through_a_pause() {
        let mut pauses = Pauses::default();
        pauses.begin(100);
        assert_eq!(
            pauses.net(90, 150),
            Net {
                ticks: 10,
                paused: 50,
                exact: true
            }
        );
        pauses.begin(120);
        pauses.end(200);
        pauses.end(999);
        assert_eq!(
            pauses.net(90, 230),
            Net {
                ticks: 40,
                paused: 100,
                exact: true
            }
        );
        assert_eq!(
            pauses.net(200, 230),
            Net {
                ticks: 30,
                paused: 0,
                exact: true
            }
        );
    }

    #[test]
    fn of_a_call_older_than_everything_kept_all_is_subtracted() {
        let mut pauses = Pauses::default();
        let count = 5 * PAUSES_MAX as u64;
        for n in 1..=count {
            pauses.begin(10 * n);
            pauses.end(10 * n + 4);
        }
        assert_eq!(pauses.net(0, 100_000).paused, 4 * count);
        assert!(pauses.net(0, 100_000).exact && !pauses.net(15, 100_000).exact);
        assert!(pauses.recent.len() == PAUSES_MAX);
    }
}
