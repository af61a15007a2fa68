//! The calls that ranks of `tests/apps/marked_calls.c` marked as begun and ended before they died.

use crate::logs::counts::Calls;
use std::path::Path;

/// The functions that the program marks, in the order of its file.
const FUNCTIONS: [&str; 10] = [
    "MPI_Init",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Waitall",
    "MPI_Allreduce",
    "MPI_Barrier",
    "MPI_Finalize",
    "MPI_Iprobe",
];

/// The marked calls of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Calls that began.
    pub begun: Calls,
    /// Of these, the calls that ended.
    pub ended: Calls,
}

impl Marks {
    /// Reads the marks of all ranks in this directory. A rank that did not know its number yet was
    /// in `MPI_Init` at most, and gets the first number that no other rank has.
    pub fn read(directory: &Path) -> Marks {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();

        let files = entries.map(|entry| entry.path()).filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "marks")
        });

        let mut numbers: Vec<Vec<i64>> = files
            .filter_map(|path| Some(numbers(&std::fs::read(path).ok()?)))
            // A rank may be killed before its file has its full size.
            .filter(|numbers| numbers.len() == 1 + 2 * FUNCTIONS.len())
            .collect();

        let known: Vec<i64> = numbers.iter().map(|of_rank| of_rank[0]).collect();
        let mut free = (0..).filter(|rank| !known.contains(rank));

        let mut marks = Marks::default();
        for of_rank in &mut numbers {
            if of_rank[0] < 0 {
                of_rank[0] = free.next().unwrap_or_default();
            }
            marks.take(of_rank);
        }
        marks
    }

    fn take(&mut self, of_rank: &[i64]) {
        let rank = of_rank[0] as u32;
        // Two counters for each function: begun, ended.
        for (function, pair) in FUNCTIONS.iter().zip(of_rank[1..].chunks_exact(2)) {
            let key = (rank, (*function).to_owned());
            self.begun.insert(key.clone(), pair[0] as u64);
            self.ended.insert(key, pair[1] as u64);
        }
    }

    /// Whether so many calls may have been entered: all that ended were, and no call that did not
    /// begin.
    pub fn allow(&self, entered: u64) -> bool {
        let all = |calls: &Calls| calls.values().sum::<u64>();
        (all(&self.ended)..=all(&self.begun)).contains(&entered)
    }

    /// Calls of a function that a rank has ended.
    pub fn ended_by(&self, rank: u32, function: &str) -> u64 {
        let key = (rank, function.to_owned());
        self.ended.get(&key).copied().unwrap_or(0)
    }

    /// Why the calls of a report contradict the marks: all calls that ended must be in it, but for
    /// as many as were `dropped` and counted, and no call that did not begin. (The record of a call
    /// is made before the program marks its end.)
    pub fn contradicts(&self, reported: &Calls, dropped: u64) -> Option<String> {
        let of = |calls: &Calls, key: &(u32, String)| calls.get(key).copied().unwrap_or(0);
        let invented = reported
            .iter()
            .find(|(key, calls)| **calls > of(&self.begun, key));
        // Too many is always wrong; too few may be explained by drops.
        if let Some((key, calls)) = invented {
            return Some(format!(
                "{key:?}: {calls} reported, {} began",
                of(&self.begun, key)
            ));
        }

        let missing: Calls = self
            .ended
            .iter()
            .map(|(key, calls)| (key.clone(), calls.saturating_sub(of(reported, key))))
            .filter(|(_, missing)| *missing > 0)
            .collect();

        let lost = missing.values().sum::<u64>();
        (lost > dropped)
            .then(|| format!("{lost} calls are lost, {dropped} dropped and counted: {missing:?}"))
    }
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    // A file that is not whole may end within a number, which is left out.
    let whole = bytes.as_chunks::<8>().0;
    whole
        .iter()
        .map(|number| i64::from_ne_bytes(*number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 0, with so many sends that began and that ended.
    fn marks(begun: i64, ended: i64) -> Marks {
        let mut numbers = vec![0; 1 + 2 * FUNCTIONS.len()];
        (numbers[3], numbers[4]) = (begun, ended);
        let mut marks = Marks::default();
        marks.take(&numbers);
        marks
    }

    fn reported(sends: u64) -> Calls {
        Calls::from([((0, "MPI_Send".to_owned()), sends)])
    }

    #[test]
    fn ended_calls_are_reported_and_open_calls_may_be() {
        assert_eq!(marks(6, 5).contradicts(&reported(5), 0), None);
        assert_eq!(marks(6, 5).contradicts(&reported(6), 0), None);
        assert_eq!(marks(6, 5).contradicts(&reported(3), 2), None);
    }

    #[test]
    fn so_many_calls_were_entered_as_began_or_ended() {
        let between = |entered| marks(6, 5).allow(entered);
        assert_eq!([4, 5, 6, 7].map(between), [false, true, true, false]);
        assert_eq!(marks(6, 5).ended_by(0, "MPI_Send"), 5);
    }

    #[test]
    fn lost_and_invented_calls_are_found() {
        assert!(marks(6, 5).contradicts(&reported(4), 0).is_some());
        assert!(marks(6, 5).contradicts(&reported(7), 0).is_some());
        assert!(marks(6, 5).contradicts(&Calls::new(), 4).is_some());
    }

    #[test]
    fn ranks_without_a_number_get_free_numbers() {
        let directory = tempfile::tempdir().expect("a directory");
        for (pid, rank) in [(7, 1_i64), (8, -1)] {
            let mut bytes = rank.to_ne_bytes().to_vec();
            bytes.extend([1_u8, 0, 0, 0, 0, 0, 0, 0].repeat(2 * FUNCTIONS.len()));
            std::fs::write(directory.path().join(format!("{pid}.marks")), bytes).expect("written");
        }
        std::fs::write(directory.path().join("9.marks"), "").expect("written");
        let marks = Marks::read(directory.path());
        let ranks: Vec<u32> = marks.begun.keys().map(|(rank, _)| *rank).collect();
        assert_eq!(ranks.len(), 2 * FUNCTIONS.len());
        assert!(ranks.iter().all(|rank| *rank < 2), "{ranks:?}");
    }
}
