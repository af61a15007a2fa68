//! `invivo invite`: a secret that opens the job once, for a program or a colleague, who types
//! `invivo join`; who was invited; and taking that back.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::invitation::Invitation;
use crate::job::Job;
use invivo_config::{Time, Value};
use invivo_grpc::v1::{Guest, GuestsRequest, InviteReply, InviteRequest, RevokeRequest};
use invivo_report::units::duration;
use serde::Serialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Options of `invivo invite`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The line is good once and for a limited time, and gives its guest a token. Who has it may do what \
its scope says: hand it on by a way that others
cannot read. What a guest has can be taken back at any time, with all that this guest has invited.
A guest is another user, so the job has to listen on TCP: invivo run --listen HOST:0.

Examples:
  invivo invite                        a line for a colleague who wants to look
  invivo invite --for 5m               one that is good for five minutes
  invivo invite --scope control        one to steer it as well
  invivo invite --list                 who was invited
  invivo invite --revoke 2             guest 2 is out, at once")]
pub struct Args {
    /// What it opens: looking, or steering as well
    #[arg(long, value_enum, default_value_t = Opens::View)]
    scope: Opens,
    /// How long the invitation waits to be used: an hour at most
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = Time::parse)]
    valid: Time,
    /// Show who was invited
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Take back a guest's token or invitation
    #[arg(long, value_name = "GUEST")]
    revoke: Option<u64>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Opens {
    View,
    Control,
}

/// Makes a secret, lists guests, or revokes one.
///
/// # Errors
/// Why that cannot be.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.revoke {
        Some(guest) => revoke(&args.target, guest).await,
        None if args.list => list(&args.target).await,
        None => invite(&args).await,
    }
}

async fn invite(args: &Args) -> anyhow::Result<Outcome> {
    // An invitation grants at most the scope of the connection that asks for it.
    let (name, scope) = match args.scope {
        Opens::View => ("view", Scope::View),
        Opens::Control => ("control", Scope::Control),
    };
    let (job, client) = args.target.client(scope)?;
    let request = InviteRequest {
        scope: name.to_owned(),
        valid_ns: args.valid.ns(),
    };
    let reply = patiently(&job, async || client.clone().invite(request.clone()).await).await?;
    if args.target.json {
        let join = line_of(&job, &reply);
        print_json(&Invited {
            reply: &reply,
            join,
        })?;
    } else {
        print(&told(&job, name, &reply))?;
    }
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Invited<'a> {
    #[serde(flatten)]
    reply: &'a InviteReply,
    /// For `invivo join`, where the job listens on TCP.
    join: Option<String>,
}

/// What `invivo join` takes.
fn line_of(job: &Job, reply: &InviteReply) -> Option<String> {
    let invitation = Invitation {
        url: job.url.clone()?,
        job: job.job.clone(),
        secret: reply.secret.clone(),
        authority: job.authority.clone()?,
    };
    Some(invitation.to_string())
}

/// What to hand on, and what that is.
fn told(job: &Job, scope: &str, reply: &InviteReply) -> String {
    let (valid, guest) = (duration(reply.valid_ns), reply.guest);
    let back = format!("invivo invite --revoke {guest} takes it back");
    match line_of(job, reply) {
        Some(line) => {
            format!("invivo join '{line}'\ngood once, within {valid}, for {scope}; {back}\n")
        }
        None => format!(
            "{}\ngood once, within {valid}, for {scope}, for your own user on this host only (see \
             invivo run --listen): the gRPC call Redeem gives a token for it; {back}\n",
            reply.secret
        ),
    }
}

async fn list(target: &Target) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::Control)?;
    let request = GuestsRequest {};
    let reply = patiently(&job, async || client.clone().guests(request).await).await?;
    if target.json {
        print_json(&reply)?;
    } else if reply.guests.is_empty() {
        print("nobody is invited\n")?;
    } else {
        let lines = reply.guests.iter().map(|guest| line(guest, now()));
        print(&lines.collect::<String>())?;
    }
    Ok(Outcome::Done)
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn line(guest: &Guest, now: Duration) -> String {
    let ago = now.saturating_sub(Duration::from_nanos(guest.since_unix_ns));
    let by = match guest.invited_by {
        0 => String::new(),
        number => format!(", by guest {number}"),
    };
    let used = if guest.used {
        "has a token"
    } else {
        "has not come yet"
    };
    format!(
        "guest {}: {}, invited {} ago{by}, {used}\n",
        guest.number,
        guest.scope,
        duration(u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX))
    )
}

async fn revoke(target: &Target, guest: u64) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::Control)?;
    let request = RevokeRequest { guest };
    let reply = patiently(&job, async || client.clone().revoke(request).await).await?;
    if target.json {
        print_json(&reply)?;
    } else {
        let numbers: Vec<String> = reply.guests.iter().map(u64::to_string).collect();
        print(&format!("revoked: guest {}\n", numbers.join(", ")))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_a_line() {
        let mut guest = Guest {
            number: 3,
            scope: "view".into(),
            invited_by: 0,
            since_unix_ns: 1_000_000_000,
            used: false,
        };
        let now = Duration::from_secs(6);
        assert_eq!(
            line(&guest, now),
            "guest 3: view, invited 5.00 s ago, has not come yet\n"
        );
        (guest.invited_by, guest.used) = (2, true);
        assert!(line(&guest, now).ends_with("ago, by guest 2, has a token\n"));
    }
}
