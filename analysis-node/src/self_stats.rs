//! Counters of an analysis node's own process, and the warnings made of them.

use invivo_mpi_link::clock::cpu_ns;
use invivo_proto::control::results::Coverage;
use invivo_proto::ids::WorldRank;

/// Counters of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfStats {
    /// Processor time so far, in ns; 0 where another role of the process counts it.
    pub cpu_ns: u64,
    /// Messages that could not be sent because the other side took none.
    pub refused_sends: u64,
    /// Panics that were survived.
    pub panics: u64,
}

impl SelfStats {
    /// As they are now.
    pub fn now(counts_cpu: bool, refused_sends: u64, panics: u64) -> SelfStats {
        SelfStats {
            cpu_ns: if counts_cpu { cpu_ns() } else { 0 },
            refused_sends,
            panics,
        }
    }

    /// Adds this process' time to a coverage. Whether ranks lacked it is not known here: they may
    /// have lacked all of it.
    pub fn add_to(&self, coverage: &mut Coverage) {
        for ns in [&mut coverage.tool_cpu_ns, &mut coverage.displaced_ns] {
            *ns = ns.saturating_add(self.cpu_ns);
        }
    }

    /// The sentences for a status, where something is wrong.
    pub fn notes(&self, me: WorldRank) -> impl Iterator<Item = String> {
        let refused = (self.refused_sends > 0).then(|| {
            format!(
                "tool process {me} could not send {} messages: the other side takes none",
                self.refused_sends
            )
        });
        let panicked = (self.panics > 0).then(|| {
            format!(
                "tool process {me} failed in itself, {} times, and went on: an answer may be \
                 missing",
                self.panics
            )
        });
        refused.into_iter().chain(panicked)
    }
}
