//! `invivo session run`: steers a job by a script.

use super::progress::Progress;
use super::target::Target;
use super::{finish, note, print, print_json};
use crate::client::{self, Scope};
use crate::job::Job;
use crate::session::{Listener, Script, StepResult, Summary, read, run as carry_out};
use invivo_config::toml_file::{self, Source};
use invivo_config::{Time, Value};
use invivo_report::terminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::Instant;

/// Exit status of a file that is no session.
const MALFORMED: u8 = 2;
/// Exit status when there is no job to talk to.
const NO_JOB: u8 = 3;

/// Options of `invivo session`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    /// Carry out the steps of a file
    Run(RunArgs),
}

/// Options of `invivo session run`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Steps wait for a time, a state or a threshold, pause, resume, hold, reset, record, query and \
assert; the manual's page
on sessions describes them. A session that goes wrong lets the application go on if it had stopped \
it.

Exit status: 0 all steps passed; 1 an assertion does not hold, or a command was not done on every \
rank; 2 the file is
no session (FILE:LINE says where); 3 a step took too long, or the job is not there.

Examples:
  invivo session run steady.toml
  invivo session run steady.toml --dry-run          checks the file and prints the plan
  invivo session run steady.toml --within 1m        waits a minute for the job to start
  invivo session run steady.toml --json | jq '.steps[] | select(.outcome != \"passed\")'")]
struct RunArgs {
    /// The session, a TOML file
    file: PathBuf,
    /// Check the file and print the plan; no job is needed
    #[arg(long)]
    dry_run: bool,
    /// Wait so long for the job to start
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    within: Option<Time>,
    #[command(flatten)]
    target: Target,
}

/// Carries out a session.
pub fn run(args: Args) -> ExitCode {
    let What::Run(args) = args.what;
    // Before a job is looked for: a wrong file is reported even where no job runs.
    let script = match load(&args.file) {
        Ok(script) => script,
        Err(what) => {
            note(&what);
            return ExitCode::from(MALFORMED);
        }
    };
    if args.dry_run {
        let printed = if args.target.json {
            print_json(&script.plan_json())
        } else {
            print(&script.plan_text())
        };
        return finish(printed.map(|()| super::Outcome::Done));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return finish(Err(error.into())),
    };
    runtime.block_on(with_job(&args, &script))
}

fn load(file: &Path) -> Result<Script, String> {
    let text = toml_file::read(file)
        .map_err(|error| format!("cannot read the session {}: {error}", file.display()))?;
    let source = Source {
        path: file,
        text: &text,
    };
    read(&source).map_err(|error| error.to_string())
}

async fn with_job(args: &RunArgs, script: &Script) -> ExitCode {
    let found = match find(&args.target, args.within).await {
        Ok(job) => client::client(&job, Scope::Control).map(|client| (job, client)),
        Err(error) => Err(error),
    };

    let (job, client) = match found {
        Ok(found) => found,
        Err(error) => {
            note(&super::sentence(&error));
            return ExitCode::from(NO_JOB);
        }
    };
    let mut teller = Teller {
        json: args.target.json,
        progress: None,
    };
    let name = args.file.file_name().unwrap_or(args.file.as_os_str());
    let summary = carry_out(script, &name.to_string_lossy(), &job, client, &mut teller).await;
    // Its progress line goes before the summary is printed.
    drop(teller);
    match tell(&summary, args.target.json) {
        Ok(()) => ExitCode::from(summary.status),
        Err(error) => finish(Err(error)),
    }
}

/// Finds the job, and waits for it with `--within`.
async fn find(target: &Target, within: Option<Time>) -> anyhow::Result<Job> {
    let deadline = Instant::now() + within.map_or(Duration::ZERO, |time| time.0);
    let progress = Progress::show("waiting for the job", None);
    let found = loop {
        match target.find_silently() {
            Err(_) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(100)).await
            }
            found => break found,
        }
    };
    progress.end().await;
    found
}

fn tell(summary: &Summary, json: bool) -> anyhow::Result<()> {
    if let Some(cleanup) = &summary.cleanup {
        note(cleanup);
    }
    if json {
        print_json(summary)
    } else {
        print(&(summary.text() + "\n"))
    }
}

/// Prints each step as it ends; with `--json` everything is printed at the end.
struct Teller {
    json: bool,
    progress: Option<Progress>,
}

impl Listener for Teller {
    fn begins(&mut self, place: &str, title: &str, length: Option<Duration>) {
        self.progress = Some(Progress::show(&format!("{place}  {title}"), length));
    }

    fn ended(&mut self, result: &StepResult) -> std::io::Result<()> {
        self.progress = None;
        if self.json {
            return Ok(());
        }
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", terminal::lines(&result.text()))?;
        out.flush()
    }
}
