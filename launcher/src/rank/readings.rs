//! Readings of metrics that are sent together. Each message wakes the place, which looks around for
//! more before it sleeps again: at full cores that takes more of the ranks' time than the readings.

use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::metrics::Reading;
use std::collections::VecDeque;

/// From one time at which they are sent to the next. These times are the same for all supervisors
/// of a node, so that the place is woken once for all of them.
const BURST_NS: u64 = 250_000_000;
/// Readings that are kept: more than there are in that time at the shortest interval.
const KEPT_MAX: usize = 64;

/// Readings that have not been sent, as messages.
#[derive(Default)]
pub struct Readings {
    kept: VecDeque<FromSupervisor>,
    /// When the last one was read.
    last_ns: u64,
    /// The same of the last one that was sent.
    sent_ns: u64,
}

impl Readings {
    /// Keeps one more. Of too many the oldest goes: later ones have its values, too.
    pub fn keep(&mut self, reading: Reading) {
        if self.kept.len() >= KEPT_MAX {
            self.kept.pop_front();
        }
        self.last_ns = reading.at_ns;
        self.kept.push_back(FromSupervisor::Measured(reading));
    }

    /// Whether it is time to send them.
    pub fn are_due(&self) -> bool {
        !self.kept.is_empty() && self.last_ns / BURST_NS > self.sent_ns / BURST_NS
    }

    /// All of them, the oldest first, to be sent.
    pub fn take(&mut self) -> VecDeque<FromSupervisor> {
        std::mem::take(&mut self.kept)
    }

    /// They were sent, but for these: the place had no room. They are tried with the next.
    pub fn sent_but(&mut self, rest: VecDeque<FromSupervisor>) {
        if rest.is_empty() {
            self.sent_ns = self.last_ns;
        }
        self.kept = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn reading(at_ns: u64) -> Reading {
        Reading {
            measuring: 1,
            at_ns,
            cost_ns: 0,
            unseen: 0,
            system: Vec::new(),
            program: Vec::new(),
        }
    }

    fn times(messages: &VecDeque<FromSupervisor>) -> Vec<u64> {
        let time = |message: &FromSupervisor| match message {
            FromSupervisor::Measured(reading) => reading.at_ns / MS,
            other => panic!("{other:?}"),
        };
        messages.iter().map(time).collect()
    }

    /// When which readings are sent.
    fn sent(all_ms: impl Iterator<Item = u64>) -> Vec<Vec<u64>> {
        let mut readings = Readings::default();
        let mut sent = Vec::new();
        for ms in all_ms {
            readings.keep(reading(ms * MS));
            if readings.are_due() {
                sent.push(times(&readings.take()));
                readings.sent_but(VecDeque::new());
            }
        }
        sent
    }

    #[test]
    fn readings_are_sent_four_times_a_second_at_most() {
        let every = |ms: usize| sent((1000..2001).step_by(ms));
        assert_eq!(
            every(100),
            [
                &[1000][..],
                &[1100, 1200, 1300],
                &[1400, 1500],
                &[1600, 1700, 1800],
                &[1900, 2000],
            ]
        );
        let lengths: Vec<usize> = every(10).iter().map(Vec::len).collect();
        assert_eq!(lengths, [1, 25, 25, 25, 25]);
        assert_eq!(every(500), [[1000], [1500], [2000]]);
    }

    #[test]
    fn what_finds_no_room_comes_with_the_next() {
        let mut readings = Readings::default();
        for ms in [1000, 1001, 1002] {
            readings.keep(reading(ms * MS));
        }
        let mut taken = readings.take();
        taken.pop_front();
        readings.sent_but(taken);
        assert!(readings.are_due(), "still");
        readings.keep(reading(1003 * MS));
        let taken = readings.take();
        assert_eq!(times(&taken), [1001, 1002, 1003]);
        readings.sent_but(VecDeque::new());
        readings.keep(reading(1004 * MS));
        assert!(!readings.are_due());

        for ms in 1005..1200 {
            readings.keep(reading(ms * MS));
        }
        let newest: Vec<u64> = (1200 - KEPT_MAX as u64..1200).collect();
        assert_eq!(times(&readings.take()), newest);
    }

    proptest! {
        #[test]
        fn none_is_left_out_or_waits_for_long(
            steps in prop::collection::vec(1u64..400, 1..200),
        ) {
            let mut now_ms = 5000;
            let all: Vec<u64> = steps.iter().map(|step| { now_ms += step; now_ms }).collect();
            let sent = sent(all.iter().copied());
            let flat: Vec<u64> = sent.concat();
            prop_assert_eq!(&flat[..], &all[..flat.len()]);
            prop_assert!(all.len() - flat.len() <= 250, "what is left is of one burst");
            for burst in sent {
                let (first, last) = (burst[0], burst[burst.len() - 1]);
                // The reading with which they are sent may come late.
                let before = burst[burst.len().saturating_sub(2)];
                prop_assert!(before - first < BURST_NS / MS, "{} to {}", first, last);
            }
        }
    }
}
