//! The counts of calls and messages that programs and the PMPI counter write themselves.
//!
//! The format is that of `tests/apps/common/counting.h`.

use invivo_proto::mpi::FUNCTIONS;
use std::collections::BTreeMap;
use std::path::Path;

/// Messages and bytes by (source, destination), both as ranks of the application's world.
pub type Traffic = BTreeMap<(u32, u32), (u64, u64)>;
/// Calls by rank and function.
pub type Calls = BTreeMap<(u32, String), u64>;

/// Counts of a whole job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: Calls,
    /// Messages as the senders counted them.
    pub sent: Traffic,
    /// Messages as the receivers counted them.
    pub received: Traffic,
}

impl Counts {
    /// Reads the files of all ranks; `name` gives the name of a rank's file.
    pub fn read(directory: &Path, ranks: u32, name: impl Fn(u32) -> String) -> Counts {
        let mut counts = Counts::default();
        for rank in 0..ranks {
            let path = directory.join(name(rank));
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for line in text.lines() {
                // A line that is not understood is an error: skipped counts would make comparisons
                // weaker.
                counts
                    .take(line)
                    .unwrap_or_else(|| panic!("{}: {line:?} is no count", path.display()));
            }
        }
        counts
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        match *fields.as_slice() {
            ["call", rank, function, calls] => {
                // A count that appears twice is an error of the counter.
                let before = self.calls.insert(
                    (rank.parse().ok()?, function.to_owned()),
                    calls.parse().ok()?,
                );
                before.is_none().then_some(())
            }
            [
                direction @ ("sent" | "received"),
                source,
                destination,
                messages,
                bytes,
            ] => {
                let traffic = if direction == "sent" {
                    &mut self.sent
                } else {
                    &mut self.received
                };
                let between = (source.parse().ok()?, destination.parse().ok()?);
                let before = traffic.insert(between, (messages.parse().ok()?, bytes.parse().ok()?));
                before.is_none().then_some(())
            }
            _ => None,
        }
    }
}

/// The table of a job of which each rank makes these calls.
pub fn calls_of_each_rank<const N: usize>(ranks: u32, calls: [(&str, u64); N]) -> Calls {
    let of_rank = |rank| calls.map(|(name, calls)| ((rank, name.to_owned()), calls));
    (0..ranks).flat_map(of_rank).collect()
}

/// The calls of functions that Invivo records; the others are queries, which it does not.
pub fn recorded(calls: &Calls) -> Calls {
    let recorded = |name: &str| {
        // A function that the table does not know would be left out in silence.
        let function = FUNCTIONS.iter().find(|function| function.name == name);
        function
            .unwrap_or_else(|| panic!("{name} is missing in the function table"))
            .recorded
    };
    calls
        .iter()
        .filter(|((_, name), _)| recorded(name))
        .map(|(key, calls)| (key.clone(), *calls))
        .collect()
}

/// Calls with those of `MPI_X_c` (large counts) added to those of `MPI_X`.
pub fn without_large_counts(calls: &Calls) -> Calls {
    let mut merged = Calls::new();
    for ((rank, name), calls) in calls {
        let name = name.strip_suffix("_c").unwrap_or(name).to_owned();
        *merged.entry((*rank, name)).or_default() += calls;
    }
    merged
}
