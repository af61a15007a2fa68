//! Where clients connect: the Unix socket always, TCP with TLS when asked for. Both let connections
//! in at a bounded rate, and each connection is served by a task of its own.

pub mod address;
pub mod tcp;
pub mod unix;

use crate::complaints::{Complaints, Kind};
use crate::connection::{self, Host};
use crate::door::Peer;
use crate::limits;
use crate::rate::{Bucket, Rate};
use crate::visit::Visit;
use std::io;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Lets connections to the Unix socket in, for ever.
pub async fn serve_unix(listener: unix::Listener, host: Host) {
    let mut gate = Gate::new(host.complaints.clone());
    loop {
        let accepted = gate.next(|| listener.accept()).await;
        let peer = match accepted.peer_cred() {
            Ok(peer) if peer.uid() == listener.uid => Peer::Unix {
                uid: peer.uid(),
                pid: peer.pid(),
            },
            Ok(peer) => {
                let what = "connection of another user refused";
                host.complaints
                    .tell(Kind::OtherUser, &format!("uid {}", peer.uid()), what);
                continue;
            }
            Err(error) => {
                let what =
                    format!("connection refused: the kernel does not tell whose it is: {error}");
                host.complaints.tell(Kind::OtherUser, "unix", &what);
                continue;
            }
        };
        let visit = enter(&host, peer);
        host.tasks
            .spawn(connection::serve(accepted, visit, host.clone()));
    }
}

/// Lets connections over TCP in, for ever.
pub async fn serve_tcp(listener: tokio::net::TcpListener, tls: TlsAcceptor, host: Host) {
    let mut gate = Gate::new(host.complaints.clone());
    loop {
        let (stream, address) = gate.next(|| listener.accept()).await;
        let visit = enter(&host, Peer::Tcp(address));
        let (tls, host) = (tls.clone(), host.clone());
        host.clone().tasks.spawn(async move {
            if let Some(stream) = handshake(stream, &tls, &visit, &host).await {
                connection::serve(stream, visit, host).await;
            }
        });
    }
}

async fn handshake(
    stream: TcpStream,
    tls: &TlsAcceptor,
    visit: &Visit,
    host: &Host,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    // It only delays small answers where it cannot be set.
    let _ = stream.set_nodelay(true);
    let why = tokio::select! {
        accepted = tls.accept(stream) => match accepted {
            Ok(stream) => return Some(stream),
            Err(error) => format!("no TLS: {error}"),
        },
        () = tokio::time::sleep(host.times.handshake_max) => "the TLS handshake took too long".to_owned(),
        () = visit.told_to_leave() => return None,
        () = host.cut.cancelled() => return None,
    };
    host.complaints
        .tell(Kind::Connection, &visit.peer().to_string(), &why);
    None
}

fn enter(host: &Host, peer: Peer) -> Arc<Visit> {
    let (place, crowded) = host.door.enter(&peer);
    if crowded {
        let what =
            "many connections that have shown no token: the oldest of whoever has most was closed";
        host.complaints
            .tell(Kind::PushedOut, &peer.to_string(), what);
    }
    Arc::new(Visit::new(peer, place))
}

/// The rate at which one listener lets connections in.
struct Gate {
    bucket: Bucket,
    complaints: Complaints,
}

impl Gate {
    fn new(complaints: Complaints) -> Gate {
        let rate = const { Rate::per_second(limits::ACCEPTS_PER_SECOND, limits::ACCEPTS_BURST) };
        Gate {
            bucket: Bucket::new(rate),
            complaints,
        }
    }

    /// The next connection, when there is one and the rate allows it.
    async fn next<T, F>(&mut self, accept: impl Fn() -> F) -> T
    where
        F: Future<Output = io::Result<T>>,
    {
        loop {
            while let Err(wait) = self.bucket.take(Instant::now()) {
                tokio::time::sleep(wait).await;
            }
            match accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    // Mostly that no descriptor is free (the reserve is used up): others will be
                    // closed.
                    let what = format!("cannot accept a connection: {error}");
                    self.complaints.tell(Kind::Accept, "", &what);
                    tokio::time::sleep(limits::ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}
