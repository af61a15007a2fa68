//! TLS: which clients and servers trust each other, and that the socket does not depend on it.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::{Bearer, JobDir};
use invivo_grpc::channel::Way;
use invivo_grpc::v1;
use invivo_grpc::v1::invivo_client::InvivoClient;
use invivo_ui_gateway::listener::tls_identity;
use invivo_ui_gateway::server::Options;
use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
};
use tonic::transport::Channel;
use tonic::{Code, Status};

async fn known_job() -> (JobDir, ScriptedRoot, crate::support::Gateway) {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway_with_tls().await;
    job.root_connected(true).await;
    (job, root, gateway)
}

/// Where the gateway of the job listens, as `127.0.0.1:PORT`.
fn address(job: &JobDir) -> String {
    let url = job.published().url.expect("a URL");
    url.strip_prefix("https://").expect("https").to_owned()
}

/// A handshake that offers one version only, with the job's own authority.
async fn handshake(
    job: &JobDir,
    version: &'static SupportedProtocolVersion,
    name: &str,
) -> std::io::Result<ProtocolVersion> {
    let mut roots = RootCertStore::empty();
    let authority = job.published().authority.expect("an authority");
    roots
        .add(CertificateDer::from_pem_slice(authority.as_bytes()).expect("PEM"))
        .expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address(job)).await?;
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    Ok(stream.get_ref().1.protocol_version().expect("agreed"))
}

/// All that an error says, from the outermost to the innermost.
fn chain(status: &Status) -> String {
    let mut text = status.to_string();
    let mut error: Option<&dyn Error> = status.source();
    while let Some(inner) = error {
        text = format!("{text}: {inner}");
        error = inner.source();
    }
    text
}

async fn status_over(channel: Channel, token: &str) -> Result<(), Status> {
    let mut client = InvivoClient::with_interceptor(channel, Bearer(Some(token.to_owned())));
    client.status(v1::StatusRequest {}).await.map(drop)
}

#[tokio::test]
async fn tls_serves_everything_and_needs_a_token() {
    let (job, _root, gateway) = known_job().await;
    let mut client = job.afar(Some(&job.connect.control));
    let hello = client
        .hello(v1::HelloRequest::default())
        .await
        .expect("hello")
        .into_inner();
    assert_eq!(hello.scope, "control");
    let mut snapshots = client
        .watch(v1::WatchRequest::default())
        .await
        .expect("watch")
        .into_inner();
    snapshots
        .message()
        .await
        .expect("no error")
        .expect("a snapshot");
    client
        .reset(v1::ResetRequest { command_id: 1 })
        .await
        .expect("reset");
    for token in [None, Some("wrong")] {
        let refused = job
            .afar(token)
            .status(v1::StatusRequest {})
            .await
            .expect_err("no token");
        assert_eq!(refused.code(), Code::Unauthenticated);
    }
    let mut entries = client
        .audit(v1::AuditRequest { follow: false })
        .await
        .expect("audit")
        .into_inner();
    let entry = entries
        .message()
        .await
        .expect("no error")
        .expect("an entry");
    assert_eq!(
        (entry.command.as_str(), entry.uid, entry.pid),
        ("reset", None, None)
    );
    assert!(entry.peer.starts_with("127.0.0.1:"), "{}", entry.peer);
    gateway.end().await;
    assert!(
        snapshots.message().await.expect("no error").is_none(),
        "it ends well"
    );
}

#[tokio::test]
async fn clients_refuse_another_authority_or_name() {
    let (job, _root, _gateway) = known_job().await;
    let token = job.connect.view.clone();
    let url = job.published().url.expect("a URL");
    let other = tls_identity::identity("another job", &["127.0.0.1".to_owned()]).expect("made");
    let way = Way::Tls {
        url,
        authority: other.authority,
    };
    let refused = status_over(way.channel().expect("a channel"), &token)
        .await
        .expect_err("not its own");
    assert!(
        chain(&refused).contains("invalid peer certificate"),
        "{}",
        chain(&refused)
    );

    handshake(&job, &TLS13, "127.0.0.1")
        .await
        .expect("its address");
    handshake(&job, &TLS13, "localhost")
        .await
        .expect("its name");
    for wrong in ["node99", "127.0.0.2"] {
        let refused = handshake(&job, &TLS13, wrong)
            .await
            .expect_err("not its name");
        assert!(
            refused.to_string().contains("not valid for name"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn the_gateway_refuses_older_tls_and_plain_http2() {
    let (job, _root, _gateway) = known_job().await;
    assert_eq!(
        handshake(&job, &TLS13, "127.0.0.1").await.expect("1.3"),
        ProtocolVersion::TLSv1_3
    );
    let refused = handshake(&job, &TLS12, "127.0.0.1").await.expect_err("1.2");
    assert!(refused.to_string().contains("ProtocolVersion"), "{refused}");

    let plain = Channel::from_shared(format!("http://{}", address(&job))).expect("a URL");
    status_over(plain.connect_lazy(), &job.connect.view)
        .await
        .expect_err("no TLS");
    let mut raw = TcpStream::connect(address(&job)).await.expect("connected");
    raw.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .expect("written");
    let mut said = Vec::new();
    // A reset is as good as an end.
    let _ = raw.read_to_end(&mut said).await;
    assert!(
        said.len() < 16 && !said.windows(3).any(|bytes| bytes == [0, 0, 0]),
        "an alert at most: {said:?}"
    );
}

#[tokio::test]
async fn a_bad_address_is_reported_the_socket_is_served() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    // An address for documentation only: no host has it.
    let options = Options {
        listen: Some("192.0.2.1:0".parse().expect("an address")),
        ..Options::default()
    };
    let _gateway = job.gateway_with(options).await;
    job.root_connected(true).await;
    job.viewer()
        .status(v1::StatusRequest {})
        .await
        .expect("status");
    let published = job.published();
    assert_eq!((published.url, published.authority), (None, None));
    let trouble = published.tls_trouble.expect("told");
    assert!(
        trouble.starts_with("cannot listen on 192.0.2.1:0"),
        "{trouble}"
    );
    assert_eq!(
        published.control, job.connect.control,
        "all else is as it was"
    );
}
