//! The socket that clients connect to: in a private directory, only for this user, with a bounded number of
//! connections.

use crate::limits;
use futures_util::Stream;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::{Connected, UdsConnectInfo};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ListenError {
    #[error(transparent)]
    NotPrivate(#[from] invivo_grpc::private::NotPrivate),
    #[error("{} is served by another gateway already", path.display())]
    Served { path: PathBuf },
    #[error("{} is there and is no socket: not touched", path.display())]
    NoSocket { path: PathBuf },
    #[error("cannot listen on {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The listening socket; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    inner: UnixListener,
    path: PathBuf,
    uid: u32,
    slots: Arc<Semaphore>,
}

impl Listener {
    /// Listens on `path`. A socket that a dead gateway left there is replaced.
    ///
    /// # Errors
    /// Why it cannot be.
    pub async fn bind(path: &Path) -> Result<Listener, ListenError> {
        let failed = |source| ListenError::Io {
            path: path.to_owned(),
            source,
        };
        invivo_grpc::private::check_dir(path.parent().unwrap_or(path))?;
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(meta) if !meta.file_type().is_socket() => {
                return Err(ListenError::NoSocket {
                    path: path.to_owned(),
                });
            }
            Ok(_) => match UnixStream::connect(path).await {
                Ok(_) => {
                    return Err(ListenError::Served {
                        path: path.to_owned(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    tracing::info!(path = %path.display(), "replacing the socket of a gateway that is gone");
                    std::fs::remove_file(path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            },
        }
        let inner = UnixListener::bind(path).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let uid = rustix::process::geteuid().as_raw();
        let slots = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
        Ok(Listener {
            inner,
            path: path.to_owned(),
            uid,
            slots,
        })
    }

    /// The connections, one after the other, for ever.
    pub fn incoming(self) -> impl Stream<Item = io::Result<Connection>> {
        futures_util::stream::unfold(self, |listener| async {
            Some((Ok(listener.accept().await), listener))
        })
    }

    /// The next connection that may be served; others are closed.
    async fn accept(&self) -> Connection {
        loop {
            let stream = match self.inner.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Mostly that no descriptor is free: others will be closed.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            match stream.peer_cred() {
                Ok(peer) if peer.uid() == self.uid => {}
                Ok(peer) => {
                    tracing::warn!(uid = peer.uid(), "connection of another user refused");
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "connection refused: the kernel does not tell whose it is");
                    continue;
                }
            }
            match Arc::clone(&self.slots).try_acquire_owned() {
                Ok(slot) => return Connection { stream, _slot: slot },
                Err(_) => tracing::warn!(most = limits::CONNECTIONS_MAX, "connection refused: too many"),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A client's connection; it counts against the limit until it is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    _slot: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = UdsConnectInfo;

    fn connect_info(&self) -> UdsConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;

    fn private() -> tempfile::TempDir {
        tempfile::Builder::new()
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .expect("directory")
    }

    #[tokio::test]
    async fn a_dead_gateways_socket_is_replaced_and_a_living_ones_is_not() {
        let dir = private();
        let path = dir.path().join("gateway.sock");
        // Dropping a bound std listener leaves its file behind, as kill -9 does.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
        assert!(path.exists());
        let listener = Listener::bind(&path).await.expect("the stale socket is replaced");
        assert!(matches!(
            Listener::bind(&path).await,
            Err(ListenError::Served { .. })
        ));
        drop(listener);
        assert!(!path.exists(), "the socket is removed at the end");
    }

    #[tokio::test]
    async fn other_files_and_open_directories_are_refused() {
        let dir = private();
        let path = dir.path().join("file");
        std::fs::write(&path, "precious").expect("written");
        assert!(matches!(
            Listener::bind(&path).await,
            Err(ListenError::NoSocket { .. })
        ));
        assert!(path.exists());
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("mode set");
        assert!(matches!(
            Listener::bind(&dir.path().join("gateway.sock")).await,
            Err(ListenError::NotPrivate(_))
        ));
    }

    #[tokio::test]
    async fn connections_are_bounded_and_a_closed_one_makes_room() {
        let dir = private();
        let path = dir.path().join("gateway.sock");
        let listener = Listener::bind(&path).await.expect("bound");
        let mut incoming = std::pin::pin!(listener.incoming());
        let mut clients = Vec::new();
        let mut served = Vec::new();
        for _ in 0..limits::CONNECTIONS_MAX {
            clients.push(UnixStream::connect(&path).await.expect("connected"));
            served.push(incoming.next().await.expect("endless").expect("served"));
        }
        let surplus = UnixStream::connect(&path).await.expect("connected");
        let next = tokio::time::timeout(Duration::from_millis(50), incoming.next()).await;
        assert!(next.is_err(), "one more than the limit was served");
        surplus.readable().await.expect("told");
        assert_eq!(surplus.try_read(&mut [0]).expect("closed"), 0);
        served.pop();
        let _late = UnixStream::connect(&path).await.expect("connected");
        assert!(incoming.next().await.is_some(), "a free slot is used");
    }
}
