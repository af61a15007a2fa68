//! `invivo strategy`: shows or changes what buffers keep when not everything fits.

use super::control::carry_out;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::buffers;
use invivo_config::Value;
use invivo_grpc::v1;
use invivo_proto::control::order::Order;
use invivo_proto::control::strategy::Strategy;
use serde_json::json;

/// Options of `invivo strategy`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Without a strategy, shows the one in force. What buffers hold when it changes stays as it was \
sorted, and goes first.

Rules are joined by commas, in the order in which detail is given up:
  time                      the oldest first: the newest stays complete (alone: the flight recorder)
  duration:1ms              the shortest calls first; those of at least 1 ms stay longest
  iterations:4@MPI_Barrier  every second iteration first, four times over; each call of the
                            function ends an iteration

Examples:
  invivo strategy
  invivo strategy duration:100us
  invivo strategy duration:1ms,iterations:4@MPI_Allreduce")]
pub struct Args {
    /// What buffers are to keep from now on when not everything fits
    #[arg(value_name = "STRATEGY", value_parser = <Strategy as Value>::parse)]
    strategy: Option<Strategy>,
    #[command(flatten)]
    target: Target,
}

/// Shows or changes what buffers keep.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let Some(strategy) = args.strategy else {
        let (job, client) = args.target.client(Scope::View)?;
        let reply = patiently(&job, async || {
            client.clone().buffers(v1::BuffersRequest {}).await
        })
        .await?;
        if args.target.json {
            print_json(&json!({ "strategies": reply.strategies }))?;
        } else {
            print(&buffers::strategies(&reply))?;
        }
        return Ok(Outcome::Done);
    };
    carry_out(&args.target, Order::Strategy { strategy }).await
}
