//! What programs write down of their own regions (tests/apps/regions/region_log.h).

use std::collections::BTreeMap;
use std::path::Path;

/// Of a region: visits, and times in ns (all, own, in MPI, own in MPI); some programs log visits
/// alone, and have no times.
pub type Row = [u64; 5];

/// What a rank has written down, by the regions' names.
pub fn written_by(logs: &Path, rank: u32) -> BTreeMap<String, Row> {
    let file = logs.join(format!("{rank}.regions"));
    let text = std::fs::read_to_string(file).expect("a rank's own regions");
    let row = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name").to_owned();
        let mut numbers = Row::default();
        for (number, word) in numbers.iter_mut().zip(words) {
            *number = word.parse().expect("a number");
        }
        (name, numbers)
    };
    text.lines().map(row).collect()
}
