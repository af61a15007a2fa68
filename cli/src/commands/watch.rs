//! `invivo watch`: a line that is refreshed in place on a terminal, plain lines elsewhere.

use super::target::Target;
use super::{Outcome, note, print, print_as_it_is, print_json};
use crate::client::{Client, PATIENCE, Scope, explained};
use crate::job::Job;
use invivo_config::{Time, Value};
use invivo_grpc::v1::{Snapshot, WatchRequest};
use invivo_report::{status, terminal};
use std::io::IsTerminal;
use std::time::Duration;
use tokio::time::Instant;
use tonic::{Code, Status, Streaming};

/// Options of `invivo watch`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Ends with the job, or with Ctrl-C; the job is not affected.

Examples:
  invivo watch
  invivo watch --interval 200ms
  invivo watch --count 10 --json | jq .status.ranks")]
pub struct Args {
    /// Time between two lines, as 200ms or 5s; at most ten per second [default: 1s, or what is
    /// configured]
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    interval: Option<Time>,
    /// End after this many lines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    #[command(flatten)]
    target: Target,
}

/// Shows snapshots until the job ends or enough have been shown.
///
/// # Errors
/// Why there is nothing to show.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let interval = match args.interval {
        Some(interval) => interval,
        None => invivo_config::of_client()?.interval.value,
    };
    let (job, client) = args.target.client(Scope::View)?;
    let request = WatchRequest {
        interval_ns: interval.ns(),
        // For the share of time in MPI and the heaviest function, which the line shows.
        functions: true,
    };
    let mut screen = Screen::new(args.target.json);
    let mut left = args.count.unwrap_or(u64::MAX);

    // The gateway may die and be started again: a new stream is opened, as long as the job runs.
    while let Some(mut snapshots) = open(&job, &client, request).await? {
        while let Some(snapshot) = next(&job, &mut snapshots).await? {
            screen.show(snapshot)?;
            left -= 1;
            if left == 0 {
                screen.leave()?;
                return Ok(Outcome::Done);
            }
        }
    }
    screen.leave()?;
    note(&format!("job {} has ended", job.job));
    Ok(Outcome::Done)
}

/// A stream of snapshots, or nothing when the job has ended.
async fn open(
    job: &Job,
    client: &Client,
    request: WatchRequest,
) -> anyhow::Result<Option<Streaming<Snapshot>>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.clone().watch(request).await {
            Ok(stream) => return Ok(Some(stream.into_inner())),
            // Before the kind of error matters: a gateway that leaves with its job may fail in any
            // way.
            Err(_) if job.has_ended().await => return Ok(None),
            Err(status) if status.code() != Code::Unavailable || Instant::now() >= deadline => {
                return Err(explained(job, &status).into());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// The next snapshot, or nothing when the stream has ended or broken.
async fn next(job: &Job, snapshots: &mut Streaming<Snapshot>) -> anyhow::Result<Option<Snapshot>> {
    match snapshots.message().await {
        Ok(snapshot) => Ok(snapshot),
        Err(status) if is_break(&status) => Ok(None),
        Err(status) => Err(explained(job, &status).into()),
    }
}

/// Whether a stream ended because its connection broke, and not by an error of the gateway.
fn is_break(status: &Status) -> bool {
    std::error::Error::source(status).is_some() || status.code() == Code::Unavailable
}

/// Where snapshots are shown.
struct Screen {
    json: bool,
    /// Lines replace each other.
    in_place: bool,
    before: Option<Snapshot>,
}

impl Screen {
    fn new(json: bool) -> Screen {
        let in_place = !json && std::io::stdout().is_terminal();
        Screen {
            json,
            in_place,
            before: None,
        }
    }

    fn show(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        if self.json {
            print_json(&snapshot)?;
        } else if self.in_place {
            let line = status::line(&snapshot, self.before.as_ref());
            let line = terminal::line(&line);
            // Carriage return, the line, and erase what a longer one left behind.
            print_as_it_is(&format!("\r{}\x1b[K", cut(&line, width())))?;
        } else {
            print(&(status::line(&snapshot, self.before.as_ref()) + "\n"))?;
        }
        self.before = Some(snapshot);
        Ok(())
    }

    /// Leaves the last line standing.
    fn leave(&self) -> anyhow::Result<()> {
        if self.in_place && self.before.is_some() {
            print("\n")
        } else {
            Ok(())
        }
    }
}

/// Columns of the terminal; one stays free, as some terminals wrap a full line.
fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_col);
    if columns == 0 {
        // The usual 80 columns, one of them free.
        79
    } else {
        usize::from(columns) - 1
    }
}

fn cut(line: &str, width: usize) -> &str {
    line.char_indices()
        // By characters: a cut inside of one would be no text any more.
        .nth(width)
        .map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("äbcdef", 3), "äbc");
    }
}
