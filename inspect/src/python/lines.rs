//! The source line of an instruction, from a code object's table of lines, in its three formats.
//!
//! The tables are foreign memory: whatever stands in them, reading ends with the table.

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Up to 3.9: how many bytes of instructions, how many lines on.
    Pairs,
    /// 3.10: likewise, but the line is that of the bytes, and may be none.
    Ranges,
    /// From 3.11 on: entries of different lengths with columns (PEP 657).
    Locations,
}

/// In [`Lines::Ranges`]: these instructions have no line.
const NO_LINE: i8 = -128;
/// In [`Lines::Locations`]: the bit that only the first byte of an entry has.
const IS_FIRST: u8 = 0x80;
/// Bytes of an instruction, in which entries count.
const INSTRUCTION_BYTES: i64 = 2;

/// The line of the instruction at this offset; nothing where it has none, or the table does not
/// reach that far. A call that has not begun is before the first instruction, and in its
/// function's first line.
pub fn line(lines: Lines, table: &[u8], first: i32, at: i64) -> Option<u32> {
    let line = match lines {
        _ if at < 0 => Some(i64::from(first)),
        Lines::Pairs => Some(by_pairs(table, first, at)),
        Lines::Ranges => by_ranges(table, first, at),
        Lines::Locations => by_locations(table, first, at),
    };
    line.and_then(|line| u32::try_from(line).ok())
        .filter(|line| *line > 0)
}

fn by_pairs(table: &[u8], first: i32, at: i64) -> i64 {
    let (mut line, mut address) = (i64::from(first), 0);
    for [bytes, lines] in table.as_chunks().0 {
        address += i64::from(*bytes);
        if address > at {
            break;
        }
        line += i64::from(lines.cast_signed());
    }
    line
}

fn by_ranges(table: &[u8], first: i32, at: i64) -> Option<i64> {
    let (mut line, mut end) = (i64::from(first), 0);
    for [bytes, lines] in table.as_chunks().0 {
        end += i64::from(*bytes);
        let lines = lines.cast_signed();
        if lines != NO_LINE {
            line += i64::from(lines);
        }
        if end > at {
            return (lines != NO_LINE).then_some(line);
        }
    }
    None
}

fn by_locations(table: &[u8], first: i32, at: i64) -> Option<i64> {
    let (mut line, mut end) = (i64::from(first), 0);
    let mut rest = table;
    while let Some((entry, behind)) = rest.split_first() {
        // Columns and the like may be passed over unread: no other byte has the first one's bit.
        let length = behind.iter().take_while(|byte| **byte & IS_FIRST == 0);
        let (facts, next) = behind.split_at(length.count());
        rest = next;
        end += INSTRUCTION_BYTES * (i64::from(entry & 7) + 1);
        let kind = entry >> 3 & 15;
        line = line.saturating_add(match kind {
            // No line; the same line with columns.
            15 | 0..=9 => 0,
            10..=12 => i64::from(kind - 10),
            _ => signed(facts),
        });
        if end > at {
            return (kind != 15).then_some(line);
        }
    }
    None
}

/// The number that stands first: six bits a byte, the lowest first, as long as the seventh is set;
/// of the number the lowest bit is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let (mut number, mut shift) = (0_u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 63) << shift;
        shift += 6;
        // Lines are numbers of four bytes; more is garbage.
        if byte & 64 == 0 || shift > 30 {
            break;
        }
    }
    let lines = (number >> 1) as i64;
    if number & 1 == 1 { -lines } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tables as the interpreters of their versions write them, of a function with a gap in its
    /// lines.
    #[test]
    fn each_format_is_read() {
        let of = |lines, table: &[u8], at| line(lines, table, 10, at);
        // Six bytes in line 10, four in line 12, and 300 lines on in two steps.
        let pairs = [6, 2, 4, 127, 0, 127, 0, 46];
        let found = [-2, 0, 5, 6, 9, 10, 99].map(|at| of(Lines::Pairs, &pairs, at));
        assert_eq!(
            found,
            [10, 10, 10, 12, 12, 312, 312].map(Some),
            "before, within, behind"
        );
        let ranges = [6, 0, 2, 0x80, 4, 0xfe];
        let found = [0, 5, 6, 8, 11, 12].map(|at| of(Lines::Ranges, &ranges, at));
        assert_eq!(found, [Some(10), Some(10), None, Some(8), Some(8), None]);
        // One instruction in line 10 with columns; two in line 12; one without a line; one 70
        // lines back from there, which is before the file; one 100 lines on, in the long form.
        let locations = [
            0x80,
            0x12,
            0x80 | 12 << 3 | 1,
            3,
            4,
            0x80 | 15 << 3,
            0x80 | 13 << 3,
            0x4d,
            0x02,
            0x80 | 14 << 3,
            0x48,
            0x03,
            0,
            1,
            1,
        ];
        let found = [0, 2, 5, 6, 8, 10, 12].map(|at| of(Lines::Locations, &locations, at));
        let lines = [Some(10), Some(12), Some(12), None, None, Some(42), None];
        assert_eq!(found, lines);
    }

    /// Prints for each function of some modules its first line, its table, and where the
    /// interpreter itself says that instructions are: first, last, line.
    const TELL: &str = r#"
import argparse, asyncio.tasks, dis, json.decoder, sys, types
def told(code):
    if sys.version_info >= (3, 10):
        table, ranges = code.co_linetable, list(code.co_lines())
    else:
        table, starts = code.co_lnotab, list(dis.findlinestarts(code))
        ends = [start for start, line in starts[1:]] + [len(code.co_code)]
        ranges = [(start, end, line) for (start, line), end in zip(starts, ends)]
    ranges = [f"{start},{end - 1},{line or 0}" for start, end, line in ranges if end > start]
    print(code.co_firstlineno, table.hex() or "-", " ".join(ranges))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            told(constant)
for module in argparse, asyncio.tasks, json.decoder, types:
    with open(module.__file__, encoding="utf-8") as source:
        told(compile(source.read(), module.__file__, "exec"))
far = "\n" * 700 + "x = 1" + "\n" * 300 + "; y = (1 +" + "\n" * 9 + "x)\n"
told(compile("def f():\n" + far.replace("x = 1", " x = 1").replace("; y", " y"), "far", "exec"))
"#;

    #[test]
    fn lines_are_those_that_the_interpreter_tells() {
        for (minor, interpreter) in crate::test_python::interpreters() {
            let mut told = std::process::Command::new(interpreter);
            let told = told.args(["-c", TELL]).output().expect("it runs");
            assert!(told.status.success(), "{told:?}");
            let lines = match minor {
                ..10 => Lines::Pairs,
                10 => Lines::Ranges,
                _ => Lines::Locations,
            };
            let (mut functions, mut without) = (0, 0);
            for code in String::from_utf8(told.stdout).expect("text").lines() {
                let mut words = code.split(' ');
                let mut word = || words.next().expect("a word");
                let first: i32 = word().parse().expect("a number");
                let table = word().trim_matches('-').as_bytes();
                let digit = |digit: u8| char::from(digit).to_digit(16).expect("a digit") as u8;
                let pairs = table.as_chunks::<2>().0.iter();
                let table: Vec<u8> = pairs.map(|[a, b]| digit(*a) << 4 | digit(*b)).collect();
                for range in words {
                    let numbers = range.split(',').map(|one| one.parse().expect("a number"));
                    let numbers: Vec<i64> = numbers.collect();
                    let expected = u32::try_from(numbers[2]).ok().filter(|line| *line > 0);
                    without += u32::from(expected.is_none());
                    for at in [numbers[0], numbers[1]] {
                        let found = line(lines, &table, first, at);
                        assert_eq!(found, expected, "3.{minor}, at {at}: {code}");
                    }
                }
                functions += 1;
            }
            assert!(functions > 200, "3.{minor}: {functions}");
            println!("3.{minor}: {functions} functions, {without} ranges without a line");
        }
    }

    proptest! {
        /// Whatever a table holds, there is an answer, and one that is in reach of the table.
        #[test]
        fn garbage_has_an_end(
            table in prop::collection::vec(any::<u8>(), 0..200),
            first in any::<i32>(),
            at in any::<i64>(),
        ) {
            for lines in [Lines::Pairs, Lines::Ranges, Lines::Locations] {
                let found = line(lines, &table, first, at);
                prop_assert_ne!(found, Some(0));
                if lines != Lines::Pairs && at >= 255 * table.len() as i64 {
                    prop_assert_eq!(found, None);
                }
            }
        }
    }
}
