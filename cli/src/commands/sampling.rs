//! `invivo sampling`: switches sampling, or shows whether ranks are sampled.

use super::control::carry_out;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::profile;
use invivo_config::{Sampling, Value};
use invivo_grpc::v1;
use invivo_proto::control::order::Order;

/// Options of `invivo sampling`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Without a frequency, shows which ranks are sampled. A sample is a look of the kernel at a thread, \
at even intervals of its time on a processor: no signal, no stop, nothing of ours in the program. \
What was seen stays when it is switched off, and is added to when it is switched on again.

Samples cost the ranks some microseconds each, so 251 a second some thousandth of their time; a \
process beside each rank follows their paths.

Examples:
  invivo sampling on
  invivo sampling 1kHz
  invivo sampling off")]
pub struct Args {
    /// Samples a second of each thread's time on a processor, 10000 at most, as 251 or 1kHz; or on
    /// (251), or off
    #[arg(value_name = "FREQUENCY", value_parser = <Sampling as Value>::parse)]
    frequency: Option<Sampling>,
    #[command(flatten)]
    target: Target,
}

/// Switches sampling, or shows whether ranks are sampled.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let Some(Sampling(frequency)) = args.frequency else {
        let (job, client) = args.target.client(Scope::View)?;
        let all = v1::ProfileRequest::default();
        let mut reply = patiently(&job, async || client.clone().profile(all.clone()).await).await?;
        if args.target.json {
            // Where time goes is another question.
            reply.nodes.clear();
            print_json(&reply)?;
        } else {
            print(&profile::about(&reply))?;
        }
        return Ok(Outcome::Done);
    };
    carry_out(&args.target, Order::Sampling { frequency }).await
}
