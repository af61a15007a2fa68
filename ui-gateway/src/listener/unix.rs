//! Opens the Unix socket in a private directory, accessible to this user alone.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(transparent)]
    NotPrivate(#[from] invivo_jobdir::NotPrivate),
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
    /// The user whose connections may be served.
    pub uid: u32,
}

impl Listener {
    /// Listens on `path`. A socket left behind by a dead gateway is replaced.
    ///
    /// # Errors
    /// If another gateway serves it, the path is no socket, or its directory is not private.
    pub async fn bind(path: &Path) -> Result<Listener, ListenError> {
        let failed = |source| ListenError::Io {
            path: path.to_owned(),
            source,
        };
        // Checked first: in a directory that others can write to, the socket's file could be
        // exchanged.
        invivo_jobdir::check_dir(path.parent().unwrap_or(path))?;
        // Not `metadata`: a symbolic link is refused, not followed.
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(meta) if !meta.file_type().is_socket() => {
                return Err(ListenError::NoSocket {
                    path: path.to_owned(),
                });
            }
            // Only a connection shows whether a gateway still serves the socket: the file outlives
            // its process.
            Ok(_) => match UnixStream::connect(path).await {
                Ok(_) => {
                    return Err(ListenError::Served {
                        path: path.to_owned(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    tracing::info!(
                        path = %path.display(),
                        "replacing the socket of a gateway that is gone"
                    );
                    std::fs::remove_file(path).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            },
        }

        let inner = UnixListener::bind(path).map_err(failed)?;
        // The directory is private already, so that nobody can connect between `bind` and this.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let uid = rustix::process::geteuid().as_raw();
        Ok(Listener {
            inner,
            path: path.to_owned(),
            uid,
        })
    }

    /// The next connection, of any user.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        self.inner.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> tempfile::TempDir {
        tempfile::Builder::new()
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .expect("directory")
    }

    #[tokio::test]
    async fn only_the_socket_of_a_dead_gateway_is_replaced() {
        let dir = private();
        let path = dir.path().join("gateway.sock");
        // Dropping a bound std listener leaves its file behind, as kill -9 does.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
        assert!(path.exists());
        let listener = Listener::bind(&path)
            .await
            .expect("the stale socket is replaced");
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
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))
            .expect("mode set");
        assert!(matches!(
            Listener::bind(&dir.path().join("gateway.sock")).await,
            Err(ListenError::NotPrivate(_))
        ));
    }
}
