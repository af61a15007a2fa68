//! Carries out one step of a session.

use super::comparison::{Comparison, shown};
use super::field::{Answer, Field, Kind};
use super::outcome::Ending;
use super::running::Session;
use super::script::{Action, State, Wait, plain};
use crate::client::{CallError, patiently};
use crate::saving;
use crate::steer;
use crate::view::command::{complete, failures};
use crate::view::since_start::SinceStart;
use invivo_archive::saved::Writer;
use invivo_grpc::v1::{
    AnalysisStatus, BuffersRequest, FunctionsRequest, MatrixRequest, SaveRequest, StatusRequest,
};
use invivo_proto::control::order::Order;
use invivo_report::analyses;
use invivo_report::status::states;
use invivo_report::units::counted;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// Between two polls of what is waited for: a status costs the tree a wave.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Rows by rank that an answer has at most: a session keeps its answers.
const RANK_ROWS_MAX: u32 = 1024;
/// Rows and columns of a matrix at most.
const SIDE_MAX: u32 = 64;

/// What a step leaves behind: a sentence, and perhaps an answer.
pub(super) struct Passed {
    pub(super) detail: String,
    pub(super) answer: Option<Box<RawValue>>,
}

/// How a step ended otherwise: with what, and with an answer if there was one.
pub(super) struct Trouble {
    pub(super) ending: Ending,
    pub(super) detail: String,
    pub(super) answer: Option<Box<RawValue>>,
}

impl Trouble {
    pub(super) fn new(ending: Ending, detail: impl Into<String>) -> Trouble {
        Trouble {
            ending,
            detail: detail.into(),
            answer: None,
        }
    }
}

pub(super) type Done = Result<Passed, Trouble>;

fn passed(detail: impl Into<String>) -> Done {
    Ok(Passed {
        detail: detail.into(),
        answer: None,
    })
}

fn raw(value: &impl Serialize) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

impl<L> Session<'_, L> {
    /// `seen` says what was seen last, for when the time is over.
    pub(super) async fn act(&mut self, action: &Action, seen: &mut String) -> Done {
        match action {
            Action::Wait(Wait::Time(time)) => {
                sleep(*time).await;
                passed("")
            }
            Action::Wait(Wait::State { state, ranks }) => {
                self.wait_for_state(*state, *ranks, seen).await
            }
            Action::Wait(Wait::Until(kind, comparison)) => {
                self.wait_until(*kind, comparison, seen).await
            }
            Action::Wait(Wait::JobEnd) => {
                // A look at the job's files, which costs the job nothing.
                while !self.job.has_ended().await {
                    sleep(self.job.look_interval()).await;
                }
                passed("")
            }
            Action::Order(order) => self.order(order).await,
            Action::Query(kind) => {
                let answer = self.ask(*kind).await?;
                let done = Passed {
                    detail: summary(&answer),
                    answer: raw(&answer),
                };
                // Assertions compare with this answer and ask nothing, so that several of them
                // judge one moment.
                self.last = Some((*kind, answer));
                Ok(done)
            }
            Action::Assert(comparison) => self.assert(comparison),
            Action::Save(dir) => self.save(dir).await,
            // `Session::steps` carries loops out.
            Action::Loop { .. } => passed(""),
        }
    }

    async fn order(&mut self, order: &Order) -> Done {
        // Noted before the order is given: it may be carried out although the step times out.
        self.standing |= matches!(order, Order::Pause { .. } | Order::Hold { .. });
        let given = steer::give(order, self.job, &self.client).await;
        let reply = match given {
            Ok(reply) => reply,
            Err(error) => return Err(self.trouble(&error).await),
        };
        let answer = raw(&reply);
        let reply = reply.since(self.job.started_ns);
        if !complete(&reply) {
            let mut detail = steer::sentence(order, &reply);
            failures(&reply)
                .iter()
                .for_each(|line| detail.push_str(&format!("; {line}")));
            return Err(Trouble {
                answer,
                ..Trouble::new(Ending::Failed, detail)
            });
        }
        // Only when every rank has acknowledged: after a partial resume some still stand.
        self.standing &= *order != Order::Resume;
        Ok(Passed {
            detail: steer::sentence(order, &reply),
            answer,
        })
    }

    /// Saves what the buffers hold; `%n` in the name is the number of the save.
    async fn save(&mut self, dir: &Path) -> Done {
        self.saves += 1;
        let name = dir.to_string_lossy().replace("%n", &self.saves.to_string());
        let failed = |error: anyhow::Error| {
            let why = format!("cannot save to {name}: {error:#}");
            Trouble::new(Ending::Failed, why)
        };
        let writer = Writer::new(Path::new(&name)).map_err(|error| failed(error.into()))?;
        let all = SaveRequest::default();
        let saved = saving::save(self.job, &self.client, all, writer, |_| {}).await;
        let (_, received) = saved.map_err(failed)?;
        Ok(Passed {
            detail: format!(
                "{} of {} in {name}",
                counted(received.kept, "call"),
                counted(received.ranks, "rank")
            ),
            answer: raw(&received),
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

    async fn wait_for_state(
        &mut self,
        state: State,
        ranks: Option<u32>,
        seen: &mut String,
    ) -> Done {
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
            // Before any rank reports, all of none would be in every state.
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
                let request = MatrixRequest {
                    side_max: SIDE_MAX,
                    ..MatrixRequest::default()
                };
                let reply = patiently(self.job, async || client().matrix(request).await).await?;
                return Ok(Answer::Matrix(reply));
            }
            if kind == Kind::Buffers {
                let reply =
                    patiently(self.job, async || client().buffers(BuffersRequest {}).await).await?;
                return Ok(Answer::Buffers(Box::new(reply)));
            }
            // The table alone does not say how long the time is that it covers.
            let status =
                patiently(self.job, async || client().status(StatusRequest {}).await).await?;
            if kind == Kind::Status {
                return Ok(Answer::Status(Box::new(status)));
            }
            let request = FunctionsRequest {
                per_rank: kind == Kind::FunctionsPerRank,
                rank_rows_max: RANK_ROWS_MAX,
                ..FunctionsRequest::default()
            };
            let table = patiently(self.job, async || client().functions(request).await).await?;
            Ok(Answer::Functions {
                table: Box::new(table),
                status: status.status.unwrap_or_default(),
            })
        };
        match ask().await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.trouble(&error).await),
        }
    }

    /// A call was not answered, or the answer was no.
    async fn trouble(&self, error: &CallError) -> Trouble {
        // A job that ends while it is queried is gone, whatever the gateway said last.
        let gone = error.unreachable || self.job.has_ended().await;
        let ending = if gone { Ending::Gone } else { Ending::Failed };
        Trouble::new(ending, error.to_string())
    }
}

pub(super) fn late(time: Duration, seen: &str) -> Trouble {
    let time = plain(time);
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

/// That an answer misses calls, as its analysis was off; nothing where it was not.
fn off(analysis: Option<&AnalysisStatus>) -> String {
    let sentences = analysis.map(analyses::sentences).unwrap_or_default();
    sentences.iter().map(|one| format!("; {one}")).collect()
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
            let off = off(table.analysis.as_ref());
            format!("{} of {functions}{off}", counted(calls, "call"))
        }
        Answer::Matrix(reply) => {
            let off = off(reply.analysis.as_ref());
            format!("{}{off}", counted(reply.cells.len() as u64, "cell"))
        }
        Answer::Buffers(reply) => {
            let kept = counted(reply.kept, "call");
            format!(
                "{kept} kept in {}",
                counted(reply.locations.into(), "buffer")
            )
        }
    }
}
