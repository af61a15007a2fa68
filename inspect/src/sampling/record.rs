//! Reads the records that perf events write into a ring, as far as they are asked for.
//!
//! ```text
//! PERF_RECORD_SAMPLE   u64 time; u64 abi, if not 0: u64 BP, SP, IP; u64 size, if not 0: stack,
//!                      u64 dyn_size
//! PERF_RECORD_LOST     u64 id, u64 lost
//! PERF_RECORD_MMAP     code was mapped: only that it was
//! ```
//!
//! What does not fit is a lost sample. The crate that reads the rings would copy each stack and
//! read far more than that.

use crate::frames::Registers;

/// The registers of a sample, as bits of `sample_regs_user`; values come in the order of the bits.
pub const REGISTERS: u64 = 1 << PERF_REG_X86_BP | 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP;
const PERF_REG_X86_BP: u32 = 6;
const PERF_REG_X86_SP: u32 = 7;
const PERF_REG_X86_IP: u32 = 8;

const PERF_RECORD_MMAP: u32 = 1;
const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;
const PERF_RECORD_MISC_CPUMODE_MASK: u16 = 7;
const PERF_RECORD_MISC_KERNEL: u16 = 1;
const PERF_SAMPLE_REGS_ABI_NONE: u64 = 0;
const PERF_SAMPLE_REGS_ABI_64: u64 = 2;

/// What a ring tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Where the thread was.
    Sample(Sample<'a>),
    /// So many samples were lost.
    Lost(u64),
    /// The process has mapped code.
    Mapped,
    /// Something that is of no interest.
    Other,
}

/// Where a thread was.
#[derive(Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// When that was, by the event's clock, in ns.
    pub time_ns: u64,
    /// In the kernel; then the registers are those with which it came there.
    pub is_kernel: bool,
    /// Its registers in the program, where it has some.
    pub registers: Option<Registers>,
    /// The end of its stack, from the stack pointer on.
    stack: &'a [u8],
}

impl<'a> Sample<'a> {
    /// One that was taken in the program.
    pub fn in_program(time_ns: u64, registers: Registers, stack: &'a [u8]) -> Sample<'a> {
        Sample {
            time_ns,
            is_kernel: false,
            registers: Some(registers),
            stack,
        }
    }

    /// A word of the stack.
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.registers?.stack)?).ok()?;
        let word = self.stack.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    }
}

/// A record of this type, with the bits `misc` and the bytes behind its head.
pub fn read(kind: u32, misc: u16, bytes: &[u8]) -> Record<'_> {
    match kind {
        PERF_RECORD_SAMPLE => sample(misc, bytes).map_or(Record::Lost(1), Record::Sample),
        PERF_RECORD_LOST => Record::Lost(lost(bytes).unwrap_or(1)),
        PERF_RECORD_MMAP => Record::Mapped,
        _ => Record::Other,
    }
}

fn lost(mut bytes: &[u8]) -> Option<u64> {
    let _id = word(&mut bytes)?;
    word(&mut bytes)
}

fn sample(misc: u16, mut bytes: &[u8]) -> Option<Sample<'_>> {
    let time_ns = word(&mut bytes)?;
    let abi = word(&mut bytes)?;
    let mut registers = None;
    if abi != PERF_SAMPLE_REGS_ABI_NONE {
        let (frame, stack, code) = (word(&mut bytes)?, word(&mut bytes)?, word(&mut bytes)?);
        // Nobody unwinds programs of 32 bits here.
        registers = (abi == PERF_SAMPLE_REGS_ABI_64).then_some(Registers {
            code,
            stack,
            frame: Some(frame),
        });
    }
    let size = usize::try_from(word(&mut bytes)?).ok()?;
    let mut stack: &[u8] = &[];
    if size != 0 {
        (stack, bytes) = bytes.split_at_checked(size)?;
        // The room is always the same; so much of it was filled.
        let filled = usize::try_from(word(&mut bytes)?).ok()?;
        stack = stack.get(..filled)?;
    }
    Some(Sample {
        time_ns,
        is_kernel: misc & PERF_RECORD_MISC_CPUMODE_MASK == PERF_RECORD_MISC_KERNEL,
        registers,
        stack,
    })
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the kernel writes it.
    fn written(time: u64, abi: u64, registers: [u64; 3], stack: &[u8], filled: u64) -> Vec<u8> {
        let mut words = vec![time, abi];
        if abi != 0 {
            words.extend(registers);
        }
        words.push(stack.len() as u64);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(stack);
        if !stack.is_empty() {
            bytes.extend(filled.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn samples_lost_ones_and_mappings_are_told_apart() {
        let lost: Vec<u8> = [7u64, 12]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        assert_eq!(read(PERF_RECORD_LOST, 0, &lost), Record::Lost(12));
        assert_eq!(read(PERF_RECORD_LOST, 0, &lost[..9]), Record::Lost(1));
        assert_eq!(read(PERF_RECORD_MMAP, 0, &[]), Record::Mapped);
        assert_eq!(read(5, 0, &lost), Record::Other);
        let nowhere = written(7, 0, [0; 3], &[], 0);
        let Record::Sample(sample) = read(PERF_RECORD_SAMPLE, 1, &nowhere) else {
            panic!("a sample without registers");
        };
        assert_eq!(sample.time_ns, 7);
        assert!(sample.is_kernel && sample.registers.is_none() && sample.word(0).is_none());
        let short = written(7, PERF_SAMPLE_REGS_ABI_64, [1, 2, 3], &[0; 16], 17);
        assert_eq!(read(PERF_RECORD_SAMPLE, 2, &short), Record::Lost(1));
    }

    proptest! {
        #[test]
        fn a_sample_is_read_as_it_was_written(
            time: u64,
            registers: [u64; 3],
            stack in prop::collection::vec(any::<u8>(), 0..200),
            part in 0usize..=200,
            misc: u16,
            cut in 0usize..400,
        ) {
            let filled = part.min(stack.len());
            let bytes = written(time, PERF_SAMPLE_REGS_ABI_64, registers, &stack, filled as u64);
            let Record::Sample(sample) = read(PERF_RECORD_SAMPLE, misc, &bytes) else {
                panic!("no sample");
            };
            let [frame, end, code] = registers;
            let expected = Registers { code, stack: end, frame: Some(frame) };
            prop_assert_eq!(sample.registers, Some(expected));
            prop_assert_eq!(sample.is_kernel, misc % 8 == 1);
            prop_assert_eq!(sample.time_ns, time);
            for at in 0..stack.len() + 9 {
                let expected = (at + 8 <= filled).then(|| {
                    u64::from_ne_bytes(stack[at..at + 8].try_into().expect("eight bytes"))
                });
                // An address behind the last one there is none.
                if let Some(address) = end.checked_add(at as u64) {
                    prop_assert_eq!(sample.word(address), expected);
                }
            }
            if cut < bytes.len() {
                prop_assert_eq!(read(PERF_RECORD_SAMPLE, misc, &bytes[..cut]), Record::Lost(1));
            }
        }

        #[test]
        fn garbage_is_read_without_a_fault(
            kind in 0u32..12,
            misc: u16,
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            address: u64,
        ) {
            if let Record::Sample(sample) = read(kind, misc, &bytes) {
                let _ = sample.word(address);
            }
        }
    }
}
