//! Sizes as people write them: `16MiB`, `64k`, `1048576`.

/// Units, the longest names first; all of them count in 1024s, as memory does.
const UNITS: &[(&str, u64)] = &[
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1 << 10),
    ("mb", 1 << 20),
    ("gb", 1 << 30),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
    ("", 1),
];

/// Reads a size in bytes.
///
/// # Errors
/// A sentence that says what a size looks like.
pub fn bytes(text: &str) -> Result<u64, String> {
    // No fractions and no signs: digits up to the unit.
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    // Case says nothing here: there are no bits among the units.
    let unit = unit.trim_start().to_ascii_lowercase();
    let factor = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor);
    number
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        // No option means anything with 0 bytes, so it is a slip.
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("{text:?} is no size; write for example 16MiB"))
}

/// Writes a size so that [`bytes`] reads the same: in the largest unit that leaves no rest.
pub fn text(bytes: u64) -> String {
    let exact = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = exact
        .iter()
        // Never rounded: the text is handed to `exec` and must give the same size again.
        .find(|(_, factor)| bytes.is_multiple_of(*factor));
    unit.map_or_else(
        || bytes.to_string(),
        |(name, factor)| format!("{}{name}", bytes / factor),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        for (text, expected) in [
            ("16MiB", 16 << 20),
            ("64k", 64 << 10),
            ("1 GB", 1 << 30),
            ("4096", 4096),
        ] {
            assert_eq!(bytes(text), Ok(expected));
        }
        for text in [
            "",
            "MiB",
            "-1",
            "1.5G",
            "0",
            "16 elephants",
            "99999999999999999999",
            "99999999999G",
        ] {
            assert!(bytes(text).is_err(), "{text:?} must be refused");
        }
    }

    #[test]
    fn sizes_are_written_exactly() {
        let sizes = [16 << 20, 3 << 30, 1 << 10, 1000, (1 << 20) + 1];
        assert_eq!(
            sizes.map(text),
            ["16MiB", "3GiB", "1KiB", "1000", "1048577"]
        );
        assert!(sizes.iter().all(|size| bytes(&text(*size)) == Ok(*size)));
    }
}
