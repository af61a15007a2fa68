//! `invivo invite`: a secret that opens the job once, for a page or a colleague.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1::InviteRequest;
use invivo_report::units::duration;

/// Options of `invivo invite`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The secret is good once and for a short time. Who has it may do what its scope says: hand it on by \
a way that others
cannot read.

Examples:
  invivo invite                        a URL to look at the job
  invivo invite --scope control        one to steer it as well")]
pub struct Args {
    /// What it opens: looking, or steering as well
    #[arg(long, value_enum, default_value_t = Opens::View)]
    scope: Opens,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Opens {
    View,
    Control,
}

/// Makes a secret.
///
/// # Errors
/// Why there can be none.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    // An invitation grants at most the scope of the connection that asks for it.
    let (name, scope) = match args.scope {
        Opens::View => ("view", Scope::View),
        Opens::Control => ("control", Scope::Control),
    };
    let (job, client) = args.target.client(scope)?;
    let request = InviteRequest {
        scope: name.to_owned(),
    };
    let reply = patiently(&job, async || client.clone().invite(request.clone()).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else if reply.url.is_empty() {
        print(&format!(
            "{}\ngood once, within {}, for {name}; the job listens on this host only (see invivo \
             run --listen)\n",
            reply.secret,
            duration(reply.valid_ns)
        ))?;
    } else {
        print(&format!(
            "{}\ngood once, within {}, for {name}\n",
            reply.url,
            duration(reply.valid_ns)
        ))?;
    }
    Ok(Outcome::Done)
}
