//! `invivo report`: a report that was written as JSON, or one of the running job, as text or as a
//! page.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Client, Scope, patiently};
use anyhow::{Context, bail};
use invivo_grpc::v1;
use invivo_jobdir::whole_file;
use invivo_report::Report;
use invivo_report::now::{Answers, RANK_ROWS_MAX, SIDE_MAX, SITES_MAX};
use invivo_report::rows::Start;
use std::path::{Path, PathBuf};
use tonic::{Code, Response, Status};

/// Options of `invivo report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The file is one that `invivo run --report NAME.json` has written; no job is needed. Without one it
is of the running job, or of the observation that is open, as it is now.
The page is one file that needs no other and no network: it can be sent, printed and kept.

Examples:
  invivo report melt.json
  invivo report --json > now.json                          of the running job
  invivo open melt.obs -- report --html melt.html          of what was saved
  invivo report melt.json --html melt.html
  invivo report melt.json --json | jq '.totals[] | {function, seconds}'
  invivo run --report melt.html -- mpiexec -n 4 ./app      the page at the end of the job")]
pub struct Args {
    /// The report, as JSON; without one that of the running job
    file: Option<PathBuf>,
    /// Write an HTML page instead of printing text
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

/// Shows a report again, or makes a page of it.
///
/// # Errors
/// When the report cannot be read, or the page not be written.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let report = match &args.file {
        Some(file) => invivo_report::read(file)?,
        None => now(&args.target).await?,
    };
    if let Some(path) = &args.html {
        if args.file.as_ref().is_some_and(|file| is_same(path, file)) {
            bail!(
                "the page would replace the report {}; give another name to --html",
                path.display()
            );
        }
        let page = invivo_report::html(&report);
        whole_file::write(path, page.as_bytes())
            .with_context(|| format!("cannot write the page to {}", path.display()))?;
    }
    match (&args.html, args.target.json) {
        (_, true) => print_json(&report)?,
        (Some(path), false) => {
            print(&format!(
                "the page is in {}: open it in a browser\n",
                path.display()
            ))?;
        }
        (None, false) => print(&invivo_report::text(&report))?,
    }
    Ok(Outcome::Done)
}

/// The report of the job as it is now.
async fn now(target: &Target) -> anyhow::Result<Report> {
    let (job, client) = target.client(Scope::View)?;
    let answers = patiently(&job, async || asked(client.clone()).await).await?;
    // Of an observation it is not known better.
    let saved = answers.job.observation.as_ref().map(|of| {
        let before_ns = of.to_ns.saturating_sub(of.from_ns);
        of.saved_unix_ns.saturating_sub(before_ns) / 1_000_000_000
    });
    let start = Start {
        unix: saved.unwrap_or(job.started_unix),
        host: job.host.clone(),
        command: job.command.clone(),
        invivo_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(Report::now(Answers {
        start: Some(start),
        ..answers
    }))
}

async fn asked(mut client: Client) -> Result<Response<Answers>, Status> {
    let functions = v1::FunctionsRequest {
        per_rank: true,
        rank_rows_max: RANK_ROWS_MAX,
        ..v1::FunctionsRequest::default()
    };
    let matrix = v1::MatrixRequest {
        side_max: SIDE_MAX,
        ..v1::MatrixRequest::default()
    };
    let functions = client.functions(functions).await?.into_inner();
    let matrix = client.matrix(matrix).await?.into_inner();
    let waits = client.wait_states(v1::WaitStatesRequest::default()).await?;
    let sites = v1::CallSitesRequest {
        rows_max: SITES_MAX,
        ..v1::CallSitesRequest::default()
    };
    let sites = match client.call_sites(sites).await {
        Ok(sites) => Some(sites.into_inner()),
        // An observation has none.
        Err(status) if status.code() == Code::FailedPrecondition => None,
        Err(status) => return Err(status),
    };
    let loops = match &sites {
        Some(_) => Some(client.iterations(v1::IterationsRequest::default()).await?),
        None => None,
    };
    let regions = client.regions(v1::RegionsRequest::default()).await?;
    // Last: its coverage is of all that the others have.
    let status = client.status(v1::StatusRequest {}).await?.into_inner();
    // Behind the others: a gateway that has just begun does not know its job before.
    let hello = client.hello(v1::HelloRequest::default()).await?;
    let job = hello.into_inner().job;
    Ok(Response::new(Answers {
        start: None,
        job: job.ok_or_else(|| Status::unavailable("the gateway does not know its job yet"))?,
        status,
        functions,
        matrix,
        waits: waits.into_inner(),
        call_sites: sites,
        loops: loops.map(Response::into_inner),
        regions: regions.into_inner(),
    }))
}

fn is_same(page: &Path, report: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    whole(page).is_some_and(|page| whole(report) == Some(page))
}
