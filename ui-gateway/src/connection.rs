//! One connection served: HTTP/2 within its limits, until the client leaves, has to leave, or the
//! gateway ends.

use crate::complaints::{Complaints, Kind};
use crate::door::Door;
use crate::front::Front;
use crate::limits::{self, Times};
use crate::visit::Visit;
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
pub struct Host {
    /// Who is in.
    pub door: Door,
    /// The services.
    pub front: Front,
    /// Times that a client has.
    pub times: Times,
    /// True when the gateway ends.
    pub closing: watch::Receiver<bool>,
    /// Done when its time to end is over.
    pub cut: CancellationToken,
    /// The connections' tasks.
    pub tasks: TaskTracker,
    /// What there is to say about strangers.
    pub complaints: Complaints,
}

/// Serves a connection to its end.
pub async fn serve<IO>(io: IO, visit: Arc<Visit>, host: Host)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Host {
        front,
        times,
        mut closing,
        cut,
        complaints,
        ..
    } = host;
    let callers = visit.clone();
    let calls = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(callers.clone());
        front.clone().oneshot(request)
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
    let mut newcomer = true;
    let mut newcomer_until = pin!(tokio::time::sleep(times.newcomer_max));
    let mut look = tokio::time::interval(times.stall_max / 4);
    let mut ending = false;
    let why = loop {
        tokio::select! {
            ended = &mut connection => match ended {
                Ok(()) => return,
                Err(error) => break error.to_string(),
            },
            () = cut.cancelled() => return,
            () = visit.told_to_leave() => break "it has to leave".to_owned(),
            () = &mut newcomer_until, if newcomer => {
                if visit.is_newcomer() {
                    break format!("no call with a token within {:?}", times.newcomer_max);
                }
                newcomer = false;
            }
            _ = look.tick() => if visit.stalled(Instant::now(), times.stall_max) {
                break format!("an answer was not read for {:?}", times.stall_max);
            },
            // An error means that the gateway is gone: ending as well.
            _ = closing.wait_for(|closing| *closing), if !ending => {
                connection.as_mut().graceful_shutdown();
                ending = true;
            }
        }
    };
    complaints.tell(
        Kind::Connection,
        &visit.peer().to_string(),
        &format!("connection closed: {why}"),
    );
}
