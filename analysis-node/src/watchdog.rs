//! The watchdog: queries periodically what the ranks wait for, and reports a job without progress.
//!
//! It reports one sentence, and never intervenes.
//!
//! Pure: time is an argument, a sentence comes out.

use invivo_proto::control::hang::{Diagnosis, Doing, Hang, Verdict};

/// Queries within the time after which a job counts as hanging: the report is late by a quarter of
/// that time at most.
const LOOKS: u64 = 4;
/// Between two looks, in ns: no more often, however short the time, as ranks are looked at from
/// outside for it; and no less often, so that what is said is said soon.
const EVERY_NS: std::ops::RangeInclusive<u64> = 250_000_000..=2_000_000_000;

/// What was asked, found and reported last.
pub struct Watchdog {
    after_ns: u64,
    next_ns: u64,
    /// A question is under way.
    asking: bool,
    /// What the last query found. Ranks get stuck one after the other: what is found in between is
    /// soon not true.
    found: Option<String>,
    /// The report of the present situation.
    said: Option<String>,
    /// The last report.
    last: Option<String>,
}

impl Watchdog {
    /// One that speaks when nothing has moved for `after_ns`; 0 never does.
    pub fn new(now_ns: u64, after_ns: u64) -> Watchdog {
        Watchdog {
            after_ns,
            next_ns: now_ns.saturating_add(after_ns),
            asking: false,
            found: None,
            said: None,
            last: None,
        }
    }

    /// Whether it is time to ask; if so, for ranks that have done nothing new for how long, in ns.
    pub fn asks(&mut self, now_ns: u64) -> Option<u64> {
        if self.after_ns == 0 || self.asking || now_ns < self.next_ns {
            return None;
        }
        self.asking = true;
        // From the query's time, not the answer's: a slow answer does not put off the next query.
        let every_ns = (self.after_ns / LOOKS).clamp(*EVERY_NS.start(), *EVERY_NS.end());
        self.next_ns = now_ns.saturating_add(every_ns);
        Some(self.after_ns)
    }

    /// Nobody answered; it asks again when it is time.
    pub fn unanswered(&mut self) {
        self.asking = false;
    }

    /// Takes an answer; gives the line to report, if there is something new to report.
    pub fn hears(&mut self, diagnosis: &Diagnosis, waits: &Hang) -> Option<String> {
        self.asking = false;
        if !self.is_still(diagnosis, waits) {
            // The job moved: the same situation later is a new one, and is reported again.
            (self.found, self.said) = (None, None);
            return None;
        }
        let found = Some(diagnosis.sentence.clone());
        let is_sure = self.found == found;
        self.found = found;
        if !is_sure || self.said == self.found {
            return None;
        }
        self.said = self.found.clone();
        let quiet_ns = if diagnosis.quiet_ns >= self.after_ns {
            diagnosis.quiet_ns
        } else {
            self.after_ns
        };
        let whose = if diagnosis.quiet_ns >= self.after_ns {
            ""
        } else {
            " on some ranks"
        };

        let seconds = quiet_ns as f64 / 1e9;
        let line = format!(
            "no progress{whose} for {seconds:.1} s: {}",
            diagnosis.sentence
        );
        self.last = Some(line.clone());
        Some(line)
    }

    /// The last report.
    pub fn last_words(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Whether the job hangs. It does when some ranks can never go on, whatever the others do.
    /// Else all ranks must have done nothing for so long; and where all of them compute, or we hold
    /// them ourselves, nothing is the matter.
    fn is_still(&self, diagnosis: &Diagnosis, waits: &Hang) -> bool {
        // Deadlock needs no quiet time: the wait-for graph shows that those ranks never go on.
        let has = |is_such: fn(&Doing) -> bool| waits.classes.keys().any(is_such);
        let quiet = diagnosis.quiet_ns >= self.after_ns && !has(|doing| *doing == Doing::Held);
        match diagnosis.verdict {
            Verdict::Deadlock => true,
            Verdict::Waiting => quiet,
            Verdict::Moving => quiet && !has(|doing| *doing == Doing::Computing),
            Verdict::Computing => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::hang::RankClass;
    use invivo_proto::ids::RegionId;

    const S: u64 = 1_000_000_000;

    fn diagnosis(verdict: Verdict, quiet_ns: u64) -> Diagnosis {
        Diagnosis {
            verdict,
            sentence: format!("{verdict:?}"),
            quiet_ns,
            ..Diagnosis::default()
        }
    }

    fn waits(doing: &[Doing]) -> Hang {
        Hang {
            classes: doing
                .iter()
                .map(|&doing| (doing, RankClass::default()))
                .collect(),
            ..Hang::default()
        }
    }

    #[test]
    fn it_asks_four_times_and_waits_for_answers() {
        let mut dog = Watchdog::new(0, 4 * S);
        assert_eq!(dog.asks(4 * S - 1), None);
        assert_eq!(dog.asks(4 * S), Some(4 * S));
        assert_eq!(dog.asks(9 * S), None, "one question at a time");
        dog.unanswered();
        assert_eq!(dog.asks(9 * S), Some(4 * S));
        dog.unanswered();
        assert_eq!(dog.asks(10 * S - 1), None);
        assert_eq!(dog.asks(10 * S), Some(4 * S));
        assert_eq!(Watchdog::new(0, 0).asks(u64::MAX), None, "off");
    }

    #[test]
    fn a_situation_is_told_once() {
        let mut dog = Watchdog::new(0, 4 * S);
        let stuck = diagnosis(Verdict::Deadlock, S);
        let some = waits(&[Doing::Computing]);
        let line = "no progress on some ranks for 4.0 s: Deadlock";
        assert_eq!(dog.hears(&stuck, &some), None, "it may be half of it");
        assert_eq!(dog.hears(&stuck, &some).as_deref(), Some(line));
        assert_eq!(dog.hears(&stuck, &some), None);
        assert_eq!(dog.hears(&diagnosis(Verdict::Computing, S), &some), None);
        assert_eq!(dog.hears(&stuck, &some), None, "it moved in between");
        assert_eq!(dog.hears(&stuck, &some).as_deref(), Some(line));
        assert_eq!(dog.last_words(), Some(line));
    }

    #[test]
    fn healthy_states_are_reported_only_without_any_progress() {
        let computing = waits(&[Doing::Computing]);
        let inside = waits(&[Doing::InMpi(RegionId(1))]);
        let held = waits(&[Doing::InMpi(RegionId(1)), Doing::Held]);
        for (verdict, quiet_ns, waits, says) in [
            (Verdict::Computing, 9 * S, &computing, false),
            (Verdict::Waiting, 9 * S, &computing, true),
            (Verdict::Waiting, 3 * S, &computing, false),
            (Verdict::Moving, 9 * S, &inside, true),
            (Verdict::Moving, 3 * S, &inside, false),
            (Verdict::Moving, 9 * S, &computing, false),
            (Verdict::Moving, 9 * S, &held, false),
        ] {
            let mut dog = Watchdog::new(0, 4 * S);
            dog.hears(&diagnosis(verdict, quiet_ns), waits);
            let said = dog.hears(&diagnosis(verdict, quiet_ns), waits);
            assert_eq!(said.is_some(), says, "{verdict:?} {quiet_ns}");
        }
    }
}
