//! Numbers with their units, as people read them.

/// A duration: three significant digits below a minute, and whole units above.
pub fn duration(ns: u64) -> String {
    const MINUTE_NS: u64 = 60_000_000_000;
    match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => scaled(ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => scaled(ns as f64 / 1e6, "ms"),
        1_000_000_000..MINUTE_NS => scaled(ns as f64 / 1e9, "s"),
        _ => {
            let seconds = ns / 1_000_000_000;
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            match (hours, minutes) {
                (0, minutes) => format!("{minutes} min {seconds} s"),
                (hours, minutes) => format!("{hours} h {minutes} min"),
            }
        }
    }
}

/// A duration in ns as a mean or deviation comes, with a fraction.
pub fn duration_f64(ns: f64) -> String {
    // Negative and not-a-number become 0, as `as` saturates.
    if ns > 0.0 && ns < 10.0 {
        format!("{ns:.1} ns")
    } else {
        duration(ns.round() as u64)
    }
}

/// A size in bytes, in powers of 1024.
pub fn bytes(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => scaled(value / 1024.0, "KiB"),
        // Powers of 1024, as the options are read.
        0x10_0000..0x4000_0000 => scaled(value / 1024f64.powi(2), "MiB"),
        0x4000_0000..0x100_0000_0000 => scaled(value / 1024f64.powi(3), "GiB"),
        _ => scaled(value / 1024f64.powi(4), "TiB"),
    }
}

/// A count, its digits in groups of three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: `1 rank`, `8 ranks`.
pub fn counted(number: u64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", count(number))
    }
}

/// A share of a whole in per cent; of nothing, `-`.
pub fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.1} %", 100.0 * part / whole)
    } else {
        "-".to_owned()
    }
}

fn scaled(value: f64, unit: &str) -> String {
    // Below what would round up to another digit: 9.996 is 10.0, not 10.00.
    if value < 9.995 {
        format!("{value:.2} {unit}")
    } else if value < 99.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let shown = [
            0,
            999,
            1_000,
            3_100_000,
            99_960_000,
            12_345_678_901,
            59_999_000_000,
            75_000_000_000,
            7_260_000_000_000,
        ];
        let shown = shown.map(duration);
        assert_eq!(
            shown,
            [
                "0 s",
                "999 ns",
                "1.00 us",
                "3.10 ms",
                "100 ms",
                "12.3 s",
                "60.0 s",
                "1 min 15 s",
                "2 h 1 min"
            ]
        );
        assert_eq!(duration_f64(2.25), "2.2 ns");
        assert_eq!(duration_f64(1230.4), "1.23 us");
        assert_eq!(duration_f64(f64::NAN), "0 s");
    }

    #[test]
    fn sizes_and_counts() {
        assert_eq!(
            [0, 1023, 1024, 1536 * 1024, u64::MAX].map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "1.50 MiB", "16777216 TiB"]
        );
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            (counted(1, "rank"), counted(2_000, "rank")),
            ("1 rank".into(), "2,000 ranks".into())
        );
        assert_eq!(
            (share(1.0, 3.0), share(1.0, 0.0)),
            ("33.3 %".into(), "-".into())
        );
    }
}
