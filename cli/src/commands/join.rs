//! `invivo join`: takes an invitation, and keeps what it gives as a `connect.json`.

use super::{Outcome, print, print_json};
use crate::invitation::Invitation;
use anyhow::Context;
use invivo_grpc::channel::Way;
use invivo_grpc::v1::invivo_client::InvivoClient;
use invivo_grpc::v1::{RedeemReply, RedeemRequest};
use invivo_jobdir::Connect;
use serde::Serialize;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Options of `invivo join`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Writes a file that every command takes by --connect, or that stands in INVIVO_CONNECT. It opens the
job until the guest is revoked or the job ends: keep it to yourself.

Examples:
  invivo join 'https://node17:40123/node17-4711#...'
  invivo top --connect node17-4711.connect.json
  invivo web --connect node17-4711.connect.json")]
pub struct Args {
    /// What `invivo invite` has printed, in quotes
    invitation: String,
    /// Where to keep what it gives [default: JOB.connect.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Joined<'a> {
    job: &'a str,
    scope: &'a str,
    connect: &'a Path,
}

/// Takes the invitation.
///
/// # Errors
/// Why it gives nothing.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let invitation = Invitation::parse(&args.invitation).context(
        "this is no invitation: take the whole line that invivo invite has printed, in quotes",
    )?;
    let usual = || PathBuf::from(format!("{}.connect.json", invitation.job));
    let path = args.output.clone().unwrap_or_else(usual);
    // First: the secret is good once, and would be lost with a file that cannot be written.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| {
            let path = path.display();
            format!("cannot make {path}; give another name with -o (the invitation is not used)")
        })?;
    let taken = take(&invitation, &file).await;
    if taken.is_err() {
        // Nothing is in it.
        let _ = std::fs::remove_file(&path);
    }
    let RedeemReply { scope, .. } = taken?;
    let job = &invitation.job;
    if args.json {
        print_json(&Joined {
            job,
            scope: &scope,
            connect: &path,
        })?;
    } else {
        let path = path.display();
        print(&format!(
            "you may {} job {job}: invivo top --connect {path}, or export INVIVO_CONNECT={path}\n",
            if scope == "control" {
                "steer"
            } else {
                "look at"
            }
        ))?;
    }
    Ok(Outcome::Done)
}

/// Exchanges the secret for a token, which goes into the file.
async fn take(invitation: &Invitation, file: &File) -> anyhow::Result<RedeemReply> {
    let Invitation {
        url,
        job,
        secret,
        authority,
    } = invitation;
    let way = Way::Tls {
        url: url.clone(),
        authority: authority.clone(),
    };
    let request = RedeemRequest {
        secret: secret.clone(),
    };
    let reply = InvivoClient::new(way.channel()?).redeem(request).await;
    let reply = reply
        .map_err(|status| match std::error::Error::source(&status) {
            Some(source) => anyhow::anyhow!("cannot reach job {job} at {url}: {source}"),
            None => anyhow::anyhow!("job {job}: {}", status.message()),
        })?
        .into_inner();
    let steers = reply.scope == "control";
    let connect = Connect::of_guest(job, url, authority, &reply.token, steers);
    serde_json::to_writer_pretty(file, &connect)?;
    Ok(reply)
}
