//! The gRPC service `invivo.v1.Invivo`: each call becomes a query or a command to the root, and the
//! root's answer its reply.

mod analysis_answers;
pub mod audit_stream;
pub mod commands;
mod guests;
mod interval_answers;
mod save;
pub mod snapshots;
pub mod timeline;
mod walks;

use crate::audit::Audit;
use crate::auth::caller::Caller;
use crate::auth::invitations::Invitations;
use crate::auth::tokens::TokenId;
use crate::capabilities::CAPABILITIES;
use crate::connection::state::ConnectionState;
use crate::limits;
use crate::limits::answer_budget::{AnswerBudget, BudgetShare};
use crate::limits::rate_limit::{KeyedRateLimit, Rate};
use crate::limits::rate_limited_log::{LogKind, RateLimitedLog};
use crate::root_link::RootLink;
use crate::root_link::request::{LinkError, Reply, RootState};
use audit_stream::AuditStreams;
use commands::Commands;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use invivo_grpc::command::CommandRequest;
use invivo_grpc::v1;
use invivo_proto::control::tree::Query;
use snapshots::{SnapshotFeed, WatchOptions};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

#[derive(Clone)]
pub struct Service {
    link: RootLink,
    snapshots: SnapshotFeed,
    commands: Commands,
    audit: Audit,
    audit_streams: AuditStreams,
    invitations: Invitations,
    answer_budget: AnswerBudget,
    /// Of those who may only look, guests apart: whoever steers may pause the ranks anyway.
    walks: Arc<Mutex<KeyedRateLimit<bool>>>,
    log: RateLimitedLog,
    /// True when the gateway ends: streams end then.
    closing: watch::Receiver<bool>,
}

impl Service {
    pub fn new(
        link: RootLink,
        audit: Audit,
        invitations: Invitations,
        closing: watch::Receiver<bool>,
    ) -> Service {
        Service {
            snapshots: SnapshotFeed::start(link.clone()),
            commands: Commands::new(link.clone(), audit.clone()),
            link,
            audit_streams: AuditStreams::new(audit.clone()),
            audit,
            invitations,
            answer_budget: AnswerBudget::default(),
            walks: Arc::new(Mutex::new(KeyedRateLimit::new(
                const { Rate::per_second(limits::WALKS_PER_SECOND, limits::WALKS_BURST) },
                2,
            ))),
            log: RateLimitedLog::default(),
            closing,
        }
    }

    async fn query(&self, token: TokenId, query: Query) -> Result<Arc<Reply>, LinkError> {
        self.link.ask_for(token, query).await
    }

    /// Carries out the command of a request, whatever its message.
    async fn command<T: CommandRequest>(
        &self,
        request: Request<T>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        let caller = caller(&request)?;
        let request = request.into_inner();
        // `order` checks the arguments before anything is logged or sent.
        let reply = self
            .commands
            .carry_out(caller, request.command_id(), request.order()?);
        Ok(Response::new(reply.await?))
    }

    /// A future that completes when the gateway ends.
    fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut closing = self.closing.clone();
        async move {
            // An error means that the gateway is gone: ended as well.
            let _ = closing.wait_for(|closing| *closing).await;
        }
    }
}

/// The caller, as the middleware has authenticated it.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| Status::internal("the call did not pass authentication"))
}

/// The connection of a call.
fn connection<T>(request: &Request<T>) -> Result<&Arc<ConnectionState>, Status> {
    let state = request.extensions().get::<Arc<ConnectionState>>();
    state.ok_or_else(|| Status::internal("a call without a connection"))
}

/// A limit in a request, where 0 stands for the default.
fn or_default(asked: u32, default: u32, most: u32) -> u32 {
    if asked == 0 { default } else { asked.min(most) }
}

/// An answer that may be large: its share of the budget stays with it until it is sent.
fn large<T>(message: T, share: BudgetShare) -> Response<T> {
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
        let (caller, connection) = (caller(&request)?, connection(&request)?);
        connection.set_client_name(&request.get_ref().client, true);
        let hello = format!("hello, scope {}", caller.scope.name());
        let client = connection.client_name();
        self.log.info(LogKind::Hello, &caller.peer, &client, &hello);

        // The borrow ends within the statement: it would block the link's task if it lived across
        // an await.
        let job = match &*self.link.root().borrow() {
            RootState::Connected(job) => Some(v1::Job::from(&**job)),
            RootState::Disconnected(_) => None,
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
        request: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        self.answer_status(caller(&request)?.token).await
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
        // Without a root the stream would be silent until its time-out.
        if let RootState::Disconnected(why) = &*self.link.root().borrow() {
            return Err(LinkError::Disconnected(why.clone()).into());
        }
        let options = WatchOptions {
            interval,
            functions: asked.functions,
        };
        let token = caller(&request)?.token;
        let snapshots = self.snapshots.watch(options, token, self.closing.clone())?;
        Ok(Response::new(snapshots.boxed()))
    }

    async fn functions(
        &self,
        request: Request<v1::FunctionsRequest>,
    ) -> Result<Response<v1::FunctionsReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_functions(request.get_ref(), token).await
    }

    async fn call_sites(
        &self,
        request: Request<v1::CallSitesRequest>,
    ) -> Result<Response<v1::CallSitesReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_call_sites(request.get_ref(), token).await
    }

    async fn regions(
        &self,
        request: Request<v1::RegionsRequest>,
    ) -> Result<Response<v1::RegionsReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_regions(request.get_ref(), token).await
    }

    async fn iterations(
        &self,
        request: Request<v1::IterationsRequest>,
    ) -> Result<Response<v1::IterationsReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_iterations(request.get_ref(), token).await
    }

    async fn matrix(
        &self,
        request: Request<v1::MatrixRequest>,
    ) -> Result<Response<v1::MatrixReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_matrix(request.get_ref(), token).await
    }

    async fn grid(
        &self,
        request: Request<v1::GridRequest>,
    ) -> Result<Response<v1::GridReply>, Status> {
        self.answer_grid(request.get_ref(), caller(&request)?.token)
            .await
    }

    async fn messages(
        &self,
        request: Request<v1::MessagesRequest>,
    ) -> Result<Response<v1::MessagesReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_messages(request.get_ref(), token).await
    }

    async fn wait_states(
        &self,
        request: Request<v1::WaitStatesRequest>,
    ) -> Result<Response<v1::WaitStatesReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_wait_states(request.get_ref(), token).await
    }

    async fn hang(
        &self,
        request: Request<v1::HangRequest>,
    ) -> Result<Response<v1::HangReply>, Status> {
        self.walk(&request).await?;
        let token = caller(&request)?.token;
        self.answer_hang(request.get_ref().older_ns, token).await
    }

    async fn stacks(
        &self,
        request: Request<v1::StacksRequest>,
    ) -> Result<Response<v1::StacksReply>, Status> {
        self.walk(&request).await?;
        let token = caller(&request)?.token;
        self.answer_stacks(request.get_ref(), token).await
    }

    async fn profile(
        &self,
        request: Request<v1::ProfileRequest>,
    ) -> Result<Response<v1::ProfileReply>, Status> {
        self.walk(&request).await?;
        let token = caller(&request)?.token;
        self.answer_profile(request.get_ref(), token).await
    }

    async fn pause(
        &self,
        request: Request<v1::PauseRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn resume(
        &self,
        request: Request<v1::ResumeRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn hold(
        &self,
        request: Request<v1::HoldRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn reset(
        &self,
        request: Request<v1::ResetRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn record(
        &self,
        request: Request<v1::RecordRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn record_window(
        &self,
        request: Request<v1::RecordWindowRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn shutdown(
        &self,
        request: Request<v1::ShutdownRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_strategy(
        &self,
        request: Request<v1::SetStrategyRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_analyses(
        &self,
        request: Request<v1::SetAnalysesRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_sampling(
        &self,
        request: Request<v1::SetSamplingRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_selection(
        &self,
        request: Request<v1::SetSelectionRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_metrics(
        &self,
        request: Request<v1::SetMetricsRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn set_overhead(
        &self,
        request: Request<v1::SetOverheadRequest>,
    ) -> Result<Response<v1::CommandReply>, Status> {
        self.command(request).await
    }

    async fn metrics(
        &self,
        request: Request<v1::MetricsRequest>,
    ) -> Result<Response<v1::MetricsReply>, Status> {
        self.answer_metrics(caller(&request)?.token).await
    }

    async fn selection(
        &self,
        request: Request<v1::SelectionRequest>,
    ) -> Result<Response<v1::SelectionReply>, Status> {
        self.answer_selection(caller(&request)?.token).await
    }

    async fn analyses(
        &self,
        request: Request<v1::AnalysesRequest>,
    ) -> Result<Response<v1::AnalysesReply>, Status> {
        self.answer_analyses(caller(&request)?.token).await
    }

    async fn buffers(
        &self,
        request: Request<v1::BuffersRequest>,
    ) -> Result<Response<v1::BuffersReply>, Status> {
        self.answer_buffers(caller(&request)?.token).await
    }

    async fn records(
        &self,
        request: Request<v1::RecordsRequest>,
    ) -> Result<Response<v1::RecordsReply>, Status> {
        let token = caller(&request)?.token;
        self.answer_records(request.get_ref(), token).await
    }

    type TimelineStream = BoxStream<'static, Result<v1::TimelinePage, Status>>;

    async fn timeline(
        &self,
        request: Request<v1::TimelineRequest>,
    ) -> Result<Response<Self::TimelineStream>, Status> {
        let token = caller(&request)?.token;
        let share = self
            .answer_budget
            .share(limits::TIMELINE_PAGE_BYTES, token)?;
        let pages = timeline::pages(self.link.clone(), token, request.get_ref()).await?;
        // The client may be slow, and the job's end does not wait for it.
        let pages = pages.take_until(Box::pin(self.ended()));
        Ok(large(pages.boxed(), share))
    }

    type SaveStream = BoxStream<'static, Result<v1::SavePage, Status>>;

    async fn save(
        &self,
        request: Request<v1::SaveRequest>,
    ) -> Result<Response<Self::SaveStream>, Status> {
        self.answer_save(&caller(&request)?, request.get_ref())
            .await
    }

    type AuditStream = BoxStream<'static, Result<v1::AuditEntry, Status>>;

    async fn audit(
        &self,
        request: Request<v1::AuditRequest>,
    ) -> Result<Response<Self::AuditStream>, Status> {
        let follow = request.get_ref().follow;
        let (token, closing) = (caller(&request)?.token, self.closing.clone());
        let entries = self.audit_streams.open(follow, token, closing)?;
        Ok(Response::new(entries.boxed()))
    }

    async fn invite(
        &self,
        request: Request<v1::InviteRequest>,
    ) -> Result<Response<v1::InviteReply>, Status> {
        let caller = caller(&request)?;
        let wanted = request.get_ref();
        let reply = self.invitations.invite(wanted, &caller, Instant::now())?;
        let made = format!("invitation {} made, scope {}", reply.guest, wanted.scope);
        self.log
            .info(LogKind::Invitation, &caller.peer, &caller.client, &made);
        Ok(Response::new(reply))
    }

    async fn redeem(
        &self,
        request: Request<v1::RedeemRequest>,
    ) -> Result<Response<v1::RedeemReply>, Status> {
        let connection = connection(&request)?;
        self.answer_redeem(connection, &request.get_ref().secret)
    }

    async fn guests(
        &self,
        _: Request<v1::GuestsRequest>,
    ) -> Result<Response<v1::GuestsReply>, Status> {
        Ok(Response::new(self.answer_guests()))
    }

    async fn revoke(
        &self,
        request: Request<v1::RevokeRequest>,
    ) -> Result<Response<v1::RevokeReply>, Status> {
        self.answer_revoke(caller(&request)?, request.get_ref().guest)
    }
}
