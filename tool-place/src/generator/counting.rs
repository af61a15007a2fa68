//! Generates samples for tests: counts a location's calls, and stores the counts at every nth call.
//!
//! It keeps to the halvings that the rank says that it knows of, as a sampler in the rank has to:
//! until the rank has heard of one, samples come too often.

use invivo_otfx::{Buffer, Grid, Sample};
use invivo_proto::record::Call;
use std::num::NonZeroU64;

/// The calling context of its samples: none.
const CONTEXT: u32 = 0;

/// Makes up the samples of one location.
#[derive(Clone, Debug)]
pub struct Generator {
    grid: Grid,
    calls: u64,
    bytes_out: u64,
}

impl Generator {
    /// One sample for so many calls, until the rank has heard otherwise.
    pub fn new(every: NonZeroU64) -> Generator {
        Generator {
            grid: Grid::new(every.get()),
            calls: 0,
            bytes_out: 0,
        }
    }

    /// One sample for so many calls, where any are asked for.
    pub fn every(calls: Option<NonZeroU64>) -> Option<Generator> {
        calls.map(Generator::new)
    }

    /// Counts a call that was stored, and stores the sample that is due with it, at its end.
    pub fn count(&mut self, call: &Call, buffer: &mut Buffer) {
        self.calls += 1;
        self.bytes_out = self.bytes_out.wrapping_add(call.facts.bytes_out);
        let Some(ordinal) = self.grid.take(self.calls) else {
            return;
        };
        buffer.store_sample(&Sample {
            time: call.end,
            ordinal,
            context: CONTEXT,
            values: &[self.calls, self.bytes_out],
        });
    }

    /// So many halvings the rank knows of.
    pub fn hear(&mut self, halvings: u32) {
        self.grid.set_halvings(halvings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_otfx::{Dimension, EventClass, Head, Strategy};
    use invivo_proto::record::Facts;

    const CALLS: u64 = 3_000_000;

    /// Generates samples of a long run for a generator that hears after so many calls, and gives
    /// the buffer and how many samples came in vain.
    fn thinned(heard_after: u64) -> (Buffer, u64) {
        let mut buffer =
            Buffer::new(1 << 20, Strategy::by(Dimension::Ordinal { levels: 16 })).unwrap();
        let mut generator = Generator::new(NonZeroU64::new(3).unwrap());
        for number in 1..=CALLS {
            let call = Call {
                facts: Facts {
                    bytes_out: 1000,
                    ..Facts::default()
                },
                end: 500 * number,
                ..Call::default()
            };
            generator.count(&call, &mut buffer);
            if number % heard_after == 0 {
                generator.hear(buffer.halvings());
            }
        }
        let halvings = buffer.halvings();
        assert!(halvings >= 3, "{halvings}");
        let mut due = (1 << halvings..=CALLS / 3).step_by(1 << halvings);
        let mut reader = buffer.read();
        while let Some(read) = reader.next().unwrap() {
            let number = due.next().expect("no more than the grid has");
            let head = Head::Sample {
                time: 500 * 3 * number,
                ordinal: number,
                context: CONTEXT,
            };
            assert_eq!(
                (read.head, &read.values[..]),
                (head, &[3 * number, 3000 * number][..])
            );
        }
        assert_eq!(due.next(), None);
        assert_eq!(buffer.ledger_of(EventClass::Sample), buffer.ledger());
        let closed = invivo_otfx::Reason::Closed;
        let in_vain = buffer.losses().filter(|loss| loss.reason == closed);
        let in_vain = in_vain.map(|loss| loss.records).sum();
        (buffer, in_vain)
    }

    /// What is left lies evenly over the whole run and says what was counted there; the sooner the
    /// producer hears, the fewer samples are made in vain.
    #[test]
    fn the_buffer_thins_what_is_generated() {
        let (at_once, in_vain) = thinned(1);
        assert!(in_vain <= u64::from(at_once.halvings()), "{in_vain}");
        let (late, in_vain) = thinned(50_000);
        assert_eq!(late.halvings(), at_once.halvings());
        assert!((1000..100_000).contains(&in_vain), "{in_vain}");
    }
}
