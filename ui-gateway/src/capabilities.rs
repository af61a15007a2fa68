//! What clients are told that this gateway can do.

/// What a gateway of this version can do; commands by the names of their orders.
pub const CAPABILITIES: [&str; 33] = [
    "status",
    "watch",
    "functions",
    "call-sites",
    "regions",
    "iterations",
    "matrix",
    "messages",
    "wait-states",
    "grid",
    "hang",
    "stacks",
    "profile",
    "pause",
    "resume",
    "hold",
    "reset",
    "record",
    "record-window",
    "shutdown",
    "strategy",
    "analyses",
    "sampling",
    "selection",
    "metrics",
    "overhead",
    "buffers",
    "records",
    "timeline",
    "save",
    "audit",
    "invite",
    "revoke",
];

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::analyses::AnalysisSet;
    use invivo_proto::control::metrics::Measured;
    use invivo_proto::control::order::Order;
    use invivo_proto::control::sampling::Sampling;
    use invivo_proto::control::selection::Selection;
    use invivo_proto::control::strategy::Strategy;

    #[test]
    fn every_order_has_a_capability() {
        for order in [
            Order::Pause { lease_ns: 1 },
            Order::Resume,
            Order::Hold { lease_ns: 1 },
            Order::Reset,
            Order::Record { on: true },
            Order::Window { length_ns: 1 },
            Order::Shutdown,
            Order::Strategy {
                strategy: Strategy::FLIGHT_RECORDER,
            },
            Order::Analyses {
                these: AnalysisSet::ALL,
                on: true,
            },
            Order::Sampling(Sampling::ON),
            Order::Select(Selection::default()),
            Order::Metrics(Measured::default()),
            Order::Overhead { cap: None },
        ] {
            assert!(CAPABILITIES.contains(&order.name()));
        }
    }
}
