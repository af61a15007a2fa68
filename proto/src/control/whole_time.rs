//! Times as texts of commands have them: a whole number and a unit, `500ns`, `20us`, `1ms`, `2s`.

use core::fmt;

/// Units, the longest first.
const UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];

/// A time in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeTime(pub u64);

impl WholeTime {
    /// Reads what its text says; nothing where that is no time, or too long a one.
    pub fn parse(text: &str) -> Option<WholeTime> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let (unit_ns, _) = UNITS.into_iter().find(|(_, name)| *name == unit)?;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(unit_ns).map(WholeTime)
    }
}

/// In the longest unit without a fraction, so that it reads back as the same.
impl fmt::Display for WholeTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WholeTime(ns) = *self;
        let whole = UNITS.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
        let (unit_ns, unit) = whole.unwrap_or((1, "ns"));
        write!(f, "{}{unit}", ns / unit_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn times_read_back_as_they_were_written() {
        for (ns, text) in [
            (500, "500ns"),
            (20_000, "20us"),
            (1_500_000, "1500us"),
            (2_000_000_000, "2s"),
        ] {
            assert_eq!(WholeTime(ns).to_string(), text);
            assert_eq!(WholeTime::parse(text), Some(WholeTime(ns)));
        }
        for wrong in [
            "",
            "5",
            "us",
            "1.5us",
            "-1us",
            "1 us",
            "1min",
            "99999999999999999999s",
        ] {
            assert_eq!(WholeTime::parse(wrong), None, "{wrong}");
        }
        assert_eq!(WholeTime::parse("18446744073709551615s"), None, "too long");
    }
}
