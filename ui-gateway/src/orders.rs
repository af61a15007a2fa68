//! From what clients ask for to orders for the ranks: arguments checked, defaults filled in, and
//! how long an answer may take.

use crate::limits;
use invivo_grpc::v1;
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::Order;
use std::time::Duration;
use tonic::Status;

/// An order with its name in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// As in the capabilities.
    pub name: &'static str,
    /// The order.
    pub order: Order,
}

impl Named {
    /// A pause.
    ///
    /// # Errors
    /// When its lease is too long.
    pub fn pause(request: &v1::PauseRequest) -> Result<Named, Status> {
        let lease_ns = lease_ns(request.lease_ns, "pause")?;
        Ok(Named {
            name: "pause",
            order: Order::Pause { lease_ns },
        })
    }

    /// A hold behind `MPI_Init`.
    ///
    /// # Errors
    /// When its lease is too long.
    pub fn hold(request: &v1::HoldRequest) -> Result<Named, Status> {
        let lease_ns = lease_ns(request.lease_ns, "hold")?;
        Ok(Named {
            name: "hold",
            order: Order::Hold { lease_ns },
        })
    }

    /// A window of recording.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub fn window(request: &v1::RecordWindowRequest) -> Result<Named, Status> {
        let length_ns = request.length_ns;
        let (least_ns, most_ns) = (
            nanoseconds(limits::WINDOW_MIN),
            nanoseconds(limits::WINDOW_MAX),
        );
        if !(least_ns..=most_ns).contains(&length_ns) {
            return Err(Status::invalid_argument(format!(
                "a window of {length_ns} ns: length_ns must be at least a millisecond ({least_ns}) and at most 24 hours \
                 ({most_ns}); for longer, switch recording on and later off"
            )));
        }
        Ok(Named {
            name: "record-window",
            order: Order::Window { length_ns },
        })
    }

    /// Another strategy of the buffers.
    ///
    /// # Errors
    /// When the text is none.
    pub fn strategy(request: &v1::SetStrategyRequest) -> Result<Named, Status> {
        let strategy = request.strategy.parse::<Strategy>();
        let strategy = strategy.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Named::plain(Order::Strategy { strategy }))
    }

    /// An order without arguments to be checked.
    pub fn plain(order: Order) -> Named {
        let name = match order {
            Order::Pause { .. } => "pause",
            Order::Resume => "resume",
            Order::Hold { .. } => "hold",
            Order::Reset => "reset",
            Order::Record { .. } => "record",
            Order::Window { .. } => "record-window",
            Order::Shutdown => "shutdown",
            Order::Strategy { .. } => "strategy",
        };
        Named { name, order }
    }

    /// Its arguments in words; empty where there are none.
    pub fn arguments(&self) -> String {
        match self.order {
            Order::Pause { lease_ns } | Order::Hold { lease_ns } => {
                format!("lease {:?}", Duration::from_nanos(lease_ns))
            }
            Order::Record { on } => if on { "on" } else { "off" }.to_owned(),
            Order::Window { length_ns } => format!("for {:?}", Duration::from_nanos(length_ns)),
            Order::Strategy { strategy } => strategy.to_string(),
            Order::Resume | Order::Reset | Order::Shutdown => String::new(),
        }
    }

    /// Its lease in ns; 0 of an order that has none.
    pub fn lease_ns(&self) -> u64 {
        match self.order {
            Order::Pause { lease_ns } | Order::Hold { lease_ns } => lease_ns,
            _ => 0,
        }
    }

    /// The time within which the root answers: a window is answered behind its end, and a hold when
    /// the last rank has come to it, for which it has as long as the lease.
    pub fn time_max(&self) -> Duration {
        limits::COMMAND_TIME_MAX
            + match self.order {
                Order::Window { length_ns } => Duration::from_nanos(length_ns),
                Order::Hold { lease_ns } => Duration::from_nanos(lease_ns),
                _ => Duration::ZERO,
            }
    }
}

fn lease_ns(asked_ns: u64, what: &str) -> Result<u64, Status> {
    let most_ns = nanoseconds(limits::LEASE_MAX);
    if asked_ns > most_ns {
        return Err(Status::invalid_argument(format!(
            "a lease of {asked_ns} ns: a {what} lasts at most 24 hours ({most_ns} ns); ask for less and {what} again"
        )));
    }
    Ok(if asked_ns == 0 {
        nanoseconds(limits::LEASE_DEFAULT)
    } else {
        asked_ns
    })
}

/// A duration in ns; as long as can be said if it is longer.
pub fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    const HOUR_NS: u64 = 3_600_000_000_000;

    fn window(length_ns: u64) -> Result<Named, Status> {
        Named::window(&v1::RecordWindowRequest {
            command_id: 0,
            length_ns,
        })
    }

    #[test]
    fn windows_have_bounds_and_are_answered_behind_their_end() {
        for length_ns in [0, 999_999, 24 * HOUR_NS + 1, u64::MAX] {
            let refused = window(length_ns).expect_err("refused");
            assert_eq!(refused.code(), Code::InvalidArgument);
            assert!(
                refused.message().contains(&length_ns.to_string())
                    && refused.message().contains("24 hours")
            );
        }
        for length_ns in [1_000_000, 24 * HOUR_NS] {
            let named = window(length_ns).expect("in its bounds");
            assert_eq!(named.order, Order::Window { length_ns });
            assert!(named.time_max() > Duration::from_nanos(length_ns));
        }
        assert_eq!(
            window(1_500_000_000).expect("in its bounds").arguments(),
            "for 1.5s"
        );
    }

    #[test]
    fn strategies_are_texts() {
        let named = |text: &str| {
            Named::strategy(&v1::SetStrategyRequest {
                command_id: 0,
                strategy: text.to_owned(),
            })
        };
        assert_eq!(
            named(" duration:1000us").expect("a strategy").arguments(),
            "duration:1ms"
        );
        let refused = named("best").expect_err("no strategy");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(
            refused
                .message()
                .contains("\"best\" is no rule of a strategy; there are time")
        );
    }

    #[test]
    fn leases_have_a_default_and_a_bound() {
        let hold = |lease_ns| {
            Named::hold(&v1::HoldRequest {
                command_id: 0,
                lease_ns,
            })
        };
        let default = hold(0).expect("a default");
        assert_eq!(
            (default.lease_ns(), default.arguments().as_str()),
            (600_000_000_000, "lease 600s")
        );
        assert!(
            default.time_max() > Duration::from_secs(600),
            "it waits for the ranks"
        );
        let refused = hold(24 * HOUR_NS + 1).expect_err("too long");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("a hold lasts at most 24 hours"));
    }

    #[test]
    fn every_order_has_the_name_of_its_capability() {
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
        ] {
            assert!(crate::service::CAPABILITIES.contains(&Named::plain(order).name));
        }
    }
}
