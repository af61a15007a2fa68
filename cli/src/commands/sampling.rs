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

Where the kernel or a container forbids perf events, timer samples without them: a timer for each \
thread, whose signal (SIGURG) is handled in the program. It fires with the tick of the kernel, 100 \
to 1000 times a second at most, and is never used unasked.

Examples:
  invivo sampling on
  invivo sampling 1kHz
  invivo sampling timer
  invivo sampling off")]
pub struct Args {
    /// Samples a second of each thread's time on a processor, 10000 at most, as 251 or 1kHz; or on
    /// (251), or off; or timer (99) or timer:50Hz, where perf events are forbidden
    #[arg(value_name = "FREQUENCY", value_parser = <Sampling as Value>::parse)]
    sampling: Option<Sampling>,
    #[command(flatten)]
    target: Target,
}

/// Switches sampling, or shows whether ranks are sampled.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let Some(sampling) = args.sampling else {
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
    carry_out(&args.target, Order::Sampling(sampling)).await
}
