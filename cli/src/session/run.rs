//! Carries out a session: its steps, loops, timeouts, and the clean-up behind one that failed.

use super::outcome::{ANSWERS_BYTES_MAX, Ending, Listener, StepResult, Summary, length, place};
use super::running::Session;
use super::script::{Action, Script, Step, number};
use super::step::{Done, late};
use crate::client::Client;
use crate::job::Job;
use crate::steer;
use invivo_proto::control::order::Order;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout};

/// The longest attempt to resume the application behind a session that went wrong.
const CLEANUP_TIME: Duration = Duration::from_secs(10);

/// Carries out a script. A session that goes wrong lets the application go on if it had stopped it.
pub async fn run<L: Listener>(
    script: &Script,
    file: &str,
    job: &Job,
    client: Client,
    listener: &mut L,
) -> Summary {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut session = Session {
        job,
        client,
        listener,
        start: Instant::now(),
        results: Vec::new(),
        answers_bytes: 0,
        last: None,
        saves: 0,
        standing: false,
    };
    // An interruption drops the steps where they are: what they stopped is resumed below.
    let outcome = tokio::select! {
        ending = session.steps(&script.steps, "", &[]) => ending.err().unwrap_or(Ending::Passed),
        () = interruption() => Ending::Interrupted,
    };
    let cleanup = match outcome {
        Ending::Passed => None,
        _ => session.clean_up().await,
    };
    Summary {
        session: script.name.clone().unwrap_or_else(|| file.to_owned()),
        job: job.job.clone(),
        outcome,
        status: outcome.status(),
        unix_ns: ns(since_1970),
        duration_ns: ns(session.start.elapsed()),
        steps: session.results,
        cleanup,
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Ends at SIGINT or SIGTERM.
async fn interruption() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    // Without handlers the signals still end the process, but skip the clean-up.
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

impl<L: Listener> Session<'_, L> {
    async fn steps(&mut self, steps: &[Step], above: &str, rounds: &[u32]) -> Result<(), Ending> {
        for (at, step) in steps.iter().enumerate() {
            let number = number(above, at);
            match &step.action {
                Action::Loop { times, steps } => {
                    let looping = self.rounds(*times, steps, &number, rounds);
                    let outcome = match step.timeout {
                        Some(time) => timeout(time, looping).await.map_err(|_| time),
                        None => Ok(looping.await),
                    };
                    match outcome {
                        Ok(ended) => ended?,
                        Err(time) => {
                            let late = late(time, "");
                            // A loop that is late has no result of its own yet; its steps have
                            // theirs.
                            self.note(step, &number, rounds, Instant::now() - time, Err(late))?;
                        }
                    }
                }
                _ => self.step(step, &number, rounds).await?,
            }
        }
        Ok(())
    }

    async fn rounds(
        &mut self,
        times: u32,
        steps: &[Step],
        number: &str,
        above: &[u32],
    ) -> Result<(), Ending> {
        for round in 1..=times {
            let mut rounds = above.to_vec();
            rounds.push(round);
            // Boxed, because loops may contain loops: the future would contain itself.
            Box::pin(self.steps(steps, number, &rounds)).await?;
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step, number: &str, rounds: &[u32]) -> Result<(), Ending> {
        self.listener
            .begins(&place(number, rounds), &step.title(), length(&step.action));
        let begun = Instant::now();
        let mut seen = String::new();
        let done = match step.timeout {
            Some(time) => timeout(time, self.act(&step.action, &mut seen)).await,
            None => Ok(self.act(&step.action, &mut seen).await),
        };
        let done = done.unwrap_or_else(|_| Err(late(step.timeout.unwrap_or_default(), &seen)));
        self.note(step, number, rounds, begun, done)
    }

    /// Keeps a step's result, and ends the session where it did not pass.
    fn note(
        &mut self,
        step: &Step,
        number: &str,
        rounds: &[u32],
        begun: Instant,
        done: Done,
    ) -> Result<(), Ending> {
        let (outcome, detail, answer) = match done {
            Ok(passed) => (Ending::Passed, passed.detail, passed.answer),
            Err(trouble) => (trouble.ending, trouble.detail, trouble.answer),
        };
        let bytes = answer.as_ref().map_or(0, |answer| answer.get().len());
        // An answer that does not fit is left out alone: later, smaller ones may still fit.
        let fits = self.answers_bytes + bytes <= ANSWERS_BYTES_MAX;
        self.answers_bytes += if fits { bytes } else { 0 };
        let result = StepResult {
            step: number.to_owned(),
            rounds: rounds.to_vec(),
            name: step.title(),
            action: step.action.word(),
            line: step.line,
            start_ns: ns(begun.saturating_duration_since(self.start)),
            duration_ns: ns(begun.elapsed()),
            outcome,
            detail,
            answer_left_out: answer.is_some() && !fits,
            answer: answer.filter(|_| fits),
        };

        let told = self.listener.ended(&result);
        self.results.push(result);
        match (outcome, told) {
            (Ending::Passed, Ok(())) => Ok(()),
            // The output is closed: as an interruption by the user.
            (Ending::Passed, Err(_)) => Err(Ending::Interrupted),
            (ending, _) => Err(ending),
        }
    }

    /// Lets the application go on, if it was this session that had stopped it.
    async fn clean_up(&mut self) -> Option<String> {
        if !self.standing {
            return None;
        }
        // Bounded, because the gate opens by itself when the lease is over.
        let resumed = timeout(
            CLEANUP_TIME,
            steer::give(&Order::Resume, self.job, &self.client),
        )
        .await;
        Some(match resumed {
            Ok(Ok(reply)) => format!(
                "the application goes on: {}",
                steer::sentence(&Order::Resume, &reply)
            ),
            Ok(Err(error)) => {
                format!("the application could not be let go on, and does so by itself: {error}")
            }
            Err(_) => "the application could not be let go on, and does so by itself".to_owned(),
        })
    }
}
