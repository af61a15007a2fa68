//! Reads what the program keeps, from the page that its rank shares with us.

use invivo_proto::control::metrics::{Metric, ProgramName};
use invivo_proto::shm::{Page, program_metric};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Counters and values with what they are now. The program can write anything there. Counters whose
/// names read the same, as what is not printable becomes a question mark, are one.
pub fn read(page: &Page) -> Vec<(Metric, u64)> {
    let read = page.program_metrics.iter().filter_map(|one| {
        // Before the name, which is written before it.
        let kind = match one.state.load(Ordering::Acquire) {
            program_metric::COUNTER => Metric::Counter,
            program_metric::VALUE => Metric::Value,
            _ => return None,
        };
        let words = one.name.iter();
        let bytes = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let name = ProgramName::new(&bytes.collect::<Vec<u8>>())?;
        Some((kind(name), one.value.load(Ordering::Relaxed)))
    });
    let mut all = BTreeMap::new();
    for (metric, value) in read {
        let sum: &mut u64 = all.entry(metric).or_default();
        *sum = match metric {
            Metric::Counter(_) => sum.saturating_add(value),
            _ => value,
        };
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::shared_memory::{RankIdentity, SharedMemory, StartState, map};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_named_is_read_and_nothing_else() {
        let identity = RankIdentity {
            rank: 0,
            ranks: 1,
            place: 1,
        };
        let memory = SharedMemory::create(identity, &StartState::default()).expect("memory");
        let region = map(memory.as_fd());
        let of = &region.page().program_metrics;
        let put = |at: usize, state: u32, name: &[u8; 8], value: u64| {
            of[at].name[0].store(u64::from_ne_bytes(*name), Ordering::Relaxed);
            of[at].value.store(value, Ordering::Relaxed);
            of[at].state.store(state, Ordering::Release);
        };
        put(0, program_metric::COUNTER, b"steps\0\0\0", 7);
        put(1, program_metric::CLAIMED, b"half\0\0\0\0", 8);
        put(2, program_metric::VALUE, b"cells\0\0\0", 9);
        // What a broken program may leave there.
        put(3, program_metric::VALUE, &[0; 8], 10);
        put(4, 77, b"other\0\0\0", 11);
        // Of another character set: both read `?`.
        put(5, program_metric::COUNTER, b"\xf6\0\0\0\0\0\0\0", 20);
        put(6, program_metric::COUNTER, b"\xfc\0\0\0\0\0\0\0", 3);
        let told = read(region.page());
        let told: Vec<_> = told
            .iter()
            .map(|(metric, value)| (metric.to_string(), *value))
            .collect();
        assert_eq!(
            told,
            [
                ("counter:?".to_owned(), 23),
                ("counter:steps".to_owned(), 7),
                ("value:cells".to_owned(), 9)
            ]
        );
    }
}
