//! Carrying a session out.

use super::comparison::{Comparison, shown};
use super::field::{Answer, Field, Kind};
use super::outcome::{ANSWERS_BYTES_MAX, Ending, Listener, StepResult, Summary, length, place};
use super::script::{Action, Script, State, Step, Wait, number};
use crate::client::{CallError, Client, patiently};
use crate::commands::target::Job;
use crate::steer::Order;
use crate::view::command::{complete, failures};
use crate::view::status::states;
use crate::view::units::counted;
use invivo_grpc::v1::{FunctionsRequest, MatrixRequest, StatusRequest};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

/// Between two looks at what is waited for: a status costs the tree a wave.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long is tried to let the application go on behind a session that went wrong.
const CLEANUP_TIME: Duration = Duration::from_secs(10);
/// Rows by rank that an answer has at most: a session keeps its answers.
const RANK_ROWS_MAX: u32 = 1024;
/// Rows and columns of a matrix at most.
const SIDE_MAX: u32 = 64;

/// What a step leaves behind: a sentence, and perhaps an answer.
struct Passed {
    detail: String,
    answer: Option<Box<RawValue>>,
}

/// How a step ended otherwise: with what, and with an answer if there was one.
struct Trouble {
    ending: Ending,
    detail: String,
    answer: Option<Box<RawValue>>,
}

impl Trouble {
    fn new(ending: Ending, detail: impl Into<String>) -> Trouble {
        Trouble {
            ending,
            detail: detail.into(),
            answer: None,
        }
    }
}

type Done = Result<Passed, Trouble>;

fn passed(detail: impl Into<String>) -> Done {
    Ok(Passed {
        detail: detail.into(),
        answer: None,
    })
}

fn raw(value: &impl Serialize) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

/// A session under way.
pub struct Session<'a, L> {
    job: &'a Job,
    client: Client,
    listener: &'a mut L,
    start: Instant,
    results: Vec<StepResult>,
    answers_bytes: usize,
    last: Option<(Kind, Answer)>,
    /// The application stands still, and it was us.
    standing: bool,
}

/// Carries out a script. A session that goes wrong lets the application go on if it had stopped it.
pub async fn run<L: Listener>(
    script: &Script,
    file: &str,
    job: &Job,
    client: Client,
    listener: &mut L,
) -> Summary {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut session = Session {
        job,
        client,
        listener,
        start: Instant::now(),
        results: Vec::new(),
        answers_bytes: 0,
        last: None,
        standing: false,
    };
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

/// Ends when the user wants no more.
async fn interruption() {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
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
            // Loops may stand in loops.
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

    /// Keeps how a step went.
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
            (Ending::Passed, Err(_)) => Err(Ending::Interrupted),
            (ending, _) => Err(ending),
        }
    }

    /// `seen` says what was seen last, for when the time is over.
    async fn act(&mut self, action: &Action, seen: &mut String) -> Done {
        match action {
            Action::Wait(Wait::Time(time)) => {
                sleep(*time).await;
                passed("")
            }
            Action::Wait(Wait::State { state, ranks }) => self.wait_for_state(*state, *ranks, seen).await,
            Action::Wait(Wait::Until(kind, comparison)) => self.wait_until(*kind, comparison, seen).await,
            Action::Wait(Wait::JobEnd) => {
                while !self.job.has_ended() {
                    sleep(POLL_INTERVAL).await;
                }
                passed("")
            }
            Action::Order(order) => self.order(*order).await,
            Action::Query(kind) => {
                let answer = self.ask(*kind).await?;
                let done = Passed {
                    detail: summary(&answer),
                    answer: raw(&answer),
                };
                self.last = Some((*kind, answer));
                Ok(done)
            }
            Action::Assert(comparison) => self.assert(comparison),
            // Steps see to their loops.
            Action::Loop { .. } => passed(""),
        }
    }

    async fn order(&mut self, order: Order) -> Done {
        // It may be done although nobody waits for the answer any more.
        self.standing |= matches!(order, Order::Pause(_) | Order::Hold(_));
        let given = order.give(self.job, &self.client).await;
        let reply = given.map_err(|error| self.trouble(&error))?;
        let answer = raw(&reply);
        if !complete(&reply) {
            let mut detail = order.sentence(&reply);
            failures(&reply)
                .iter()
                .for_each(|line| detail.push_str(&format!("; {line}")));
            return Err(Trouble {
                answer,
                ..Trouble::new(Ending::Failed, detail)
            });
        }
        self.standing &= order != Order::Resume;
        Ok(Passed {
            detail: order.sentence(&reply),
            answer,
        })
    }

    fn assert(&self, comparison: &Comparison) -> Done {
        let Some((kind, answer)) = &self.last else {
            return Err(Trouble::new(Ending::Failed, "nothing has been asked yet"));
        };
        let told = comparison
            .evaluate(*kind, answer)
            .map_err(|why| Trouble::new(Ending::Failed, why))?;
        match told {
            (true, number) => passed(format!("it is {}", number_of(*kind, comparison, number))),
            (false, number) => Err(Trouble::new(
                Ending::Failed,
                format!("it is {}", number_of(*kind, comparison, number)),
            )),
        }
    }

    async fn wait_for_state(&mut self, state: State, ranks: Option<u32>, seen: &mut String) -> Done {
        loop {
            let Answer::Status(reply) = self.ask(Kind::Status).await? else {
                return Err(Trouble::new(
                    Ending::Failed,
                    "the job gave another answer than a status",
                ));
            };
            let counts = reply
                .status
                .as_ref()
                .and_then(|status| status.ranks)
                .unwrap_or_default();
            let all = reply.coverage.as_ref().map_or(0, |coverage| coverage.ranks);
            let wanted = ranks.unwrap_or(all);
            if all > 0 && state.of(&counts) >= wanted {
                return passed(states(&counts));
            }
            *seen = format!("last seen: {}", states(&counts));
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn wait_until(&mut self, kind: Kind, comparison: &Comparison, seen: &mut String) -> Done {
        loop {
            let answer = self.ask(kind).await?;
            let told = comparison
                .evaluate(kind, &answer)
                .map_err(|why| Trouble::new(Ending::Failed, why))?;
            let (holds, number) = told;
            *seen = format!("it is {}", number_of(kind, comparison, number));
            if holds {
                return passed(std::mem::take(seen));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn ask(&self, kind: Kind) -> Result<Answer, Trouble> {
        let ask = async || -> Result<Answer, CallError> {
            let client = || self.client.clone();
            if kind == Kind::Matrix {
                let request = MatrixRequest { side_max: SIDE_MAX };
                let reply = patiently(self.job, async || client().matrix(request).await).await?;
                return Ok(Answer::Matrix(reply));
            }
            let status = patiently(self.job, async || client().status(StatusRequest {}).await).await?;
            if kind == Kind::Status {
                return Ok(Answer::Status(Box::new(status)));
            }
            let request = FunctionsRequest {
                per_rank: kind == Kind::FunctionsPerRank,
                rank_rows_max: RANK_ROWS_MAX,
            };
            let table = patiently(self.job, async || client().functions(request).await).await?;
            Ok(Answer::Functions {
                table,
                status: status.status.unwrap_or_default(),
            })
        };
        ask().await.map_err(|error| self.trouble(&error))
    }

    /// A call was not answered, or the answer was no.
    fn trouble(&self, error: &CallError) -> Trouble {
        let gone = error.unreachable || self.job.has_ended();
        let ending = if gone { Ending::Gone } else { Ending::Failed };
        Trouble::new(ending, error.to_string())
    }

    /// Lets the application go on, if it was this session that had stopped it.
    async fn clean_up(&mut self) -> Option<String> {
        if !self.standing {
            return None;
        }
        let resumed = timeout(CLEANUP_TIME, Order::Resume.give(self.job, &self.client)).await;
        Some(match resumed {
            Ok(Ok(reply)) => format!("the application goes on: {}", Order::Resume.sentence(&reply)),
            Ok(Err(error)) => {
                format!("the application could not be let go on, and does so by itself: {error}")
            }
            Err(_) => "the application could not be let go on, and does so by itself".to_owned(),
        })
    }
}

fn late(time: Duration, seen: &str) -> Trouble {
    let time = super::script::plain(time);
    let seen = if seen.is_empty() {
        String::new()
    } else {
        format!("; {seen}")
    };
    Trouble::new(Ending::TimedOut, format!("not within {time}{seen}"))
}

fn number_of(kind: Kind, comparison: &Comparison, number: f64) -> String {
    let field = Field::find(kind, &comparison.field);
    field.map_or_else(|| number.to_string(), |field| shown(field.unit, number))
}

/// An answer in a few words.
fn summary(answer: &Answer) -> String {
    match answer {
        Answer::Status(reply) => {
            let counts = reply.status.as_ref().and_then(|status| status.ranks);
            states(&counts.unwrap_or_default())
        }
        Answer::Functions { table, .. } => {
            let calls = table.rows.iter().map(|row| row.calls).sum();
            let functions = counted(table.rows.len() as u64, "function");
            format!("{} of {functions}", counted(calls, "call"))
        }
        Answer::Matrix(reply) => counted(reply.cells.len() as u64, "cell"),
    }
}
