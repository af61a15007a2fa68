//! The commands that do something to the application or the measurement, and wait until every rank
//! has acknowledged: `invivo pause`, `resume`, `hold`, `reset`, `shutdown`.

use super::progress::Progress;
use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::Scope;
use crate::steer;
use crate::view::command::{complete, failures};
use crate::view::since_start::SinceStart;
use invivo_config::{Time, Value};
use invivo_grpc::v1::CommandReply;
use invivo_proto::control::order::Order;
use invivo_report::units::duration;

/// Options of `invivo pause`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The application stands still until `invivo resume`, until the lease is over, or until the \
measurement is lost.
The exit status is 0 only if every rank has acknowledged.

Examples:
  invivo pause
  invivo pause --lease 30s
  invivo pause --json | jq .took_ns")]
pub struct PauseArgs {
    /// The longest that the application stands, as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = Time::parse)]
    lease: Time,
    #[command(flatten)]
    target: Target,
}

/// Options of `invivo hold`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Waits until every rank stands right behind its MPI_Init, before any statement that follows. Ranks \
that are past it are
named, and only a pause can hold them: to be in time, start the job with `invivo run --hold`. \
`invivo resume` lets the
ranks go.

Examples:
  invivo run --hold -- mpiexec -n 4 ./app &
  invivo hold && invivo record on && invivo resume
  invivo hold --lease 1m")]
pub struct HoldArgs {
    /// The longest that the application stands, as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = Time::parse)]
    lease: Time,
    #[command(flatten)]
    target: Target,
}

/// Options of `invivo resume`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The exit status is 0 only if every rank has acknowledged.

Examples:
  invivo resume
  invivo resume --job node1-4711")]
pub struct ResumeArgs {
    #[command(flatten)]
    target: Target,
}

/// Options of `invivo reset`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Everything that ended before the reset is never seen again, in no table and no report. A call that \
was under way
counts from the reset on and is marked as clipped. The application notices nothing.

Examples:
  invivo reset
  invivo reset && sleep 10 && invivo functions      the table of ten seconds
  invivo reset --json | jq .from                    where the cut lay, in job time")]
pub struct ResetArgs {
    #[command(flatten)]
    target: Target,
}

/// Options of `invivo shutdown`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Ends the measurement for good: the report is written now, and the job runs on unobserved. It \
cannot be undone; to
look away for a while there is `invivo record off`.

Examples:
  invivo shutdown")]
pub struct ShutdownArgs {
    #[command(flatten)]
    target: Target,
}

/// Lets the application stand still.
///
/// # Errors
/// Why it cannot be done.
pub async fn pause(args: PauseArgs) -> anyhow::Result<Outcome> {
    carry_out(
        &args.target,
        Order::Pause {
            lease_ns: args.lease.ns(),
        },
    )
    .await
}

/// Waits until every rank is held behind initialisation.
///
/// # Errors
/// Why it cannot be done.
pub async fn hold(args: HoldArgs) -> anyhow::Result<Outcome> {
    carry_out(
        &args.target,
        Order::Hold {
            lease_ns: args.lease.ns(),
        },
    )
    .await
}

/// Lets a paused or held application go on.
///
/// # Errors
/// Why it cannot be done.
pub async fn resume(args: ResumeArgs) -> anyhow::Result<Outcome> {
    carry_out(&args.target, Order::Resume).await
}

/// Forgets everything so far.
///
/// # Errors
/// Why it cannot be done.
pub async fn reset(args: ResetArgs) -> anyhow::Result<Outcome> {
    carry_out(&args.target, Order::Reset).await
}

/// Ends the measurement.
///
/// # Errors
/// Why it cannot be done.
pub async fn shutdown(args: ShutdownArgs) -> anyhow::Result<Outcome> {
    carry_out(&args.target, Order::Shutdown).await
}

/// Gives an order and prints its outcome.
pub(super) async fn carry_out(target: &Target, order: Order) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::Control)?;
    let progress = match order {
        Order::Hold { .. } => {
            Progress::show("waiting for every rank to come out of MPI_Init", None)
        }
        _ => Progress::show("waiting for every rank", None),
    };
    let reply = steer::give(&order, &job, &client).await;
    progress.end().await;
    let reply = reply?;

    if target.json {
        print_json(&reply)?;
    } else {
        print(&format!(
            "{}{}\n",
            steer::sentence(&order, &reply.clone().since(job.started_ns)),
            next(&order, &reply)
        ))?;
    }
    Ok(acknowledged(&reply))
}

/// Whether every rank has acknowledged; prints those that have not.
pub(super) fn acknowledged(reply: &CommandReply) -> Outcome {
    if complete(reply) {
        return Outcome::Done;
    }
    for line in failures(reply) {
        note(&line);
    }
    note("not every rank has acknowledged; see what they do: invivo status");
    Outcome::Incomplete
}

/// What can be done next.
fn next(order: &Order, reply: &CommandReply) -> String {
    match order {
        // Nothing was done, so there is nothing to undo.
        _ if reply.done == 0 => String::new(),
        Order::Pause { .. } | Order::Hold { .. } => format!(
            "; to go on: invivo resume (or in {} by itself)",
            duration(reply.lease_ns)
        ),
        Order::Record { on: false } => "; to switch it on again: invivo record on".to_owned(),
        Order::Shutdown => "; the job runs on unobserved".to_owned(),
        Order::Sampling(sampling) if !sampling.is_on() => {
            "; what was seen stays: invivo profile".to_owned()
        }
        Order::Sampling(_) => "; in some seconds: invivo profile".to_owned(),
        Order::Resume
        | Order::Reset
        | Order::Record { on: true }
        | Order::Window { .. }
        | Order::Strategy { .. }
        | Order::Analyses { on: true, .. } => String::new(),
        Order::Analyses { these, on: false } => {
            format!("; to switch on again: invivo analyses on {these}")
        }
        Order::Select(selection) if steer::is_all(selection) => String::new(),
        Order::Select(_) => "; to see what it does: invivo selection".to_owned(),
        Order::Metrics(measured) if measured.set.is_empty() => {
            "; what was measured stays: invivo metrics".to_owned()
        }
        Order::Metrics(_) => "; in some seconds: invivo metrics".to_owned(),
        Order::Overhead { cap: Some(_) } => "; to see what it does: invivo overhead".to_owned(),
        Order::Overhead { cap: None } => {
            "; what was given up comes back: invivo overhead".to_owned()
        }
    }
}
