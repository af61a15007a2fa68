//! The calls of `invivo.v1.Invivo`: each becomes a question or a command to the root, and its answer a message.

use crate::audit::{Audit, Event};
use crate::auth::Caller;
use crate::feed::{Feed, Wish};
use crate::limits;
use crate::link::{Link, LinkError, Root};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use invivo_grpc::{convert, v1};
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::{Coverage, FunctionTable, JobStatus, Matrix};
use invivo_proto::control::tree::{Acks, Command, Query, Verb};
use invivo_proto::ids::CommandId;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

/// What a gateway of this version can do.
pub const CAPABILITIES: [&str; 6] = ["status", "watch", "functions", "matrix", "pause", "resume"];

/// The service.
#[derive(Clone, Debug)]
pub struct Service {
    link: Link,
    feed: Feed,
    audit: Audit,
    closing: watch::Receiver<bool>,
}

impl From<LinkError> for Status {
    fn from(error: LinkError) -> Status {
        let sentence = error.to_string();
        match error {
            LinkError::Away(_) => Status::unavailable(sentence),
            LinkError::TimedOut(_) => Status::deadline_exceeded(sentence),
            LinkError::Busy(_) => Status::resource_exhausted(sentence),
            LinkError::Refused(_) => Status::failed_precondition(sentence),
            LinkError::Mismatched => Status::internal(sentence),
        }
    }
}

impl Service {
    /// A service that asks over `link`; its streams end when `closing` becomes true.
    pub fn new(link: Link, audit: Audit, closing: watch::Receiver<bool>) -> Service {
        Service {
            feed: Feed::start(link.clone()),
            link,
            audit,
            closing,
        }
    }

    async fn query(&self, query: Query) -> Result<Answer, LinkError> {
        self.link.ask(Ask::Query(query), limits::QUERY_TIME_MAX).await
    }

    async fn status(&self) -> Result<(JobStatus, Coverage), LinkError> {
        match self.query(Query::Status).await? {
            Answer::Status(status, coverage) => Ok((status, coverage)),
            _ => Err(LinkError::Mismatched),
        }
    }

    async fn functions(&self, per_rank: bool) -> Result<(FunctionTable, Coverage), LinkError> {
        match self.query(Query::Functions { per_rank }).await? {
            Answer::Functions(table, coverage) => Ok((table, coverage)),
            _ => Err(LinkError::Mismatched),
        }
    }

    async fn matrix(&self) -> Result<(Matrix, Coverage), LinkError> {
        match self.query(Query::Matrix).await? {
            Answer::Matrix(matrix, coverage) => Ok((matrix, coverage)),
            _ => Err(LinkError::Mismatched),
        }
    }

    /// Gives a command to the root and notes it in the audit log, before and after.
    async fn command(
        &self,
        name: &'static str,
        caller: Caller,
        command_id: u64,
        verb: Verb,
    ) -> Result<v1::CommandReply, Status> {
        let command_id = if command_id == 0 { fresh_id()? } else { command_id };
        let lease_ns = match verb {
            Verb::Pause { lease_ns } => Some(lease_ns),
            Verb::Resume => None,
        };
        self.audit
            .note(name, caller, &Event::Sent { command_id, lease_ns });
        let begun = Instant::now();
        let ask = Ask::Command(Command {
            id: CommandId(command_id),
            verb,
        });
        let acks: Result<Acks, LinkError> = match self.link.ask(ask, limits::COMMAND_TIME_MAX).await {
            Ok(Answer::Command(acks)) => Ok(acks),
            Ok(_) => Err(LinkError::Mismatched),
            Err(error) => Err(error),
        };
        let took_ns = nanoseconds(begun.elapsed());
        let reply = match acks {
            Ok(acks) => convert::command_reply(command_id, &acks),
            Err(error) => {
                self.audit.note(
                    name,
                    caller,
                    &Event::Failed {
                        command_id,
                        why: error.to_string(),
                    },
                );
                return Err(error.into());
            }
        };
        let (targets, done) = (reply.targets, reply.done);
        self.audit.note(
            name,
            caller,
            &Event::Answered {
                command_id,
                targets,
                done,
                took_ns,
            },
        );
        Ok(v1::CommandReply {
            took_ns,
            lease_ns: lease_ns.unwrap_or(0),
            ..reply
        })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A command id that nobody else has: random, and never 0, which means none.
fn fresh_id() -> Result<u64, Status> {
    let mut bytes = [0u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Status::internal(format!("no random numbers for a command id: {error}")))?;
    Ok(u64::from_le_bytes(bytes).max(1))
}

/// Who calls, as the layer in front has found out.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().copied();
    caller.ok_or_else(|| Status::internal("the call did not pass authentication"))
}

/// A number where 0 means "the default".
fn or_default(asked: u32, default: u32, most: u32) -> u32 {
    if asked == 0 { default } else { asked.min(most) }
}

#[tonic::async_trait]
impl v1::invivo_server::Invivo for Service {
    async fn hello(&self, request: Request<v1::HelloRequest>) -> Result<Response<v1::HelloReply>, Status> {
        let caller = caller(&request)?;
        let client: String = request
            .get_ref()
            .client
            .chars()
            .take(limits::CLIENT_NAME_BYTES_MAX)
            .collect();
        tracing::info!(client = ?client, pid = caller.pid, scope = caller.scope.name(), "hello");
        let job = match &*self.link.root().borrow() {
            Root::Here(job) => Some(v1::Job::from(&**job)),
            Root::Away(_) => None,
        };
        Ok(Response::new(v1::HelloReply {
            gateway_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
            scope: caller.scope.name().to_owned(),
            root_connected: job.is_some(),
            job,
        }))
    }

    async fn status(&self, _: Request<v1::StatusRequest>) -> Result<Response<v1::StatusReply>, Status> {
        let (status, coverage) = self.status().await?;
        Ok(Response::new(v1::StatusReply {
            coverage: Some((&coverage).into()),
            status: Some((&status).into()),
        }))
    }

    type WatchStream = BoxStream<'static, Result<v1::Snapshot, Status>>;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let asked = request.get_ref();
        let interval = match asked.interval_ns {
            0 => limits::WATCH_INTERVAL_DEFAULT,
            ns => Duration::from_nanos(ns).clamp(limits::WATCH_INTERVAL_MIN, limits::WATCH_INTERVAL_MAX),
        };
        if let Root::Away(why) = &*self.link.root().borrow() {
            return Err(LinkError::Away(why.clone()).into());
        }
        let wish = Wish {
            interval,
            functions: asked.functions,
        };
        Ok(Response::new(
            self.feed.watch(wish, self.closing.clone())?.boxed(),
        ))
    }

    async fn functions(
        &self,
        request: Request<v1::FunctionsRequest>,
    ) -> Result<Response<v1::FunctionsReply>, Status> {
        let asked = request.get_ref();
        let (table, coverage) = self.functions(asked.per_rank).await?;
        let (rows, mut rank_rows) = convert::function_rows(&table);
        let rank_rows_total = rank_rows.len().try_into().unwrap_or(u32::MAX);
        let most = or_default(
            asked.rank_rows_max,
            limits::RANK_ROWS_DEFAULT,
            limits::RANK_ROWS_MAX,
        );
        rank_rows.truncate(most as usize);
        Ok(Response::new(v1::FunctionsReply {
            coverage: Some((&coverage).into()),
            rows,
            rank_rows,
            rank_rows_total,
        }))
    }

    async fn matrix(&self, request: Request<v1::MatrixRequest>) -> Result<Response<v1::MatrixReply>, Status> {
        let side = or_default(
            request.get_ref().side_max,
            limits::MATRIX_SIDE_DEFAULT,
            limits::MATRIX_SIDE_MAX,
        );
        let (matrix, coverage) = self.matrix().await?;
        Ok(Response::new(convert::matrix_reply(
            &matrix,
            &coverage,
            coverage.ranks,
            side,
        )))
    }

    async fn pause(&self, request: Request<v1::PauseRequest>) -> Result<Response<v1::CommandReply>, Status> {
        let caller = caller(&request)?;
        let v1::PauseRequest { command_id, lease_ns } = *request.get_ref();
        let most_ns = nanoseconds(limits::LEASE_MAX);
        if lease_ns > most_ns {
            return Err(Status::invalid_argument(format!(
                "a lease of {lease_ns} ns: a pause lasts at most 24 hours ({most_ns} ns); ask for less and pause again"
            )));
        }
        let lease_ns = if lease_ns == 0 {
            nanoseconds(limits::LEASE_DEFAULT)
        } else {
            lease_ns
        };
        self.command("Pause", caller, command_id, Verb::Pause { lease_ns })
            .await
            .map(Response::new)
    }

    async fn resume(
        &self,
        request: Request<v1::ResumeRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let caller = caller(&request)?;
        self.command("Resume", caller, request.get_ref().command_id, Verb::Resume)
            .await
            .map(Response::new)
    }
}
