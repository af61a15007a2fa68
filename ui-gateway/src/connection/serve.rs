//! Serves HTTP/2 on one connection within its limits and time-outs, until it is closed or the
//! gateway ends.

use super::admission::Admission;
use super::state::ConnectionState;
use crate::audit::Audit;
use crate::auth::middleware::AuthMiddleware;
use crate::limits::rate_limited_log::{LogKind, RateLimitedLog};
use crate::limits::{self, Times};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codegen::http::Request;
use tower::ServiceExt;

/// What all connections share.
#[derive(Clone)]
pub struct ConnectionContext {
    pub admission: Admission,
    /// All services behind the check of tokens.
    pub services: AuthMiddleware,
    pub times: Times,
    /// True when the gateway ends: calls in progress may still finish.
    pub closing: watch::Receiver<bool>,
    /// Cancelled when the time to finish is over.
    pub cut: CancellationToken,
    /// The connections' tasks.
    pub tasks: TaskTracker,
    pub log: RateLimitedLog,
    pub audit: Audit,
}

/// Serves a connection until it is closed.
pub async fn serve<IO>(io: IO, state: Arc<ConnectionState>, context: ConnectionContext)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ConnectionContext {
        services,
        times,
        mut closing,
        cut,
        log,
        ..
    } = context;

    let of_calls = state.clone();
    let calls = hyper::service::service_fn(move |request: Request<Incoming>| {
        // How the services behind find the state of their connection.
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(of_calls.clone());
        services.clone().oneshot(request)
    });

    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::CALLS_PER_CONNECTION_MAX)
        .max_header_list_size(limits::HEADER_BYTES_MAX)
        .max_frame_size(limits::FRAME_BYTES_MAX)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(limits::SEND_BUFFER_BYTES_MAX)
        .keep_alive_interval(times.ping_interval)
        .keep_alive_timeout(times.ping_max)
        .serve_connection(TokioIo::new(io), calls);
    let mut connection = pin!(connection);

    let mut unauthenticated = true;
    let mut token_due = pin!(tokio::time::sleep(times.unauthenticated_max));
    // An unread answer is noticed at most a quarter of the time-out late.
    let mut stall_check = tokio::time::interval(times.stall_max / 4);
    let mut ending = false;
    let why = loop {
        tokio::select! {
            ended = &mut connection => match ended {
                Ok(()) => return,
                Err(error) => break error.to_string(),
            },
            // The time for calls to finish is over: dropping the connection cuts it.
            () = cut.cancelled() => return,
            () = state.close_requested() => break "it has to leave".to_owned(),
            () = &mut token_due, if unauthenticated => {
                // The token may have come without waking this loop; the deadline is checked once
                // and then disabled.
                if state.is_unauthenticated() {
                    break format!("no call with a token within {:?}", times.unauthenticated_max);
                }
                unauthenticated = false;
            }
            _ = stall_check.tick() => if state.stalled(Instant::now(), times.stall_max) {
                break format!("an answer was not read for {:?}", times.stall_max);
            },
            // An error means that the gateway is gone: ending as well.
            _ = closing.wait_for(|closing| *closing), if !ending => {
                // Sends GOAWAY: calls in progress finish, new ones are refused, and the loop goes
                // on until the connection ends.
                connection.as_mut().graceful_shutdown();
                ending = true;
            }
        }
    };
    log.warn(
        LogKind::Connection,
        &state.peer().to_string(),
        &format!("connection closed: {why}"),
    );
}
