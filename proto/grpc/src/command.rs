//! Converts between the request messages of commands and orders, and sends an order as its call.

use crate::v1::invivo_client::InvivoClient;
use crate::v1::{
    CommandReply, HoldRequest, PauseRequest, RecordRequest, RecordWindowRequest, ResetRequest,
    ResumeRequest, SelectionRule, SetAnalysesRequest, SetMetricsRequest, SetOverheadRequest,
    SetSamplingRequest, SetSelectionRequest, SetStrategyRequest, ShutdownRequest,
};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::{Measured, MetricSet, UnknownInSet};
use invivo_proto::control::order::Order;
use invivo_proto::control::overhead::OverheadCap;
use invivo_proto::control::sampling::{SampledBy, Sampling};
use invivo_proto::control::selection::{InvalidRule, Rule, Selection};
use invivo_proto::control::strategy::Strategy;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::{Body as HttpBody, Bytes, StdError};
use tonic::{Response, Status};

/// A request message that gives a command.
pub trait CommandRequest {
    /// As the client chose it; 0 leaves the choice to the gateway.
    fn command_id(&self) -> u64;

    /// The order, with defaults filled in.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with what to do.
    fn order(&self) -> Result<Order, Status>;
}

/// Implements [`CommandRequest`] for messages that become an order without parsing.
macro_rules! orders {
    ($($message:ident($request:pat) => $order:expr;)*) => {$(
        impl CommandRequest for $message {
            fn command_id(&self) -> u64 {
                self.command_id
            }

            fn order(&self) -> Result<Order, Status> {
                let $request = self;
                // Checked at the gateway as well as at clients: anybody can speak gRPC.
                checked($order)
            }
        }
    )*};
}

orders! {
    PauseRequest(&PauseRequest { lease_ns, .. }) => Order::Pause { lease_ns };
    ResumeRequest(_) => Order::Resume;
    HoldRequest(&HoldRequest { lease_ns, .. }) => Order::Hold { lease_ns };
    ResetRequest(_) => Order::Reset;
    RecordRequest(&RecordRequest { on, .. }) => Order::Record { on };
    RecordWindowRequest(&RecordWindowRequest { length_ns, .. }) => Order::Window { length_ns };
    ShutdownRequest(_) => Order::Shutdown;
    SetStrategyRequest(request) => Order::Strategy { strategy: strategy(&request.strategy)? };
    SetSamplingRequest(&SetSamplingRequest { frequency, by_timer, .. }) => {
        Order::Sampling(match by_timer {
            true => Sampling::timer(frequency),
            false => Sampling::perf(frequency),
        })
    };
    SetAnalysesRequest(request) => Order::Analyses {
        these: analyses(&request.names)?,
        on: request.on,
    };
    SetSelectionRequest(request) => Order::Select(selection(request)?);
    SetMetricsRequest(request) => Order::Metrics(Measured {
        set: metrics(&request.names)?,
        interval_ns: request.interval_ns,
    });
    SetOverheadRequest(&SetOverheadRequest { cap, .. }) => Order::Overhead {
        cap: cap.map(overhead_cap).transpose()?,
    };
}

fn overhead_cap(share: f64) -> Result<OverheadCap, Status> {
    OverheadCap::of_share(share).ok_or_else(|| {
        Status::invalid_argument(format!(
            "a cap on the overhead of {share}: it is a share of the ranks' time, from 0.001 to 1"
        ))
    })
}

fn selection(request: &SetSelectionRequest) -> Result<Selection, Status> {
    let rule = |rule: &SelectionRule| {
        let fits = rule.fits.parse();
        let fits = fits.map_err(|error: InvalidRule| Status::invalid_argument(error.to_string()));
        let include = rule.include;
        fits.map(|fits| Rule { include, fits })
    };
    Ok(Selection {
        replaces: request.replace,
        rules: request.rules.iter().map(rule).collect::<Result<_, _>>()?,
    })
}

fn checked(order: Order) -> Result<Order, Status> {
    order
        .checked()
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

fn strategy(text: &str) -> Result<Strategy, Status> {
    text.parse()
        .map_err(|error: <Strategy as std::str::FromStr>::Err| {
            Status::invalid_argument(error.to_string())
        })
}

fn analyses(names: &[String]) -> Result<AnalysisSet, Status> {
    let mut these = AnalysisSet::NONE;
    for name in names {
        let named = name.parse();
        let named = named.map_err(|error: <AnalysisSet as std::str::FromStr>::Err| {
            Status::invalid_argument(error.to_string())
        })?;
        these = these.switched(named, true);
    }
    Ok(these)
}

fn metrics(names: &[String]) -> Result<MetricSet, Status> {
    let mut set = MetricSet::NONE;
    for name in names {
        let named = name.parse();
        let named =
            named.map_err(|error: UnknownInSet| Status::invalid_argument(error.to_string()))?;
        set = set.with(named);
    }
    Ok(set)
}

/// Makes the call for `order`.
///
/// # Errors
/// The gateway's refusal, or why it does not answer.
pub async fn call<T>(
    client: &mut InvivoClient<T>,
    command_id: u64,
    order: Order,
) -> Result<Response<CommandReply>, Status>
where
    T: GrpcService<Body>,
    T::Error: Into<StdError>,
    T::ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    <T::ResponseBody as HttpBody>::Error: Into<StdError> + Send,
{
    match order {
        Order::Pause { lease_ns } => {
            let request = PauseRequest {
                command_id,
                lease_ns,
            };
            client.pause(request).await
        }
        Order::Resume => client.resume(ResumeRequest { command_id }).await,
        Order::Hold { lease_ns } => {
            let request = HoldRequest {
                command_id,
                lease_ns,
            };
            client.hold(request).await
        }
        Order::Reset => client.reset(ResetRequest { command_id }).await,
        Order::Record { on } => client.record(RecordRequest { command_id, on }).await,
        Order::Window { length_ns } => {
            let request = RecordWindowRequest {
                command_id,
                length_ns,
            };
            client.record_window(request).await
        }
        Order::Shutdown => client.shutdown(ShutdownRequest { command_id }).await,
        Order::Strategy { strategy } => {
            let request = SetStrategyRequest {
                command_id,
                strategy: strategy.to_string(),
            };
            client.set_strategy(request).await
        }
        Order::Sampling(Sampling { frequency, by }) => {
            let request = SetSamplingRequest {
                command_id,
                frequency,
                by_timer: by == SampledBy::Timer,
            };
            client.set_sampling(request).await
        }
        Order::Analyses { these, on } => {
            let request = SetAnalysesRequest {
                command_id,
                names: these.iter().map(|one| one.name().to_owned()).collect(),
                on,
            };
            client.set_analyses(request).await
        }
        Order::Select(selection) => {
            let rules = selection.rules.iter().map(SelectionRule::from);
            let request = SetSelectionRequest {
                command_id,
                replace: selection.replaces,
                rules: rules.collect(),
            };
            client.set_selection(request).await
        }
        Order::Metrics(measured) => {
            let request = SetMetricsRequest {
                command_id,
                names: measured.set.names().collect(),
                interval_ns: measured.interval_ns,
            };
            client.set_metrics(request).await
        }
        Order::Overhead { cap } => {
            let cap = cap.map(OverheadCap::share);
            client
                .set_overhead(SetOverheadRequest { command_id, cap })
                .await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[test]
    fn strategies_are_parsed_from_their_text() {
        let order = |text: &str| {
            SetStrategyRequest {
                command_id: 0,
                strategy: text.to_owned(),
            }
            .order()
        };
        let parsed = order(" duration:1000us").expect("a strategy");
        assert_eq!(parsed.to_string(), "duration:1ms");
        let refused = order("best").expect_err("no strategy");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(
            refused
                .message()
                .contains("\"best\" is no rule of a strategy; there are time")
        );
    }

    #[test]
    fn analyses_are_switched_by_their_names() {
        let order = |names: &[&str]| {
            SetAnalysesRequest {
                command_id: 0,
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                on: true,
            }
            .order()
        };
        let both = order(&["messages", "matrix"]).expect("analyses");
        assert_eq!(both.to_string(), "on matrix,messages");
        for names in [&["message"][..], &[], &["none"]] {
            let refused = order(names).expect_err("none is named");
            assert_eq!(refused.code(), Code::InvalidArgument, "{names:?}");
        }
    }

    #[test]
    fn rules_are_parsed_from_their_text() {
        let order = |fits: &str| {
            let include = false;
            let fits = fits.to_owned();
            SetSelectionRequest {
                command_id: 0,
                replace: true,
                rules: vec![SelectionRule { include, fits }],
            }
            .order()
        };
        let parsed = order("shorter:1000ns").expect("a rule");
        assert_eq!(parsed.to_string(), "only: exclude shorter:1us@10000");
        let refused = order("group:all").expect_err("no group");
        assert_eq!(refused.code(), Code::InvalidArgument);
        let sentence = "\"all\" is no group of MPI functions; there are p2p";
        assert!(refused.message().contains(sentence), "{refused}");
    }

    #[test]
    fn arguments_outside_their_limits_are_refused() {
        let window = RecordWindowRequest {
            command_id: 3,
            length_ns: 0,
        };
        assert_eq!(window.command_id(), 3);
        let refused = window.order().expect_err("too short");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("24 hours"));
    }
}
