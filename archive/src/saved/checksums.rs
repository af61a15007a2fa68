//! `CHECKSUMS`: a line for each of the text files, `crc32 bytes name`, and a last one with the
//! checksum of those lines.

use std::collections::BTreeMap;

/// The name of the file.
pub const FILE: &str = "CHECKSUMS";
/// Bytes of it, at most: some lines.
pub const BYTES_MAX: usize = 4096;

/// Length and checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    pub bytes: u64,
    pub crc32: u32,
}

/// Eight digits.
pub fn hex(crc32: u32) -> String {
    format!("{crc32:08x}")
}

/// The file's text.
pub fn text(sums: &[(&str, Sum)]) -> String {
    let mut text = String::new();
    for (name, sum) in sums {
        text += &format!("{} {} {name}\n", hex(sum.crc32), sum.bytes);
    }
    let own = crc32fast::hash(text.as_bytes());
    text += &format!("{} {} .\n", hex(own), text.len());
    text
}

/// Reads the text.
///
/// # Errors
/// The byte from which on it is no such text.
pub fn read(text: &str) -> Result<BTreeMap<&str, Sum>, u64> {
    let mut sums = BTreeMap::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let wrong = offset as u64;
        let mut words = line.strip_suffix('\n').ok_or(wrong)?.splitn(3, ' ');
        let mut word = || words.next().ok_or(wrong);
        let (crc32, bytes, name) = (word()?, word()?, word()?);
        let sum = Sum {
            bytes: bytes.parse().map_err(|_| wrong)?,
            crc32: u32::from_str_radix(crc32, 16).map_err(|_| wrong)?,
        };
        if name == "." {
            let own = Sum {
                bytes: wrong,
                crc32: crc32fast::hash(&text.as_bytes()[..offset]),
            };
            let is_last = offset + line.len() == text.len();
            return (own == sum && is_last).then_some(sums).ok_or(wrong);
        }
        sums.insert(name, sum);
        offset += line.len();
    }
    Err(offset as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_anything_else_refused() {
        let sum = |crc32| Sum { bytes: 12, crc32 };
        let text = text(&[("a b", sum(1)), ("c", sum(0xffff_ffff))]);
        let expected = BTreeMap::from([("a b", sum(1)), ("c", sum(0xffff_ffff))]);
        assert_eq!(read(&text), Ok(expected));
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "cut at {end}");
        }
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            let other = String::from_utf8(other).expect("ASCII stays ASCII");
            assert_ne!(read(&other).ok(), read(&text).ok(), "byte {at}");
        }
    }
}
