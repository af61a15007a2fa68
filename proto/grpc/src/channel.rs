//! Opens the channel to a job's gateway: its Unix socket on the same host, TLS from elsewhere.
//!
//! Only the job's own authority is trusted, and no proxy is used, whatever the environment says.

use hyper_util::rt::TokioIo;
use invivo_jobdir::{Connect, host};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Uri};

/// Time-out of a connection over TCP, including the TLS handshake.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// A way to a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Unix(PathBuf),
    Tls {
        /// `https://node17:40123`
        url: String,
        /// The certificate of the job's authority, PEM.
        authority: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum NoChannel {
    #[error("the address {url:?} in connect.json cannot be used: {source}")]
    Unusable {
        url: String,
        source: tonic::transport::Error,
    },
    /// The token would be readable on the network, and go to whoever listens.
    #[error("the address {url:?} in connect.json has no TLS: it must begin with https://")]
    Exposed { url: String },
}

impl Way {
    /// The way to the gateway of a job: its socket on the job's host, TLS from elsewhere if the
    /// gateway listens there.
    pub fn to(connect: &Connect) -> Way {
        // The first version of the file had no host.
        let here = connect.host.is_empty() || connect.host == host();
        match (&connect.url, &connect.authority) {
            // Also on the job's own host where the socket's file does not exist.
            (Some(url), Some(authority)) if !here || !connect.socket.exists() => Way::Tls {
                url: url.clone(),
                authority: authority.clone(),
            },
            _ => Way::Unix(connect.socket.clone()),
        }
    }

    /// A channel that connects with its first call, and again after the connection has broken.
    ///
    /// # Errors
    /// If the URL or the certificate cannot be used.
    pub fn channel(&self) -> Result<Channel, NoChannel> {
        match self {
            Way::Unix(socket) => Ok(unix(socket)),
            Way::Tls { url, authority } => tls(url, authority),
        }
    }
}

impl std::fmt::Display for Way {
    /// The socket's path or the URL, for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Way::Unix(socket) => socket.display().fmt(f),
            Way::Tls { url, .. } => f.write_str(url),
        }
    }
}

fn unix(socket: &Path) -> Channel {
    let socket = socket.to_owned();
    let connector = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { connect_to_own(&socket).await.map(TokioIo::new) }
    });
    // The address only fills the authority of the calls: the connector knows the socket.
    Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector)
}

/// Connects to a socket that this user listens on: a token must not be shown to anybody else, who
/// may have put a socket in the place of the gateway's.
///
/// # Errors
/// When nobody listens there, or another user does.
pub async fn connect_to_own(socket: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(socket).await?;
    let listener = stream.peer_cred()?.uid();
    if listener == rustix::process::geteuid().as_raw() {
        return Ok(stream);
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::PermissionDenied,
        format!("another user (uid {listener}) listens there"),
    ))
}

fn tls(url: &str, authority: &str) -> Result<Channel, NoChannel> {
    if !url.starts_with("https://") {
        return Err(NoChannel::Exposed {
            url: url.to_owned(),
        });
    }
    // The job's own authority alone: the system's would let any of its certificates pose as the
    // gateway.
    let trust = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));

    let endpoint = Endpoint::from_shared(url.to_owned()).and_then(|endpoint| {
        endpoint
            .connect_timeout(CONNECT_TIME_MAX)
            // Calls are small and wait for their answers: Nagle's algorithm would only delay them.
            .tcp_nodelay(true)
            .tls_config(trust)
    });

    let endpoint = endpoint.map_err(|source| NoChannel::Unusable {
        url: url.to_owned(),
        source,
    })?;
    Ok(endpoint.connect_lazy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(dir: &Path) -> Connect {
        let mut connect =
            Connect::new("job", &dir.join("gateway.sock"), Vec::new()).expect("random numbers");
        connect.url = Some("https://node17:40123".into());
        connect.authority = Some("PEM".into());
        connect
    }

    /// The socket is for the same host and tls for others.
    #[test]
    fn the_socket_serves_its_host_and_tls_the_others() {
        let dir = tempfile::tempdir().expect("directory");
        let mut connect = connect(dir.path());
        std::fs::write(&connect.socket, "").expect("written");
        assert_eq!(Way::to(&connect), Way::Unix(connect.socket.clone()));
        connect.host = "elsewhere".into();
        let way = Way::to(&connect);
        assert_eq!(way.to_string(), "https://node17:40123");
        // Without an address there is only the socket to be tried, and named in an error.
        connect.url = None;
        assert_eq!(Way::to(&connect), Way::Unix(connect.socket.clone()));
    }

    #[test]
    fn a_socket_that_is_gone_is_no_way() {
        let dir = tempfile::tempdir().expect("directory");
        assert!(matches!(Way::to(&connect(dir.path())), Way::Tls { .. }));
    }

    /// As root alone, who may become somebody else.
    #[tokio::test]
    async fn a_socket_of_another_user_gets_no_token() {
        let dir = tempfile::tempdir().expect("directory");
        let socket = dir.path().join("gateway.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        connect_to_own(&socket).await.expect("our own");
        drop(listener);
        std::fs::remove_file(&socket).expect("removed");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(dir.path(), open).expect("open to all");
        let script = format!(
            "import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); \
             s.bind({socket:?}); s.listen(); s.accept()[0].recv(1)"
        );
        let mut stranger = std::process::Command::new("python3")
            .args(["-c", &script])
            .spawn()
            .expect("python3");
        let since = std::time::Instant::now();
        let error = loop {
            match connect_to_own(&socket).await {
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => break error,
                other => assert!(since.elapsed() < CONNECT_TIME_MAX, "{other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(error.to_string().contains("65534"), "{error}");
        stranger.wait().expect("ended");
    }

    #[tokio::test]
    async fn what_is_no_address_or_no_certificate_is_refused() {
        for (url, authority) in [
            ("not a url", ""),
            ("http://node17:1", ""),
            ("https://not a url", ""),
            ("https://node17:1", "-----BEGIN CERTIFICATE-----\nx"),
        ] {
            let way = Way::Tls {
                url: url.into(),
                authority: authority.into(),
            };
            let error = way.channel().expect_err("no way");
            assert!(error.to_string().contains(url), "{error}");
        }
    }
}
