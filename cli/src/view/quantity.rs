//! What the numbers of a metric are, and how they are shown: what was added up by the second, times
//! as a share, and what is at each time as it is.

use invivo_grpc::v1::{GridCell, GridReply};
use invivo_proto::control::metric::Metric;
use invivo_report::units::{bytes, count, duration, duration_f64, share};

/// What the numbers of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    unit: Unit,
    absolute: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Time,
    Bytes,
    Count,
}

impl Quantity {
    /// Of a unit as answers have it; what is absolute is not added up.
    pub fn new(unit: &str, absolute: bool) -> Quantity {
        let unit = match unit {
            "ns" => Unit::Time,
            "bytes" => Unit::Bytes,
            _ => Unit::Count,
        };
        Quantity { unit, absolute }
    }

    /// Those of a grid.
    pub fn of(grid: &GridReply) -> Quantity {
        Quantity::new(&grid.unit, grid.absolute)
    }

    /// Whether it is what it is at each time.
    pub fn is_absolute(self) -> bool {
        self.absolute
    }

    /// Whether its mean is a share of time.
    pub fn is_share(self) -> bool {
        self.unit == Unit::Time && !self.absolute
    }

    /// The mean of a rank: of what is added up over the time that is known, of others their values;
    /// nothing where nothing is known.
    pub fn mean(self, cell: &GridCell) -> Option<f64> {
        let per = match self.absolute {
            true => f64::from(cell.ranks.max(1)),
            false => cell.recorded_ns as f64 * self.share_or_second(),
        };
        is_known(cell).then(|| cell.sum as f64 / per)
    }

    /// The same of one rank of a cell, which has this value.
    pub fn of_rank(self, cell: &GridCell, value: u64) -> f64 {
        match self.absolute {
            true => value as f64,
            // Of ranks that share a cell each counts as known for as long as they are in the mean.
            false => {
                let known_ns = cell.recorded_ns as f64 / f64::from(cell.ranks.max(1));
                value as f64 / (known_ns * self.share_or_second())
            }
        }
    }

    /// What makes nanoseconds those of a share, or seconds.
    fn share_or_second(self) -> f64 {
        match self.unit {
            Unit::Time => 1.0,
            Unit::Bytes | Unit::Count => 1e-9,
        }
    }

    /// A mean.
    pub fn show(self, mean: f64) -> String {
        match (self.unit, self.absolute) {
            (Unit::Time, false) => share(mean, 1.0),
            (Unit::Bytes, false) => format!("{}/s", bytes(mean.round() as u64)),
            (Unit::Count, false) => format!("{}/s", number(mean)),
            (Unit::Time, true) => duration_f64(mean),
            (Unit::Bytes, true) => bytes(mean.round() as u64),
            (Unit::Count, true) => number(mean),
        }
    }

    /// A value, or a sum of some.
    pub fn show_value(self, value: u64) -> String {
        match self.unit {
            Unit::Time => duration(value),
            Unit::Bytes => bytes(value),
            Unit::Count => count(value),
        }
    }
}

/// Whether anything is known of a cell.
pub fn is_known(cell: &GridCell) -> bool {
    cell.recorded_ns > 0
}

/// Whether a metric of this name is measured, and not made of calls.
pub fn is_measured(metric: &str) -> bool {
    let metric: Result<Metric, _> = metric.parse();
    metric.is_ok_and(|metric| !metric.is_of_calls())
}

/// With digits behind the point where they are most of it: 0.25 is not 0.
fn number(value: f64) -> String {
    match value < 9.995 && value.fract() != 0.0 {
        true => format!("{value:.2}"),
        false => count(value.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn shown(unit: &str, absolute: bool, sum: u64) -> [String; 3] {
        let cell = GridCell {
            ranks: 2,
            recorded_ns: 8 * S,
            sum,
            max: sum,
            ..GridCell::default()
        };
        let quantity = Quantity::new(unit, absolute);
        let mean = quantity.mean(&cell).expect("known");
        let most = quantity.of_rank(&cell, cell.max);
        [
            quantity.show(mean),
            quantity.show(most),
            quantity.show_value(sum),
        ]
    }

    #[test]
    fn what_is_added_up_is_shown_by_the_second() {
        assert_eq!(shown("ns", false, 2 * S), ["25.0 %", "50.0 %", "2.00 s"]);
        let bytes = shown("bytes", false, 16 << 20);
        assert_eq!(bytes, ["2.00 MiB/s", "4.00 MiB/s", "16.0 MiB"]);
        let faults = shown("faults", false, 2);
        assert_eq!(faults, ["0.25/s", "0.50/s", "2"]);
        assert_eq!(shown("", false, 80_000)[0], "10,000/s");
    }

    #[test]
    fn what_is_at_each_time_is_shown_as_it_is() {
        let memory = shown("bytes", true, 3 << 30);
        assert_eq!(memory, ["1.50 GiB", "3.00 GiB", "3.00 GiB"]);
        assert_eq!(shown("", true, 7), ["3.50", "7", "7"]);
        assert_eq!(shown("ns", true, 3_000), ["1.50 us", "3.00 us", "3.00 us"]);
    }

    #[test]
    fn nothing_is_known_of_nobody() {
        let quantity = Quantity::new("faults", true);
        assert_eq!(quantity.mean(&GridCell::default()), None);
    }

    #[test]
    fn metrics_of_calls_are_not_measured() {
        let measured = ["page-faults", "counter:steps", "mpi", "bytes", "nonsense"];
        let measured = measured.map(is_measured);
        assert_eq!(measured, [true, true, false, false, false]);
    }
}
