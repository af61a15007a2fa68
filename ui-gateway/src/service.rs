//! The calls of `invivo.v1.Invivo`: each becomes a question or a command to the root, and its
//! answer a message.

use crate::answer::{LargeAnswers, Share};
use crate::audit::Audit;
use crate::audit::ring::Reader;
use crate::auth::Caller;
use crate::commands::Commands;
use crate::feed::{Feed, Wish};
use crate::invite::Invites;
use crate::last;
use crate::limits;
use crate::link::{self, Link, LinkError, Root};
use crate::orders::Named;
use crate::visit::Visit;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use invivo_grpc::{convert, v1};
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Order, Query};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tonic::{Request, Response, Status};

/// What a gateway of this version can do.
pub const CAPABILITIES: [&str; 20] = [
    "status",
    "watch",
    "functions",
    "matrix",
    "messages",
    "hang",
    "stacks",
    "pause",
    "resume",
    "hold",
    "reset",
    "record",
    "record-window",
    "shutdown",
    "strategy",
    "buffers",
    "records",
    "timeline",
    "audit",
    "invite",
];

/// The service.
#[derive(Clone)]
pub struct Service {
    link: Link,
    feed: Feed,
    commands: Commands,
    audit: Audit,
    followers: Arc<Semaphore>,
    invites: Invites,
    large: LargeAnswers,
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
    pub fn new(
        link: Link,
        audit: Audit,
        invites: Invites,
        closing: watch::Receiver<bool>,
    ) -> Service {
        Service {
            feed: Feed::start(link.clone()),
            commands: Commands::new(link.clone(), audit.clone()),
            link,
            audit,
            followers: Arc::new(Semaphore::new(limits::FOLLOWERS_MAX)),
            invites,
            large: LargeAnswers::default(),
            closing,
        }
    }

    async fn query(&self, query: Query) -> Result<link::Reply, LinkError> {
        self.link
            .ask(Ask::Query(query), limits::QUERY_TIME_MAX)
            .await
    }

    async fn command<T>(
        &self,
        request: &Request<T>,
        id: u64,
        named: Named,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let reply = self.commands.give(caller(request)?, id, named).await?;
        Ok(Response::new(reply))
    }
}

/// Who calls, as the check in front has found out.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| Status::internal("the call did not pass authentication"))
}

/// The connection that a call came on.
fn visit<T>(request: &Request<T>) -> Result<&Arc<Visit>, Status> {
    let visit = request.extensions().get::<Arc<Visit>>();
    visit.ok_or_else(|| Status::internal("a call without a connection"))
}

/// A number where 0 means "the default".
fn or_default(asked: u32, default: u32, most: u32) -> u32 {
    if asked == 0 { default } else { asked.min(most) }
}

/// An answer that may be large: the share goes with it until the client has it.
fn large<T>(message: T, share: Share) -> Response<T> {
    let mut response = Response::new(message);
    response.extensions_mut().insert(share);
    response
}

#[tonic::async_trait]
impl v1::invivo_server::Invivo for Service {
    async fn hello(
        &self,
        request: Request<v1::HelloRequest>,
    ) -> Result<Response<v1::HelloReply>, Status> {
        let (caller, visit) = (caller(&request)?, visit(&request)?);
        visit.call_it(&request.get_ref().client, true);
        tracing::info!(client = visit.name(), peer = %caller.peer, scope = caller.scope.name(), "hello");
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

    async fn status(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        let reply = self.query(Query::Status).await?;
        let Answer::Status(status, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        Ok(Response::new(v1::StatusReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            status: Some(status.into()),
        }))
    }

    type WatchStream = BoxStream<'static, Result<v1::Snapshot, Status>>;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let asked = request.get_ref();
        let interval = match asked.interval_ns {
            0 => limits::WATCH_INTERVAL_DEFAULT,
            ns => Duration::from_nanos(ns)
                .clamp(limits::WATCH_INTERVAL_MIN, limits::WATCH_INTERVAL_MAX),
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
        let rank_rows_max = if asked.per_rank {
            or_default(
                asked.rank_rows_max,
                limits::RANK_ROWS_DEFAULT,
                limits::RANK_ROWS_MAX,
            )
        } else {
            0
        };
        let share = self
            .large
            .share(rank_rows_max as usize * limits::RANK_ROW_BYTES)?;
        let reply = self.query(Query::Functions { rank_rows_max }).await?;
        let Answer::Functions(table, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let (rows, mut rank_rows) = convert::function_rows(table);
        rank_rows.truncate(rank_rows_max as usize);
        let message = v1::FunctionsReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            rows,
            rank_rows,
            rank_rows_total: table.rank_rows_total.try_into().unwrap_or(u32::MAX),
        };
        Ok(large(message, share))
    }

    async fn matrix(
        &self,
        request: Request<v1::MatrixRequest>,
    ) -> Result<Response<v1::MatrixReply>, Status> {
        let side_max = or_default(
            request.get_ref().side_max,
            limits::MATRIX_SIDE_DEFAULT,
            limits::MATRIX_SIDE_MAX,
        );
        let cells = side_max as usize * side_max as usize;
        let share = self.large.share(cells * limits::MATRIX_CELL_BYTES)?;
        let reply = self.query(Query::Matrix { side_max }).await?;
        let Answer::Matrix(matrix, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let message = v1::MatrixReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            ..convert::matrix_reply(matrix, coverage, coverage.ranks, side_max)
        };
        Ok(large(message, share))
    }

    async fn messages(
        &self,
        _: Request<v1::MessagesRequest>,
    ) -> Result<Response<v1::MessagesReply>, Status> {
        let reply = self.query(Query::Messages).await?;
        let Answer::Messages(messages, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::messages_reply(messages, coverage)))
    }

    async fn hang(
        &self,
        request: Request<v1::HangRequest>,
    ) -> Result<Response<v1::HangReply>, Status> {
        let older_ns = match request.get_ref().older_ns {
            0 => limits::HANG_OLDER_NS_DEFAULT,
            ns => ns,
        };
        let reply = self.query(Query::Hang { older_ns }).await?;
        let Answer::Hang(found, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::hang::reply(
            &found.0, &found.1, coverage,
        )))
    }

    async fn stacks(
        &self,
        request: Request<v1::StacksRequest>,
    ) -> Result<Response<v1::StacksReply>, Status> {
        let request = request.get_ref();
        let chosen = convert::stacks::chosen(request)
            .ok_or_else(|| Status::invalid_argument("ranks: at most 8 ranges of ranks"))?;
        let threads = request.threads;
        let reply = self.query(Query::Stacks { chosen, threads }).await?;
        let Answer::Stacks(stacks, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let coverage = convert::coverage(coverage, &reply.missing);
        Ok(Response::new(convert::stacks::reply(stacks, coverage)))
    }

    async fn pause(
        &self,
        request: Request<v1::PauseRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let named = Named::pause(request.get_ref())?;
        self.command(&request, request.get_ref().command_id, named)
            .await
    }

    async fn resume(
        &self,
        request: Request<v1::ResumeRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(
            &request,
            request.get_ref().command_id,
            Named::plain(Order::Resume),
        )
        .await
    }

    async fn hold(
        &self,
        request: Request<v1::HoldRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let named = Named::hold(request.get_ref())?;
        self.command(&request, request.get_ref().command_id, named)
            .await
    }

    async fn reset(
        &self,
        request: Request<v1::ResetRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(
            &request,
            request.get_ref().command_id,
            Named::plain(Order::Reset),
        )
        .await
    }

    async fn record(
        &self,
        request: Request<v1::RecordRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let v1::RecordRequest { command_id, on } = *request.get_ref();
        self.command(&request, command_id, Named::plain(Order::Record { on }))
            .await
    }

    async fn record_window(
        &self,
        request: Request<v1::RecordWindowRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let named = Named::window(request.get_ref())?;
        self.command(&request, request.get_ref().command_id, named)
            .await
    }

    async fn shutdown(
        &self,
        request: Request<v1::ShutdownRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(
            &request,
            request.get_ref().command_id,
            Named::plain(Order::Shutdown),
        )
        .await
    }

    async fn set_strategy(
        &self,
        request: Request<v1::SetStrategyRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let named = Named::strategy(request.get_ref())?;
        self.command(&request, request.get_ref().command_id, named)
            .await
    }

    async fn buffers(
        &self,
        _: Request<v1::BuffersRequest>,
    ) -> Result<Response<v1::BuffersReply>, Status> {
        let reply = self.query(Query::Buffers).await?;
        let Answer::Buffers(buffers, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        Ok(Response::new(v1::BuffersReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            ..convert::buffers::reply(buffers)
        }))
    }

    async fn records(
        &self,
        request: Request<v1::RecordsRequest>,
    ) -> Result<Response<v1::RecordsReply>, Status> {
        let asked = request.get_ref();
        let max = or_default(asked.max, limits::PAGE_DEFAULT, limits::PAGE_MAX);
        let share = self.large.share(max as usize * limits::PAGE_ROW_BYTES)?;
        let reply = self
            .query(convert::buffers::records_query(asked, max).map_err(Status::invalid_argument)?)
            .await?;
        let Answer::Records(records, coverage) = &reply.answer else {
            return Err(LinkError::Mismatched.into());
        };
        let message = convert::buffers::records_reply(records).ok_or_else(|| {
            let (rank, thread) = (asked.rank, asked.thread);
            Status::not_found(format!(
                "nobody has records of rank {rank}, thread {thread}: the job has {} ranks, each with threads from 0 on",
                coverage.ranks
            ))
        })?;
        let message = v1::RecordsReply {
            coverage: Some(convert::coverage(coverage, &reply.missing)),
            ..message
        };
        Ok(large(message, share))
    }

    type TimelineStream = BoxStream<'static, Result<v1::TimelinePage, Status>>;

    async fn timeline(
        &self,
        request: Request<v1::TimelineRequest>,
    ) -> Result<Response<Self::TimelineStream>, Status> {
        let share = self.large.share(limits::TIMELINE_PAGE_BYTES)?;
        let pages = last::pages(self.link.clone(), request.get_ref()).await?;
        // The client may be slow, and the job's end does not wait for it.
        let mut closing = self.closing.clone();
        let closed = async move {
            // An error means that the gateway is gone: closing as well.
            let _ = closing.wait_for(|closing| *closing).await;
        };
        Ok(large(pages.take_until(Box::pin(closed)).boxed(), share))
    }

    type AuditStream = BoxStream<'static, Result<v1::AuditEntry, Status>>;

    async fn audit(
        &self,
        request: Request<v1::AuditRequest>,
    ) -> Result<Response<Self::AuditStream>, Status> {
        let full = |_| {
            let most = limits::FOLLOWERS_MAX;
            Status::resource_exhausted(format!(
                "{most} clients read the audit log already: end one of them"
            ))
        };
        let place = Arc::clone(&self.followers)
            .try_acquire_owned()
            .map_err(full)?;
        let ring = self.audit.ring();
        let reader = Reader::begin(&ring.borrow());
        let follow = request.get_ref().follow;
        let begun = (reader, ring, self.closing.clone(), place);
        let entries = futures_util::stream::unfold(begun, move |mut state| async move {
            let (reader, ring, closing, _) = &mut state;
            loop {
                let entry = reader.next(&ring.borrow_and_update());
                if let Some(entry) = entry {
                    return Some((Ok(entry), state));
                }
                if !follow {
                    return None;
                }
                // An error means that the gateway is gone: closing as well.
                tokio::select! {
                    _ = closing.wait_for(|closing| *closing) => return None,
                    changed = ring.changed() => changed.ok()?,
                }
            }
        });
        Ok(Response::new(entries.boxed()))
    }

    async fn invite(
        &self,
        request: Request<v1::InviteRequest>,
    ) -> Result<Response<v1::InviteReply>, Status> {
        let caller = caller(&request)?;
        let reply = self
            .invites
            .invite(&request.get_ref().scope, caller.scope, Instant::now())?;
        tracing::info!(peer = %caller.peer, client = caller.client, scope = request.get_ref().scope, "invitation made");
        Ok(Response::new(reply))
    }

    async fn redeem(
        &self,
        request: Request<v1::RedeemRequest>,
    ) -> Result<Response<v1::RedeemReply>, Status> {
        let visit = visit(&request)?;
        let key = visit.peer().key();
        let reply = self
            .invites
            .redeem(&request.get_ref().secret, key, Instant::now())
            .inspect_err(|_| visit.refused())?;
        tracing::info!(peer = %visit.peer(), scope = reply.scope, "invitation used");
        Ok(Response::new(reply))
    }
}
