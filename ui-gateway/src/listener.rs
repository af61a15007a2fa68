//! Accepts connections on the Unix socket and, with TLS, on TCP, at a bounded rate; each connection
//! is served by a task of its own.

pub mod address;
pub mod tcp;
pub mod tls_identity;
pub mod unix;

use crate::connection::peer::Peer;
use crate::connection::serve::{self, ConnectionContext};
use crate::connection::state::ConnectionState;
use crate::limits;
use crate::limits::rate_limit::{Rate, RateLimit};
use crate::limits::rate_limited_log::{LogKind, RateLimitedLog};
use std::io;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Serves the Unix socket until it is dropped.
pub async fn serve_unix(listener: unix::Listener, context: ConnectionContext) {
    let mut accepts = AcceptLimit::new(context.log.clone());
    loop {
        context.admission.room().await;
        let accepted = accepts.next(|| listener.accept()).await;
        // Checked in addition to the socket's mode, which root for example passes.
        let peer = match accepted.peer_cred() {
            Ok(peer) if peer.uid() == listener.uid => Peer::Unix {
                uid: peer.uid(),
                pid: peer.pid(),
            },
            Ok(peer) => {
                let what = "connection of another user refused";
                let stranger = Peer::Unix {
                    uid: peer.uid(),
                    pid: peer.pid(),
                };
                context
                    .audit
                    .refused("connect", stranger, String::new(), "another user");
                context
                    .log
                    .warn(LogKind::OtherUser, &format!("uid {}", peer.uid()), what);
                continue;
            }
            Err(error) => {
                let what =
                    format!("connection refused: the kernel does not tell whose it is: {error}");
                context.log.warn(LogKind::OtherUser, "unix", &what);
                continue;
            }
        };

        // Counted before it is served: the limit holds from the first byte.
        let state = admit(&context, peer);
        context
            .tasks
            .spawn(serve::serve(accepted, state, context.clone()));
    }
}

/// Serves TCP until it is dropped.
pub async fn serve_tcp(
    listener: tokio::net::TcpListener,
    tls: TlsAcceptor,
    context: ConnectionContext,
) {
    let mut accepts = AcceptLimit::new(context.log.clone());
    loop {
        context.admission.room().await;
        let (stream, address) = accepts.next(|| listener.accept()).await;
        // Counted before the handshake, which is the expensive part of a flood.
        let state = admit(&context, Peer::Tcp(address));
        let (tls, context) = (tls.clone(), context.clone());
        // In its own task: a slow handshake must not delay the next connection.
        context.clone().tasks.spawn(async move {
            if let Some(stream) = handshake(stream, &tls, &state, &context).await {
                serve::serve(stream, state, context).await;
            }
        });
    }
}

/// The TLS handshake; `None` if it failed or took too long.
async fn handshake(
    stream: TcpStream,
    tls: &TlsAcceptor,
    state: &ConnectionState,
    context: &ConnectionContext,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    // Without it small answers are only delayed: not a reason to refuse.
    let _ = stream.set_nodelay(true);
    let why = tokio::select! {
        accepted = tls.accept(stream) => match accepted {
            Ok(stream) => return Some(stream),
            Err(error) => format!("no TLS: {error}"),
        },
        () = tokio::time::sleep(context.times.handshake_max) => {
            "the TLS handshake took too long".to_owned()
        }
        () = state.close_requested() => return None,
        () = context.cut.cancelled() => return None,
    };
    context
        .log
        .warn(LogKind::Connection, &state.peer().to_string(), &why);
    None
}

fn admit(context: &ConnectionContext, peer: Peer) -> Arc<ConnectionState> {
    let (slot, evicts) = context.admission.accept(&peer);
    if evicts {
        let what = "too many connections without a token: the oldest of the source with most of \
            them \
                    was closed";
        context.log.warn(LogKind::Evicted, &peer.to_string(), what);
    }
    Arc::new(ConnectionState::new(peer, slot))
}

/// The limit on the rate of connections at one listener.
struct AcceptLimit {
    bucket: RateLimit,
    log: RateLimitedLog,
}

impl AcceptLimit {
    fn new(log: RateLimitedLog) -> AcceptLimit {
        let rate = const { Rate::per_second(limits::ACCEPTS_PER_SECOND, limits::ACCEPTS_BURST) };
        AcceptLimit {
            bucket: RateLimit::new(rate),
            log,
        }
    }

    /// The next connection, as soon as the rate allows it.
    async fn next<T, F>(&mut self, accept: impl Fn() -> F) -> T
    where
        F: Future<Output = io::Result<T>>,
    {
        loop {
            // Before `accept`: what is beyond the rate waits in the kernel's queue and costs
            // nothing.
            while let Err(wait) = self.bucket.take(Instant::now()) {
                tokio::time::sleep(wait).await;
            }
            match accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    // Mostly no descriptor is free: the wait gives others time to close.
                    let what = format!("cannot accept a connection: {error}");
                    self.log.warn(LogKind::Accept, "", &what);
                    tokio::time::sleep(limits::ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}
