//! Numbers the samples of each thread, in units of the first interval.
//!
//! After k halvings of the frequency a sample stands for 2^k of those intervals, and has a number
//! that is a multiple of 2^k: those that were taken before and after a halving can be told apart by
//! their numbers alone, and some of the former be left out as if they had been taken more seldom.

use std::collections::BTreeMap;

/// More halvings count as these: the numbers have so many bits.
const HALVINGS_MAX: u32 = 63;
/// The longest interval that the kernel takes, in ns.
const PERIOD_NS_MAX: u64 = i64::MAX as u64;

/// The number of each thread's last sample, by how often samples are taken.
#[derive(Default)]
pub struct Ordinals {
    frequency: u32,
    halvings: u32,
    last: BTreeMap<i32, u64>,
}

impl Ordinals {
    /// Samples are taken so often a second from now on, and that halved so often. Of another
    /// frequency the unit is another: all numbers begin anew.
    pub fn set(&mut self, frequency: u32, halvings: u32) {
        if self.is_other(frequency) {
            self.last.clear();
        }
        (self.frequency, self.halvings) = (frequency, halvings.min(HALVINGS_MAX));
    }

    /// Whether numbers begin anew with this frequency.
    pub fn is_other(&self, frequency: u32) -> bool {
        frequency != self.frequency
    }

    /// The number of a thread's last sample, when it got so many more of them.
    pub fn advance(&mut self, tid: i32, samples: u64) -> u64 {
        let last = self.last.entry(tid).or_default();
        let steps = (*last >> self.halvings).saturating_add(samples);
        if samples > 0 {
            *last = steps.min(u64::MAX >> self.halvings) << self.halvings;
        }
        *last
    }

    /// Forgets all threads but these.
    pub fn keep(&mut self, is_kept: impl Fn(i32) -> bool) {
        self.last.retain(|tid, _| is_kept(*tid));
    }

    /// How often the frequency is halved.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// From one sample to the next, in ns.
    pub fn period_ns(&self) -> u64 {
        let unit = 1_000_000_000 / u128::from(self.frequency.max(1));
        let halved = u64::try_from(unit << self.halvings);
        halved.unwrap_or(PERIOD_NS_MAX).min(PERIOD_NS_MAX)
    }

    /// Samples a second, at least 1.
    pub fn frequency(&self) -> u32 {
        let halved = self.frequency.checked_shr(self.halvings);
        halved.unwrap_or(0).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens to a sampler.
    #[derive(Clone, Debug)]
    enum Event {
        Set(u32, u32),
        Samples(i32, u64),
        Keep(i32),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            1 => (1u32..4, 0u32..6).prop_map(|(hertz, halvings)| Event::Set(hertz, halvings)),
            6 => (0i32..3, 0u64..5).prop_map(|(tid, samples)| Event::Samples(tid, samples)),
            1 => (0i32..3).prop_map(Event::Keep),
        ]
    }

    proptest! {
        /// Against one that looks for the next multiple, one number after the other.
        #[test]
        fn each_sample_has_the_next_multiple(
            events in prop::collection::vec(event(), 0..60),
        ) {
            let mut ordinals = Ordinals::default();
            let (mut frequency, mut unit) = (0, 1u64);
            let mut naive = [0u64; 3];
            for event in events {
                match event {
                    Event::Set(new, halvings) => {
                        ordinals.set(new, halvings);
                        if new != frequency {
                            naive = [0; 3];
                        }
                        (frequency, unit) = (new, 2u64.pow(halvings));
                    }
                    Event::Samples(tid, samples) => {
                        let last = &mut naive[tid as usize];
                        for _ in 0..samples {
                            *last += 1;
                            while *last % unit != 0 {
                                *last += 1;
                            }
                        }
                        prop_assert_eq!(ordinals.advance(tid, samples), *last);
                    }
                    Event::Keep(kept) => {
                        ordinals.keep(|tid| tid == kept);
                        for (tid, last) in naive.iter_mut().enumerate() {
                            *last *= u64::from(tid == kept as usize);
                        }
                    }
                }
            }
        }

        #[test]
        fn no_number_overflows(
            frequency: u32, halvings: u32, steps in prop::collection::vec(any::<u64>(), 1..9),
        ) {
            let mut ordinals = Ordinals::default();
            ordinals.set(frequency, halvings);
            let mut last = 0;
            for samples in steps {
                let now = ordinals.advance(1, samples);
                prop_assert!(now >= last && now.trailing_zeros() >= halvings.min(63));
                last = now;
            }
            let is_period = (1..=PERIOD_NS_MAX).contains(&ordinals.period_ns());
            prop_assert!(is_period || frequency > 1_000_000_000);
            prop_assert!(ordinals.frequency() >= 1);
        }
    }

    #[test]
    fn a_halving_doubles_the_interval() {
        let mut ordinals = Ordinals::default();
        for (frequency, halvings, period_ns, effective) in [
            (1000, 0, 1_000_000, 1000),
            (1000, 2, 4_000_000, 250),
            (3, 1, 666_666_666, 1),
            (1000, 12, 4_096_000_000, 1),
            (1000, 70, PERIOD_NS_MAX, 1),
        ] {
            ordinals.set(frequency, halvings);
            let told = (ordinals.period_ns(), ordinals.frequency());
            assert_eq!(told, (period_ns, effective), "{frequency} {halvings}");
        }
    }
}
