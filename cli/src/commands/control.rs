//! `invivo pause` and `invivo resume`.

use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::units::{counted, duration};
use invivo_grpc::v1::{CommandReply, PauseRequest, ResumeRequest};
use std::time::Duration;

/// Options of `invivo pause`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The application stands still until `invivo resume`, until the lease is over, or until the measurement is lost.
The exit status is 0 only if every rank has acknowledged.

Examples:
  invivo pause
  invivo pause --lease 30s
  invivo pause --json | jq .took_ns")]
pub struct PauseArgs {
    /// The longest that the application stands, as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = lease)]
    lease: Duration,
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

fn lease(text: &str) -> Result<Duration, String> {
    let lease =
        humantime::parse_duration(text).map_err(|error| format!("{error}; give a time as 30s, 10m or 2h"))?;
    // An empty lease would be taken as none given.
    if lease.is_zero() {
        Err("a pause of no time; give a time as 30s, 10m or 2h".to_owned())
    } else {
        Ok(lease)
    }
}

/// Lets the application stand still.
///
/// # Errors
/// Why it cannot be done.
pub async fn pause(args: PauseArgs) -> anyhow::Result<Outcome> {
    let (connect, client) = args.target.client(Scope::Control)?;
    let lease_ns = args.lease.as_nanos().try_into().unwrap_or(u64::MAX);
    let request = PauseRequest {
        command_id: fresh_id()?,
        lease_ns,
    };
    let reply = patiently(&connect, async || client.clone().pause(request).await).await?;
    tell(
        args.target.json,
        "paused",
        &reply,
        &format!(
            "; to go on: invivo resume (or in {} by itself)",
            duration(reply.lease_ns)
        ),
    )
}

/// Lets a paused application go on.
///
/// # Errors
/// Why it cannot be done.
pub async fn resume(args: ResumeArgs) -> anyhow::Result<Outcome> {
    let (connect, client) = args.target.client(Scope::Control)?;
    let request = ResumeRequest {
        command_id: fresh_id()?,
    };
    let reply = patiently(&connect, async || client.clone().resume(request).await).await?;
    tell(args.target.json, "resumed", &reply, "")
}

/// Chosen here, so that a repeated call is the same command.
fn fresh_id() -> anyhow::Result<u64> {
    let mut bytes = [0u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes).max(1))
}

fn tell(json: bool, done: &str, reply: &CommandReply, next: &str) -> anyhow::Result<Outcome> {
    if json {
        print_json(reply)?;
    } else {
        print(&format!("{}{next}\n", sentence(done, reply)))?;
    }
    if complete(reply) {
        return Ok(Outcome::Done);
    }
    for line in failures(reply) {
        note(&line);
    }
    note("not every rank has acknowledged; see what they do: invivo status");
    Ok(Outcome::Incomplete)
}

/// Whether every rank has acknowledged, and there was one.
fn complete(reply: &CommandReply) -> bool {
    reply.targets > 0 && reply.done == reply.targets && reply.failures.is_empty() && reply.missing.is_empty()
}

/// "paused 8 of 8 ranks in 3.1 ms, slowest rank 5 (3 held in MPI, 1 partly held)".
fn sentence(done: &str, reply: &CommandReply) -> String {
    let ranks = counted(reply.targets.into(), "rank");
    let mut text = format!("{done} {} of {ranks} in {}", reply.done, duration(reply.took_ns));
    if let Some(slowest) = &reply.slowest {
        text.push_str(&format!(", slowest rank {}", slowest.rank));
    }
    let held = [(reply.held_in_mpi, "held in MPI"), (reply.partly, "partly held")];
    let held: Vec<String> = held
        .iter()
        .filter(|(ranks, _)| *ranks > 0)
        .map(|(ranks, how)| format!("{ranks} {how}"))
        .collect();
    if !held.is_empty() {
        text.push_str(&format!(" ({})", held.join(", ")));
    }
    text
}

/// Who has not acknowledged, one line each.
fn failures(reply: &CommandReply) -> Vec<String> {
    let ranks = reply
        .failures
        .iter()
        .map(|failure| format!("rank {}: {}", failure.rank, failure.why));
    let places = reply
        .missing
        .iter()
        .map(|world| format!("the tool process of world rank {world} did not answer"));
    ranks.chain(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CommandFailure, SlowestRank};

    fn reply() -> CommandReply {
        let slowest = Some(SlowestRank {
            rank: 5,
            time_ns: 2_000_000,
        });
        CommandReply {
            targets: 8,
            done: 8,
            slowest,
            took_ns: 3_100_000,
            ..CommandReply::default()
        }
    }

    #[test]
    fn a_pause_of_all_is_a_sentence() {
        assert_eq!(
            sentence("paused", &reply()),
            "paused 8 of 8 ranks in 3.10 ms, slowest rank 5"
        );
        let held = CommandReply {
            held_in_mpi: 3,
            partly: 1,
            ..reply()
        };
        assert!(sentence("paused", &held).ends_with("slowest rank 5 (3 held in MPI, 1 partly held)"));
        assert!(complete(&held));
    }

    #[test]
    fn whoever_is_missing_makes_it_incomplete() {
        let failures_in = |reply: CommandReply| (complete(&reply), failures(&reply));
        let why = CommandFailure {
            rank: 2,
            why: "its supervisor is gone".into(),
        };
        let failed = CommandReply {
            done: 7,
            failures: vec![why],
            ..reply()
        };
        assert_eq!(
            failures_in(failed),
            (false, vec!["rank 2: its supervisor is gone".into()])
        );
        let missing = CommandReply {
            done: 4,
            missing: vec![9],
            ..reply()
        };
        assert_eq!(
            failures_in(missing),
            (
                false,
                vec!["the tool process of world rank 9 did not answer".into()]
            )
        );
        assert!(!complete(&CommandReply::default()), "nobody was paused");
    }

    #[test]
    fn leases_have_units() {
        assert_eq!(lease("10m"), Ok(Duration::from_secs(600)));
        assert!(lease("10").is_err_and(|error| error.contains("30s")));
        assert!(lease("0s").is_err());
    }
}
