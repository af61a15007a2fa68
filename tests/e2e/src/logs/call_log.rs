//! The call logs of `common/call_log.h`: when each MPI call of a rank began and ended.

use std::path::Path;

/// One call, in ns of the program's `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub function: String,
    /// Read right before the call.
    pub begin_ns: u64,
    /// Read right after the call.
    pub end_ns: u64,
    /// Bytes that it sent.
    pub bytes: u64,
}

/// All calls of one rank, in their order.
#[derive(Clone, Debug, Default)]
pub struct CallLog {
    /// They do not overlap, because the programs that write such logs have one thread.
    pub calls: Vec<Call>,
}

impl CallLog {
    /// Reads a rank's log; the program has ended.
    pub fn read(directory: &Path, rank: u32) -> CallLog {
        let path = directory.join(format!("{rank}.calls"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let calls = text.lines().map(|line| {
            Call::parse(line).unwrap_or_else(|| panic!("{}: {line:?} is no call", path.display()))
        });
        CallLog {
            calls: calls.collect(),
        }
    }

    pub fn read_all(directory: &Path, ranks: u32) -> Vec<CallLog> {
        (0..ranks)
            .map(|rank| CallLog::read(directory, rank))
            .collect()
    }

    pub fn calls_of(&self, function: &str) -> usize {
        self.calls
            .iter()
            .filter(|call| call.function == function)
            .count()
    }
}

impl Call {
    fn parse(line: &str) -> Option<Call> {
        // Fields are separated by one blank; more fields are ignored.
        let mut words = line.split(' ');
        let function = words.next()?.to_owned();

        let mut number = || words.next()?.parse().ok();
        Some(Call {
            function,
            begin_ns: number()?,
            end_ns: number()?,
            bytes: number()?,
        })
    }
}
