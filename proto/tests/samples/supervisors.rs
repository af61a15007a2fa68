//! An example of every message between a supervisor and its place.

use super::buffers::contexts;
use super::hang::seen;
use super::metrics::{measured, reading, without};
use super::profile::{profile, sampled};
use super::stacks::{fault, module, named, walked};
use invivo_proto::control::contexts::Taken;
use invivo_proto::control::local::{FromSupervisor, Outcome, ToSupervisor};
use invivo_proto::control::metrics::{NoMetric, SystemMetric};
use invivo_proto::control::profile::NoSamples;
use invivo_proto::control::sampling::Sampling;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::Rank;

/// Every message from a supervisor.
pub fn from_supervisors() -> Vec<FromSupervisor> {
    let acted = |outcome| FromSupervisor::Acted {
        generation: 7,
        outcome,
    };
    vec![
        FromSupervisor::Attach {
            rank: Rank(2),
            pid: 4711,
        },
        acted(Outcome::Stopped),
        acted(Outcome::HeldInMpi),
        acted(Outcome::Partly { running: 3 }),
        acted(Outcome::Running),
        acted(Outcome::Gone),
        FromSupervisor::Ended(Ended::Code(1)),
        FromSupervisor::Inspected {
            inspection: 3,
            call: Some(seen()),
        },
        FromSupervisor::Unwound {
            unwinding: 4,
            thread: walked(),
            rest: 1,
        },
        FromSupervisor::Named {
            module: module(),
            named: named(),
        },
        FromSupervisor::Faulted(fault()),
        FromSupervisor::Sampling {
            sampling: 5,
            outcome: Err(NoSamples::Forbidden { paranoid: 3 }),
        },
        FromSupervisor::Profiled {
            profile: 6,
            seen: Ok(sampled()),
            nodes: profile().nodes,
            rest: 2,
        },
        FromSupervisor::Contexts {
            first: 1,
            contexts: contexts().into_values().collect(),
        },
        FromSupervisor::Samples {
            tid: 4712,
            halvings: 3,
            left_out: 5,
            taken: vec![Taken {
                at_ns: 5_500_000_000,
                ordinal: 1032,
                context: 2,
            }],
        },
        FromSupervisor::Measuring {
            measuring: 3,
            outcome: Err((SystemMetric::Cycles, NoMetric::Unsupported)),
        },
        FromSupervisor::Measured(reading()),
        FromSupervisor::Spent {
            cpu_ns: 40_000_000,
            in_rank_ns: 9_000_000,
        },
        FromSupervisor::MetricsTried {
            trying: 8,
            without: without(),
        },
    ]
}

/// Every message to a supervisor.
pub fn to_supervisors() -> Vec<ToSupervisor> {
    vec![
        ToSupervisor::Stop { generation: 7 },
        ToSupervisor::Continue { generation: 7 },
        ToSupervisor::Leave,
        ToSupervisor::Inspect { inspection: 3 },
        ToSupervisor::Unwind {
            unwinding: 4,
            threads: true,
        },
        ToSupervisor::Name {
            module: module(),
            offsets: vec![0x1139, 0x2000],
        },
        ToSupervisor::Sample {
            sampling: 5,
            how: Sampling::timer(99),
            halvings: 3,
        },
        ToSupervisor::Profile { profile: 6 },
        ToSupervisor::Measure {
            measuring: 3,
            measured: measured(),
        },
        ToSupervisor::TryMetrics { trying: 8 },
    ]
}
