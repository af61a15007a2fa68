//! What the measurement takes of the ranks' time: now, by two statuses a moment apart, and since
//! the start.

use invivo_grpc::v1::{Coverage, Governance, StatusReply};
use serde::Serialize;

/// What was taken over a time, in ns summed over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Taken {
    /// The ranks' time: what the others are shares of.
    pub rank_ns: u64,
    /// For recording MPI calls, in the ranks.
    pub calls_ns: u64,
    /// For recording regions, in the ranks.
    pub regions_ns: u64,
    /// For samples, in the kernel.
    pub samples_ns: u64,
    /// By our processes, on processors that ranks lacked for it.
    pub displaced_ns: u64,
    /// By our processes, on any processor.
    pub tool_cpu_ns: u64,
}

/// What is taken, and how that is kept below a cap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overhead {
    /// How complete it is.
    pub coverage: Option<Coverage>,
    /// Over how long `now` is, in ns.
    pub over_ns: u64,
    /// What was taken meanwhile; nothing where ranks have gone.
    pub now: Option<Taken>,
    /// What was taken since the start.
    pub since_start: Taken,
    /// How it is kept below its cap; nothing where it has none.
    pub governance: Option<Governance>,
    /// Job time now, in ns.
    pub now_ns: u64,
}

impl Taken {
    /// All that the ranks feel, as a share of their time.
    pub fn share(&self) -> f64 {
        let all = [
            self.calls_ns,
            self.regions_ns,
            self.samples_ns,
            self.displaced_ns,
        ];
        self.part(all.into_iter().fold(0, u64::saturating_add))
    }

    /// A part of it, as a share of the ranks' time.
    pub fn part(&self, ns: u64) -> f64 {
        match self.rank_ns {
            0 => 0.0,
            rank_ns => ns as f64 / rank_ns as f64,
        }
    }

    /// Since `before`; nothing where a count is smaller now.
    fn since(&self, before: &Taken) -> Option<Taken> {
        Some(Taken {
            rank_ns: self.rank_ns.checked_sub(before.rank_ns)?,
            calls_ns: self.calls_ns.checked_sub(before.calls_ns)?,
            regions_ns: self.regions_ns.checked_sub(before.regions_ns)?,
            samples_ns: self.samples_ns.checked_sub(before.samples_ns)?,
            displaced_ns: self.displaced_ns.checked_sub(before.displaced_ns)?,
            tool_cpu_ns: self.tool_cpu_ns.checked_sub(before.tool_cpu_ns)?,
        })
    }
}

fn taken(reply: &StatusReply) -> Taken {
    let of = reply.coverage.clone().unwrap_or_default();
    let observed_ns = reply.status.as_ref().map_or(0, |status| status.observed_ns);
    let apart = of
        .overhead_regions_ns
        .saturating_add(of.overhead_samples_ns);
    Taken {
        rank_ns: observed_ns.saturating_mul(of.ranks.into()),
        calls_ns: of.overhead_ns.saturating_sub(apart),
        regions_ns: of.overhead_regions_ns,
        samples_ns: of.overhead_samples_ns,
        displaced_ns: of.displaced_ns,
        tool_cpu_ns: of.tool_cpu_ns,
    }
}

/// What two statuses tell.
pub fn between(first: &StatusReply, second: StatusReply) -> Overhead {
    let since_start = taken(&second);
    let observed = |reply: &StatusReply| reply.status.as_ref().map_or(0, |s| s.observed_ns);
    let status = second.status.as_ref();
    Overhead {
        over_ns: observed(&second).saturating_sub(observed(first)),
        now: since_start.since(&taken(first)),
        since_start,
        governance: status.and_then(|status| status.governance.clone()),
        now_ns: status
            .and_then(|status| status.recording)
            .map_or(0, |recording| recording.now_ns),
        coverage: second.coverage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::JobStatus;

    #[test]
    fn now_is_the_difference_of_two_statuses() {
        let status = |n: u64| StatusReply {
            coverage: Some(Coverage {
                ranks: 4,
                overhead_ns: 60 * n,
                overhead_regions_ns: 30 * n,
                overhead_samples_ns: 10 * n,
                tool_cpu_ns: 50 * n,
                displaced_ns: 20 * n,
                ..Coverage::default()
            }),
            status: Some(JobStatus {
                observed_ns: 1000 * n,
                ..JobStatus::default()
            }),
        };
        let seen = between(&status(3), status(5));
        let now = seen.now.expect("counts grew");
        let expected = Taken {
            rank_ns: 8000,
            calls_ns: 40,
            regions_ns: 60,
            samples_ns: 20,
            displaced_ns: 40,
            tool_cpu_ns: 100,
        };
        assert_eq!((now, seen.over_ns), (expected, 2000));
        assert_eq!(now.share(), 0.02);
        assert_eq!(seen.since_start.share(), now.share());
        assert_eq!(between(&status(5), status(3)).now, None);
        assert_eq!(Taken::default().share(), 0.0);
    }
}
