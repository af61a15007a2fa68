//! Takes connections on loopback and gives them to the paths; nothing that a connection does ends
//! the others.

use super::peer;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at a time: a browser opens six for a page.
const CONNECTIONS_MAX: usize = 128;
/// For a request's head, and until the next request on a connection.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Bytes of a request's head and of what is read ahead.
const BUFFER_BYTES_MAX: usize = 16 * 1024;

/// What a stranger is told.
const STRANGER: &[u8] =
    b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\n\
    Content-Length: 46\r\n\r\nthis page belongs to another user of this host";

/// Listens on this port of loopback, or on a free one for 0.
///
/// # Errors
/// When it cannot be had.
pub async fn listen(port: u16) -> std::io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Serves until the future is dropped.
pub async fn serve(listener: TcpListener, router: Router) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Taken first: more of them wait in the kernel's queue, which has a limit of its own.
        let Ok(permit) = connections.clone().acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // No descriptor is free, for example: others will be soon.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let router = router.clone();
        tokio::spawn(async move {
            let _permit = permit;
            if is_strangers(&stream) {
                return refuse(stream).await;
            }
            // A browser that is gone is no trouble.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(BUFFER_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
                .await;
        });
    }
}

fn is_strangers(stream: &TcpStream) -> bool {
    match (stream.peer_addr(), stream.local_addr()) {
        (Ok(SocketAddr::V4(peer)), Ok(SocketAddr::V4(ours))) => peer::is_strangers(peer, ours),
        _ => false,
    }
}

/// Says why, and ends it; a stranger that does not read waits for nobody.
async fn refuse(mut stream: TcpStream) {
    let said = async {
        stream.write_all(STRANGER).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), said).await;
}
