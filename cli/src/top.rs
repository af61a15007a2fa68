//! `invivo top`: the job on a whole screen. What is known ([`model`]) and how it is drawn
//! ([`view`]) are pure; the terminal ([`terminal`]) and the gateway ([`link`]) are edges around
//! them.

mod confirmation;
mod finding;
mod history;
mod keys;
mod link;
mod model;
mod palette;
mod picture;
#[cfg(test)]
mod samples;
mod terminal;
mod view;

use crate::client::{Scope, patiently};
use crate::commands::Outcome;
use crate::commands::target::Target;
use crate::steer;
use crossterm::event::{Event as TerminalEvent, EventStream};
use invivo_config::{Time, Value};
use invivo_report::glyphs::Look;
use link::Link;
use model::{Action, Connection, Event, Model, Page, Settings};
use std::io::{IsTerminal, Write};
use std::time::Duration;
use terminal::{Screen, Signals};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_stream::StreamExt;

/// How often the screen is drawn without an event: it shows times that run on.
const TICK: Duration = Duration::from_millis(500);
/// The shortest time between two snapshots: the gateway gives no more than ten per second.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// Events that wait for the screen; the gateway's stream waits when there are more.
const EVENTS_MAX: usize = 16;

/// Options of `invivo top`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Keys: 1 to 7 pages, M the last minute or the whole run, space freezes the view, P pause,
R recording, X reset, W window, A analysis of the page, ? help, q quit.
The job is not affected by looking at it, nor by leaving.

Examples:
  invivo top
  invivo top --interval 200ms
  invivo top --ascii")]
pub struct Args {
    /// Time between two snapshots, as 200ms or 2s; at most ten per second
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = time)]
    interval: Duration,
    /// The longest that P lets the application stand, as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    lease: Duration,
    /// How long W records, as 500ms or 2s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    window: Duration,
    /// Draw with ASCII characters only, as it is done where the locale is not UTF-8
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    target: Target,
}

fn time(text: &str) -> Result<Duration, String> {
    Time::parse(text).map(|time| time.0)
}

/// Shows the job until the user leaves.
///
/// # Errors
/// Why there is nothing to show, or no terminal to show it on.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.target.json {
        anyhow::bail!("a screen is not JSON; for programs there is: invivo watch --json");
    }
    if !std::io::stdout().is_terminal() {
        anyhow::bail!("invivo top needs a terminal; without one there is: invivo watch");
    }
    let (job, client) = args.target.client(Scope::Control)?;
    // Before the screen opens: an error printed on the alternate screen would vanish with it.
    let hello = patiently(&job, async || client.clone().hello(steer::hello()).await).await?;
    let look = Look::of(args.ascii, |name| std::env::var_os(name));
    let settings = Settings {
        lease: args.lease,
        window: args.window,
    };
    let mut model = Model::new(&job.job, &job.command.join(" "), settings);
    model.step(Duration::ZERO, Event::Hello(hello));

    // Bounded, so that a slow terminal slows the stream instead of filling this process.
    let (sender, mut events) = mpsc::channel(EVENTS_MAX);
    let name = job.job.clone();
    let mut link = Link::open(job, client, args.interval.max(INTERVAL_MIN), sender);
    let mut signals = Signals::new()?;
    let mut keys = EventStream::new();
    let mut ticks = interval(TICK);
    // After a stop (Ctrl-Z) one redraw is enough.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let begun = Instant::now();
    let mut screen = Screen::open()?;

    let left_by = loop {
        // Before the first event: the user sees the frame while the gateway answers.
        let size = screen.draw(&model, look)?;
        match model.wants() {
            Some((Page::Functions, last_ns)) if last_ns != 0 => link.want_functions(last_ns),
            Some((Page::Matrix, last_ns)) => {
                link.want_matrix(view::matrix_side(size.width, size.height), last_ns)
            }
            Some((Page::Time, last_ns)) => {
                link.want_grid(view::time_size(size.width, size.height), last_ns)
            }
            Some((Page::Waits, last_ns)) => {
                link.want_waits(view::waits_ranks(size.height), last_ns)
            }
            _ => {}
        }
        let event = tokio::select! {
            event = events.recv() => event.ok_or_else(|| anyhow::anyhow!("nobody talks to the \
                gateway any more"))?,
            event = keys.next() => match event {
                Some(Ok(TerminalEvent::Key(event))) => match keys::key(&event) {
                    Some(key) => Event::Key(key),
                    None => continue,
                },
                // Another size: drawn anew.
                Some(Ok(_)) => Event::Tick,
                Some(Err(error)) => return Err(error.into()),
                None => break None,
            },
            _ = ticks.tick() => Event::Tick,
            signal = signals.next() => break Some(signal),
        };
        match model.step(begun.elapsed(), event) {
            Some(Action::Do(order)) => link.give(order),
            Some(Action::Quit) => break None,
            None => {}
        }
    };

    // The terminal is restored before anything is printed, or the signal ends this process.
    drop(screen);
    if let Some(signal) = left_by {
        // The parent sees the signal, as if we had not handled it.
        signals.die_of(signal)?;
    }
    if model.connection == Connection::Ended {
        // Standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "invivo: the measurement of job {name} has ended"
        );
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_are_some() {
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert!(time("0s").is_err() && time("soon").is_err());
    }
}
