//! The progress line on a terminal: what a command waits for, and for how long already. Elsewhere
//! nothing is printed.

use std::io::{IsTerminal, Write};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What ends sooner needs no line.
const QUIET_TIME: Duration = Duration::from_millis(300);
/// Between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(200);

/// The line; it goes when this is ended or dropped.
pub struct Progress {
    task: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows `what` after a moment, with the time gone and, if it is known, the time that it takes.
    pub fn show(what: &str, length: Option<Duration>) -> Progress {
        // A log file would fill with lines that were meant to replace each other.
        if !std::io::stderr().is_terminal() {
            return Progress { task: None };
        }
        let (what, since) = (what.to_owned(), Instant::now());
        let task = tokio::spawn(async move {
            tokio::time::sleep(QUIET_TIME).await;
            loop {
                draw(&line(&what, since.elapsed(), length));
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Progress { task: Some(task) }
    }

    /// Takes the line away before anything else is printed.
    pub async fn end(mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            // Until the task has ended it may still draw the line once more.
            let _ = task.await;
            draw("");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            draw("");
        }
    }
}

/// A line about work whose steps are counted, on a terminal; it goes when this is dropped.
#[derive(Debug, Default)]
pub struct Meter {
    begun: Option<Instant>,
    drawn: Option<Instant>,
}

impl Meter {
    /// Shows the line, if it is time for one.
    pub fn show(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        let is_due = self.drawn.is_none_or(|drawn| now - drawn >= INTERVAL);
        if is_due && now - begun >= QUIET_TIME && std::io::stderr().is_terminal() {
            draw(&line());
            self.drawn = Some(now);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            draw("");
        }
    }
}

fn draw(line: &str) {
    // Carriage return, the line, and erase what a longer one left behind.
    let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
}

/// "recording: 1.2 of 5.0 s", "waiting for every rank: 12.3 s".
fn line(what: &str, gone: Duration, length: Option<Duration>) -> String {
    let gone_s = gone.as_secs_f64();
    match length {
        Some(length) if gone < length => {
            format!("{what}: {gone_s:.1} of {:.1} s", length.as_secs_f64())
        }
        Some(length) => format!(
            "{what}: over, taking the rest: {:.1} s",
            (gone - length).as_secs_f64()
        ),
        None => format!("{what}: {gone_s:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_left_to_wait_for() {
        let ms = Duration::from_millis;
        assert_eq!(line("waiting", ms(12_340), None), "waiting: 12.3 s");
        assert_eq!(
            line("recording", ms(1_240), Some(ms(5_000))),
            "recording: 1.2 of 5.0 s"
        );
        assert_eq!(
            line("recording", ms(5_300), Some(ms(5_000))),
            "recording: over, taking the rest: 0.3 s"
        );
    }
}
