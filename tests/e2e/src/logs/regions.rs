//! What programs write down of their own regions (tests/apps/regions/region_log.h).

use std::collections::BTreeMap;
use std::path::Path;

/// Of a region: visits, and times in ns (all, own, in MPI, own in MPI).
pub type Row = [u64; 5];

/// What a rank has written down, by the regions' names.
pub fn written_by(logs: &Path, rank: u32) -> BTreeMap<String, Row> {
    let file = logs.join(format!("{rank}.regions"));
    let text = std::fs::read_to_string(file).expect("a rank's own regions");
    let row = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name").to_owned();
        let numbers = words.map(|word| word.parse().expect("a number"));
        let numbers: Vec<u64> = numbers.collect();
        (name, numbers.try_into().expect("five numbers"))
    };
    text.lines().map(row).collect()
}
