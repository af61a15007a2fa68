//! How values are distributed: how many of them lie in each of some bins that are wider for larger
//! values. A value is known to a sixteenth, wherever it lies; where bins would be too many, two
//! become one.
//!
//! Bins 0 to 31 hold one value each, then sixteen make an octave: the layout of HdrHistogram
//! (Tene), coarsened as UDDSketch does (Epicoco et al. 2020), so that a sum is the same in every
//! order.

use alloc::vec::Vec;
use bincode::de::{Decode, Decoder};
use bincode::error::DecodeError;
use bincode::{Decode as DeriveDecode, Encode};
use serde::{Deserialize, Serialize};

/// Bins of an octave, as a power of two.
const OCTAVE_BITS: u32 = 4;
/// Bins there are before any become one.
pub const NUMBERS: u16 = 976;
/// The most bins that a histogram has.
pub const BINS_MAX: usize = 128;
/// Twice as wide so often, all values are in one bin.
const COARSE_MAX: u8 = 10;

/// The bin of a value, where none have become one.
#[inline(always)]
pub fn number(value: u64) -> u16 {
    // Below two octaves of sixteen, bins hold one value.
    let octave = (value | 1 << OCTAVE_BITS).ilog2() - OCTAVE_BITS;
    ((octave << OCTAVE_BITS) as u64 + (value >> octave)) as u16
}

/// The least value in a bin; of the one behind the last, the greatest of all.
pub fn least(number: u16) -> u64 {
    if number >= NUMBERS {
        return u64::MAX;
    }
    let octave = u32::from(number >> OCTAVE_BITS).saturating_sub(1);
    (u64::from(number) - u64::from(octave << OCTAVE_BITS)) << octave
}

/// Values from `least` to `most`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub least: u64,
    pub most: u64,
    /// How many.
    pub count: u64,
}

/// How many values lie in which bins; those that hold none are not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Histogram {
    /// How often bins have become twice as wide, and then of each bin the step from the one before
    /// and how many it holds, both as LEB128. Nothing where there are no values.
    packed: Vec<u8>,
}

/// Of durations and sizes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, DeriveDecode, Serialize, Deserialize)]
pub struct Distribution {
    /// How long calls took, in ns.
    pub durations: Histogram,
    /// The shortest of these, in ns; `u64::MAX` of none.
    pub shortest_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
    /// What operations moved, in bytes: each once, the larger of what the rank sent and received
    /// in it. Messages may be empty; other operations that move nothing have none.
    pub sizes: Histogram,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution {
            durations: Histogram::default(),
            shortest_ns: u64::MAX,
            longest_ns: 0,
            sizes: Histogram::default(),
        }
    }
}

impl Histogram {
    /// Of bins in order, each with at least one value, of which 2^`coarse` are one; more than
    /// [`BINS_MAX`] are made coarser.
    pub fn new(mut coarse: u8, mut bins: Vec<(u16, u64)>) -> Histogram {
        while bins.len() > BINS_MAX {
            coarse += 1;
            halve(&mut bins);
        }
        let mut packed = Vec::new();
        let mut before = 0;
        for (number, count) in bins {
            if packed.is_empty() {
                packed.push(coarse);
            }
            push(&mut packed, u64::from(number - before));
            push(&mut packed, count);
            before = number;
        }
        // They stay for long.
        packed.shrink_to_fit();
        Histogram { packed }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.packed.len()
    }

    /// How often bins have become twice as wide.
    pub fn coarse(&self) -> u8 {
        self.packed.first().copied().unwrap_or(0)
    }

    /// Numbers of bins as they are, in order, and how many values each holds.
    pub fn numbers(&self) -> impl Iterator<Item = (u16, u64)> {
        let (mut at, mut number) = (1, 0_u16);
        core::iter::from_fn(move || {
            let step = crate::varint::get(&self.packed, &mut at).ok()?;
            let count = crate::varint::get(&self.packed, &mut at).ok()?;
            number = number.saturating_add(u16::try_from(step).unwrap_or(u16::MAX));
            Some((number, count))
        })
    }

    /// The bins, from small to large values.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        let coarse = u32::from(self.coarse());
        // Beyond the last number lies nothing.
        let edge = move |number: u32| least((number << coarse).min(u32::from(NUMBERS)) as u16);
        self.numbers().map(move |(number, count)| Bin {
            least: edge(number.into()),
            most: match edge(u32::from(number) + 1) {
                u64::MAX => u64::MAX,
                next => next - 1,
            },
            count,
        })
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        let counts = self.numbers().map(|(_, count)| count);
        counts.fold(0, u64::saturating_add)
    }
}

/// Two neighbours become one.
fn halve(bins: &mut Vec<(u16, u64)>) {
    for bin in bins.iter_mut() {
        bin.0 >>= 1;
    }
    bins.dedup_by(|next, into| {
        let is_same = next.0 == into.0;
        if is_same {
            into.1 = into.1.saturating_add(next.1);
        }
        is_same
    });
}

fn push(packed: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        packed.push(value as u8 | 0x80);
        value >>= 7;
    }
    packed.push(value as u8);
}

/// Bytes that are no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHistogram;

impl core::fmt::Display for NoHistogram {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no histogram: bins out of order, beyond the last, empty or too many")
    }
}

impl TryFrom<Vec<u8>> for Histogram {
    type Error = NoHistogram;

    fn try_from(packed: Vec<u8>) -> Result<Histogram, NoHistogram> {
        let given = Histogram { packed };
        if given.coarse() > COARSE_MAX {
            return Err(NoHistogram);
        }
        let last = (NUMBERS - 1) >> given.coarse();
        let bins: Vec<(u16, u64)> = given.numbers().take(BINS_MAX + 1).collect();
        let is_sound = bins.is_sorted_by(|a, b| a.0 < b.0)
            && bins
                .iter()
                .all(|&(number, count)| number <= last && count > 0);
        // Whatever is behind the bins, or written in more bytes than it takes, is not the same.
        match is_sound && Histogram::new(given.coarse(), bins) == given {
            true => Ok(given),
            false => Err(NoHistogram),
        }
    }
}

impl From<Histogram> for Vec<u8> {
    fn from(histogram: Histogram) -> Vec<u8> {
        histogram.packed
    }
}

impl<Context> Decode<Context> for Histogram {
    fn decode<D: Decoder<Context = Context>>(decoder: &mut D) -> Result<Histogram, DecodeError> {
        let packed: Vec<u8> = Decode::decode(decoder)?;
        Histogram::try_from(packed).map_err(|_| DecodeError::Other("no histogram"))
    }
}
bincode::impl_borrow_decode!(Histogram);

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn bins_lie_side_by_side_and_hold_a_sixteenth() {
        let mut next = 0;
        for of in 0..NUMBERS {
            let (from, behind) = (least(of), least(of + 1));
            assert_eq!(from, next, "{of}");
            assert_eq!((number(from), number(behind - 1)), (of, of));
            assert!(behind - from <= (from / 16).max(1), "{of}");
            next = behind;
        }
        assert_eq!(number(u64::MAX), NUMBERS - 1);
    }

    #[test]
    fn what_is_decoded_is_a_histogram() {
        let of = Histogram::new(1, vec![(3, 1), (7, 300), (NUMBERS / 2 - 1, u64::MAX)]);
        let bytes = crate::control::encode(&of).unwrap();
        let read: Histogram = crate::control::decode(&bytes).unwrap();
        assert_eq!(read, of);
        assert_eq!(read.count(), u64::MAX);
        let packed: Vec<u8> = of.into();
        for at in 0..packed.len() {
            // Cut inside of a bin, it ends in a byte that says that there are more.
            let cut = Histogram::try_from(packed[..at].to_vec());
            assert_eq!(cut.is_ok(), [0, 3, 6].contains(&at), "{at}");
        }
        let bad = [
            vec![11, 1, 1],
            vec![0, 1, 0],
            vec![0, 1, 1, 0, 1],
            vec![0, 0xff, 0x7f, 1],
            vec![1, 0xe8, 7, 1],
            vec![0, 1, 0x81, 0],
            vec![0],
            [vec![0], [1, 1].repeat(BINS_MAX + 1)].concat(),
        ];
        for packed in bad {
            assert_eq!(
                Histogram::try_from(packed.clone()),
                Err(NoHistogram),
                "{packed:?}"
            );
        }
    }

    #[test]
    fn too_many_bins_become_wider_ones() {
        let bins: Vec<(u16, u64)> = (0..NUMBERS).map(|number| (number, 2)).collect();
        let all = Histogram::new(0, bins);
        assert_eq!((all.coarse(), all.numbers().count()), (3, 122));
        assert_eq!(all.count(), 2 * u64::from(NUMBERS));
        let last = all.bins().last().unwrap();
        assert_eq!((last.least, last.most), (3 << 62, u64::MAX));
    }
}
