//! Which samples one by one were passed on to the place: what it does not read in time is lost, and
//! counted.

use invivo_proto::control::local::FromSupervisor;

/// What of samples could be passed on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    /// Contexts are missing at the place: it cannot understand what comes after them.
    is_cut: bool,
    /// Samples that the sampler has left out.
    left_out: u64,
    /// Samples that were not passed on, and those that samplers which are gone have left out.
    lost: u64,
}

impl Passed {
    /// Another sampler is about to begin, with other contexts.
    pub fn begin_anew(&mut self) {
        self.is_cut = false;
        self.lost = self.lost.saturating_add(std::mem::take(&mut self.left_out));
    }

    /// Completes a message of the sampler with what was lost before; false where it is of no use to
    /// the place.
    pub fn prepare(&mut self, message: &mut FromSupervisor) -> bool {
        if let FromSupervisor::Samples { left_out, .. } = message {
            self.left_out = *left_out;
            *left_out = left_out.saturating_add(self.lost);
        }
        if self.is_cut {
            self.note(message, false);
        }
        !self.is_cut
    }

    /// Notes whether the place has taken a message.
    pub fn note(&mut self, message: &FromSupervisor, is_taken: bool) {
        match message {
            FromSupervisor::Samples { taken, .. } if !is_taken => {
                let samples = u64::try_from(taken.len()).unwrap_or(u64::MAX);
                self.lost = self.lost.saturating_add(samples);
            }
            FromSupervisor::Contexts { .. } => self.is_cut |= !is_taken,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::contexts::Taken;
    use proptest::prelude::*;

    fn samples(left_out: u64, samples: usize) -> FromSupervisor {
        FromSupervisor::Samples {
            tid: 1,
            halvings: 0,
            left_out,
            taken: vec![Taken::default(); samples],
        }
    }

    fn contexts(first: u32) -> FromSupervisor {
        let contexts = Vec::new();
        FromSupervisor::Contexts { first, contexts }
    }

    proptest! {
        /// All that samplers took is told to the place or counted, whatever it takes.
        #[test]
        fn what_is_not_passed_on_is_counted(
            events in prop::collection::vec((0u8..9, 0usize..5, 0u64..3, any::<bool>()), 0..60),
        ) {
            let mut passed = Passed::default();
            let (mut told, mut left_out, mut before) = (0, 0, 0);
            let (mut all, mut is_cut) = (0, false);
            for (kind, count, more, is_taken) in events {
                let mut message = match kind {
                    0 => {
                        passed.begin_anew();
                        (before, left_out, is_cut) = (before + left_out, 0, false);
                        continue;
                    }
                    1 | 2 => contexts(1),
                    _ => {
                        left_out += more;
                        samples(left_out, count)
                    }
                };
                let is_passed = passed.prepare(&mut message);
                prop_assert_eq!(is_passed, !is_cut);
                if let FromSupervisor::Samples { left_out: is_told, .. } = message {
                    prop_assert_eq!(told + is_told, all + before + left_out);
                    all += count as u64;
                    told += if is_passed && is_taken { count as u64 } else { 0 };
                } else {
                    is_cut |= !is_taken;
                }
                if is_passed {
                    passed.note(&message, is_taken);
                }
            }
        }
    }
}
