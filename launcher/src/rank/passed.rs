//! Which samples one by one were passed on to the place: what it does not read in time is lost, and
//! counted.

use invivo_proto::control::local::FromSupervisor;
use std::collections::VecDeque;

/// What of samples could be passed on.
#[derive(Debug, Default)]
pub struct Passed {
    /// Contexts that the place has not taken yet. It cannot understand samples without them, and a
    /// sampler has no more of them than it numbers.
    waiting: VecDeque<FromSupervisor>,
    /// Samples that the sampler has left out.
    left_out: u64,
    /// Samples that were not passed on, and those that samplers which are gone have left out.
    lost: u64,
}

impl Passed {
    /// Another sampler is about to begin, with other contexts.
    pub fn begin_anew(&mut self) {
        self.waiting.clear();
        self.lost = self.lost.saturating_add(std::mem::take(&mut self.left_out));
    }

    /// Passes on a message of the sampler, or what the place takes of it and of what waits: `give`
    /// says whether it took a message.
    pub fn pass(&mut self, message: FromSupervisor, mut give: impl FnMut(&FromSupervisor) -> bool) {
        let samples = match message {
            FromSupervisor::Samples { .. } => Some(message),
            contexts => {
                self.waiting.push_back(contexts);
                None
            }
        };
        while self.waiting.front().is_some_and(&mut give) {
            self.waiting.pop_front();
        }
        if let Some(samples) = samples {
            self.pass_samples(samples, give);
        }
    }

    /// Completes samples with what was lost before them.
    fn pass_samples(
        &mut self,
        mut message: FromSupervisor,
        give: impl FnOnce(&FromSupervisor) -> bool,
    ) {
        let FromSupervisor::Samples {
            left_out, taken, ..
        } = &mut message
        else {
            return;
        };
        let samples = u64::try_from(taken.len()).unwrap_or(u64::MAX);
        self.left_out = *left_out;
        *left_out = left_out.saturating_add(self.lost);
        let is_understood = self.waiting.is_empty();
        if !(is_understood && give(&message)) {
            self.lost = self.lost.saturating_add(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::contexts::{Context, Taken};
    use invivo_proto::control::stacks::Frame;
    use proptest::prelude::*;

    fn samples(left_out: u64, samples: usize) -> FromSupervisor {
        FromSupervisor::Samples {
            tid: 1,
            halvings: 0,
            left_out,
            taken: vec![Taken::default(); samples],
        }
    }

    fn contexts(first: u32, count: usize) -> FromSupervisor {
        let one = Context {
            parent: 0,
            frame: Frame::Lost,
        };
        let contexts = vec![one; count];
        FromSupervisor::Contexts { first, contexts }
    }

    proptest! {
        /// All that samplers took is told to the place or counted, whatever it takes; and it never
        /// gets samples before the contexts that were met before them.
        #[test]
        fn what_is_not_passed_on_is_counted(
            events in prop::collection::vec(
                (0u8..9, 1usize..5, 0u64..3, any::<[bool; 2]>()),
                0..60,
            ),
        ) {
            let mut passed = Passed::default();
            let (mut told, mut left_out, mut before) = (0, 0, 0);
            let (mut all, mut met, mut known) = (0, 0, 0);
            for (kind, count, more, [takes_contexts, takes_samples]) in events {
                let message = match kind {
                    0 => {
                        passed.begin_anew();
                        (before, left_out) = (before + left_out, 0);
                        (met, known) = (0, 0);
                        continue;
                    }
                    1 | 2 => {
                        met += count;
                        contexts((met - count + 1) as u32, count)
                    }
                    _ => {
                        left_out += more;
                        samples(left_out, count)
                    }
                };
                let is_samples = matches!(message, FromSupervisor::Samples { .. });
                let mut is_told = false;
                passed.pass(message, |message| match message {
                    FromSupervisor::Contexts { first, contexts } => {
                        assert_eq!(*first as usize, known + 1, "in their order");
                        known += if takes_contexts { contexts.len() } else { 0 };
                        takes_contexts
                    }
                    FromSupervisor::Samples { left_out: gone, .. } => {
                        assert_eq!(known, met, "behind their contexts");
                        assert_eq!(told + gone, all + before + left_out);
                        is_told = takes_samples;
                        takes_samples
                    }
                    _ => panic!("another message"),
                });
                if takes_contexts {
                    prop_assert_eq!(known, met, "they come as soon as they are taken");
                }
                if is_samples {
                    all += count as u64;
                    told += if is_told { count as u64 } else { 0 };
                }
            }
        }
    }
}
