//! What the page asks: the same questions as the commands', answered by the same JSON.

use super::json::text;
use super::timeline::{self, Part};
use crate::client::Client;
use crate::commands::interval::Interval;
use crate::commands::{hang, status};
use crate::look::{self, Looker};
use crate::profile::without_inside;
use crate::steer::hello;
use crate::view::{self, messages, profile, stacks};
use invivo_grpc::v1;
use invivo_report::histogram::{Stretch, stretches};
use invivo_report::{analyses, iterations, regions, selection, wait_states};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::Status;

/// What may stand behind the question mark; what a question does not need is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    rows: u32,
    columns: u32,
    side: u32,
    ranks: u32,
    per_rank: bool,
    metric: String,
    from_ns: u64,
    to_ns: u64,
    last_ns: u64,
    first_rank: u32,
    last_rank: Option<u32>,
    /// 1: also what is inside the MPI library.
    inside: u8,
    /// The function of which a histogram is drawn; nothing of none.
    histogram: String,
}

impl Asked {
    /// Which part of the run it is about.
    fn interval(&self) -> Interval {
        Interval {
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            last_ns: self.last_ns,
        }
    }
}

/// The words of the questions, for whoever asks another one.
pub const QUESTIONS: &str = "hello, status, explain, functions, sites, iterations, regions, \
                             profile, matrix, heatmap, efficiency, messages, waitstates, \
                             timeline, hang, stacks, buffers, analyses, selection, metrics or \
                             audit";
/// Ranks are looked at that have done nothing new for so long, as `invivo hang` does.
const HANG_OLDER_NS: u64 = 1_000_000_000;
/// Entries of the audit log that are given, the newest.
const AUDIT_MAX: usize = 200;

/// What answers.
#[derive(Clone, Debug)]
pub struct Answers {
    client: Client,
    is_observation: bool,
    /// All pages share one explanation, so that many cost no more than one.
    explained: Arc<Mutex<Explained>>,
    timeline: Arc<Mutex<()>>,
}

/// The function table, and a histogram where one is asked for.
#[derive(Serialize)]
struct Functions<'a> {
    histogram: Option<Bars>,
    #[serde(flatten)]
    reply: &'a v1::FunctionsReply,
}

/// How durations and sizes are distributed, as they are drawn.
#[derive(Serialize)]
struct Bars {
    durations: Vec<Stretch>,
    sizes: Vec<Stretch>,
}

impl Bars {
    /// That of a function; bins of all rows are gone.
    fn taken(rows: &mut [v1::FunctionRow], function: &str) -> Option<Bars> {
        let mut found = None;
        for row in rows {
            let drawn = |of: &mut Option<v1::Distribution>| {
                let bins = of.as_mut().map(|of| std::mem::take(&mut of.bins));
                stretches(&bins.unwrap_or_default())
            };
            let (durations, sizes) = (drawn(&mut row.durations), drawn(&mut row.sizes));
            if row.function == function {
                found = Some(Bars { durations, sizes });
            }
        }
        found
    }
}

/// Loops, and which of the rows is the main one.
#[derive(Serialize)]
struct Loops<'a> {
    main: Option<usize>,
    #[serde(flatten)]
    reply: &'a v1::IterationsReply,
}

/// The explanation of the last seconds; nothing is looked at while nobody asks.
#[derive(Debug, Default)]
struct Explained {
    looker: Looker,
    at: Option<Instant>,
    text: String,
}

impl Answers {
    /// Asks with this client.
    pub fn new(client: Client, is_observation: bool) -> Answers {
        Answers {
            client,
            is_observation,
            explained: Arc::default(),
            timeline: Arc::default(),
        }
    }

    /// The answer as JSON; nothing where there is no such question.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn to(&self, question: &str, asked: &Asked) -> Result<Option<String>, Status> {
        let mut client = self.client.clone();
        Ok(Some(match question {
            "hello" => text(client.hello(hello()).await?.get_ref())?,
            "status" => text(status::answer(client).await?.get_ref())?,
            "explain" => self.explain().await?,
            "functions" => {
                let request = v1::FunctionsRequest {
                    per_rank: asked.per_rank,
                    rank_rows_max: asked.rows,
                    histograms: !asked.histogram.is_empty(),
                    ..asked.interval().functions()
                };
                let mut reply = client.functions(request).await?.into_inner();
                let histogram = Bars::taken(&mut reply.rows, &asked.histogram);
                let answer = Functions {
                    histogram,
                    reply: &reply,
                };
                noted(&answer, &[&reply.analysis, &reply.call_sites])?
            }
            "sites" => {
                let request = v1::CallSitesRequest {
                    rows_max: asked.rows,
                    ..asked.interval().sites()
                };
                let reply = client.call_sites(request).await?.into_inner();
                noted(&reply, &[&reply.analysis])?
            }
            "iterations" => {
                let request = asked.interval().iterations();
                let reply = client.iterations(request).await?.into_inner();
                text(&Noted {
                    notes: reply
                        .analysis
                        .iter()
                        .flat_map(analyses::sentences)
                        .collect(),
                    text: iterations::nothing(&reply).map(str::to_owned),
                    answer: &Loops {
                        main: iterations::main(&reply),
                        reply: &reply,
                    },
                })?
            }
            "regions" => {
                let request = v1::RegionsRequest {
                    rows_max: asked.rows,
                    ..asked.interval().regions()
                };
                let reply = client.regions(request).await?.into_inner();
                let mut notes = regions::losses(&reply);
                notes.extend(reply.analysis.iter().flat_map(analyses::sentences));
                text(&Noted {
                    notes,
                    text: regions::nothing(&reply).map(str::to_owned),
                    answer: &reply,
                })?
            }
            "profile" => {
                let ranks = ranks(asked);
                let request = v1::ProfileRequest {
                    ranks,
                    ..asked.interval().profile()
                };
                let mut reply = client.profile(request).await?.into_inner();
                if asked.inside == 0 {
                    without_inside(&mut reply.nodes);
                }
                text(&Noted {
                    notes: profile::notes(&reply),
                    text: Some(profile::sentence(&reply)),
                    answer: &profile::json(&reply),
                })?
            }
            "matrix" => {
                let request = v1::MatrixRequest {
                    side_max: asked.side,
                    ..asked.interval().matrix()
                };
                let reply = client.matrix(request).await?;
                noted(reply.get_ref(), &[&reply.get_ref().analysis])?
            }
            "heatmap" => {
                let reply = client.grid(grid(asked)).await?.into_inner();
                noted(&reply, &[&reply.analysis])?
            }
            "efficiency" => {
                let request = v1::GridRequest {
                    metric: "compute".into(),
                    rows_max: 1,
                    ..grid(asked)
                };
                let reply = client.grid(request).await?.into_inner();
                noted(&reply, &[&reply.analysis])?
            }
            "messages" => {
                let request = asked.interval().messages();
                let reply = client.messages(request).await?.into_inner();
                with_text(&reply, messages::text(&reply), &[&reply.analysis])?
            }
            "hang" => {
                let older_ns = HANG_OLDER_NS;
                let request = v1::HangRequest { older_ns };
                let reply = hang::answer(client, request).await?.into_inner();
                with_text(&reply, view::hang::text(&reply), &[])?
            }
            "stacks" => {
                let request = v1::StacksRequest::default();
                let reply = client.stacks(request).await?.into_inner();
                let text = stacks::text(&reply, stacks::Shown::default());
                with_text(&reply, text, &[])?
            }
            "waitstates" => {
                let request = v1::WaitStatesRequest {
                    ranks_max: asked.ranks,
                    ..asked.interval().wait_states()
                };
                let reply = client.wait_states(request).await?.into_inner();
                let sentence = wait_states::worst(&reply);
                told(&reply, sentence, &[&reply.analysis, &reply.messages])?
            }
            "timeline" => {
                let part = Part {
                    last_ns: asked.last_ns,
                    from_ns: asked.from_ns,
                    to_ns: asked.to_ns,
                    first_rank: asked.first_rank,
                    last_rank: asked.last_rank,
                };
                // One at a time: each holds what it has gathered.
                let _turn = self.timeline.lock().await;
                timeline::answer(client, part).await?
            }
            "buffers" => text(client.buffers(v1::BuffersRequest {}).await?.get_ref())?,
            "analyses" => text(client.analyses(v1::AnalysesRequest {}).await?.get_ref())?,
            "selection" => {
                let request = v1::SelectionRequest {};
                let reply = client.selection(request).await?.into_inner();
                text(&Noted {
                    notes: selection::sentences(&reply),
                    text: None,
                    answer: &reply,
                })?
            }
            "metrics" => {
                let reply = client.metrics(v1::MetricsRequest {}).await?.into_inner();
                text(&Noted {
                    notes: view::metrics::about(&reply),
                    text: None,
                    answer: &reply,
                })?
            }
            "audit" => audit(client).await?,
            _ => return Ok(None),
        }))
    }

    async fn explain(&self) -> Result<String, Status> {
        let mut explained = self.explained.lock().await;
        let due = explained.at.map(|at| at + explained.looker.pause());
        // What an observation says stays.
        let is_due = due.is_none_or(|due| !self.is_observation && Instant::now() >= due);
        if is_due {
            let told = if self.is_observation {
                look::observation(self.client.clone()).await?.into_inner()
            } else {
                explained.looker.explained(&self.client).await?
            };
            explained.text = text(&Told { explanation: told })?;
            explained.at = Some(Instant::now());
        }
        Ok(explained.text.clone())
    }
}

/// An answer with what the terminal says beside it.
#[derive(Serialize)]
struct Noted<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    /// Which of its analyses are or were off, a line each.
    notes: Vec<String>,
    /// What is said of it all, where that is shown: a sentence, or the terminal's whole view.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

fn noted<T: Serialize>(answer: &T, of: &[&Option<v1::AnalysisStatus>]) -> Result<String, Status> {
    told(answer, None, of)
}

fn with_text<T: Serialize>(
    answer: &T,
    text: String,
    of: &[&Option<v1::AnalysisStatus>],
) -> Result<String, Status> {
    told(answer, Some(text), of)
}

fn told<T: Serialize>(
    answer: &T,
    said: Option<String>,
    of: &[&Option<v1::AnalysisStatus>],
) -> Result<String, Status> {
    let all = of.iter().filter_map(|one| one.as_ref());
    let notes = all.flat_map(analyses::sentences).collect();
    text(&Noted {
        answer,
        notes,
        text: said,
    })
}

/// Nothing before two moments have been seen.
#[derive(Serialize)]
struct Told {
    explanation: Option<invivo_report::explain::Explanation>,
}

#[derive(Serialize)]
struct Audit {
    entries: Vec<v1::AuditEntry>,
}

/// Those that are asked for; none mean all.
fn ranks(asked: &Asked) -> Vec<v1::RankRange> {
    let first = asked.first_rank;
    let of = |last| v1::RankRange { first, last };
    asked.last_rank.map(of).into_iter().collect()
}

fn grid(asked: &Asked) -> v1::GridRequest {
    v1::GridRequest {
        metric: asked.metric.clone(),
        columns_max: asked.columns,
        rows_max: asked.rows,
        ..asked.interval().grid()
    }
}

async fn audit(mut client: Client) -> Result<String, Status> {
    let request = v1::AuditRequest { follow: false };
    let mut stream = client.audit(request).await?.into_inner();
    let mut entries = std::collections::VecDeque::new();
    while let Some(entry) = stream.message().await? {
        if entries.len() == AUDIT_MAX {
            entries.pop_front();
        }
        entries.push_back(entry);
    }
    let entries = entries.into();
    text(&Audit { entries })
}

/// How long a question may take: the page asks again.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);
