//! Load: fifty watchers that do not read and five hostile clients, on the socket and over TLS.
//! Other clients notice nothing, memory and open files stay below the limits, and all is given
//! back.

use crate::process::Program;
use crate::scripted_root::{Reply, STATUS, ScriptedRoot, coverage, known, status};
use crate::support::{Bearer, Client, JobDir};
use invivo_grpc::channel::Way;
use invivo_grpc::v1;
use invivo_grpc::v1::invivo_client::InvivoClient;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::{JobStatus, NOTES_MAX};
use invivo_proto::control::tree::Query;
use invivo_ui_gateway::limits;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::transport::Endpoint;
use tonic::{Code, Streaming};

/// How long the clients stay.
const STAY: Duration = Duration::from_secs(4);
/// The longest that a good client may wait for an answer on a connection that it has.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(4);
/// The longest with a new connection: a burst of 500 waits before it in the kernel's queue, at 200
/// per second, and there may be a second one.
const NEW_CONNECTION_TIME_MAX: Duration = Duration::from_secs(20);
/// Bytes of memory that the clients may cost. The bound in `limits` for so many is higher.
const CLIENTS_BYTES_MAX: u64 = 48 * 1024 * 1024;
/// How large the gateway may become with all of it, in bytes.
const RESIDENT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// What may stay when it is gone: the allocator keeps some pages.
const LEFTOVER_BYTES_MAX: u64 = 24 * 1024 * 1024;

/// The two ways in.
#[derive(Clone)]
enum Address {
    Unix(std::path::PathBuf),
    Tls {
        address: String,
        connector: TlsConnector,
        way: Way,
    },
}

/// A connection of either kind, as bytes.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Address {
    fn unix(job: &JobDir) -> Address {
        Address::Unix(job.connect.socket.clone())
    }

    fn tls(job: &JobDir) -> Address {
        let published = job.published();
        let (url, authority) = (
            published.url.expect("a URL"),
            published.authority.expect("an authority"),
        );
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority.as_bytes()).expect("PEM"))
            .expect("a certificate");
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Address::Tls {
            address: url.strip_prefix("https://").expect("https").to_owned(),
            connector: TlsConnector::from(Arc::new(config)),
            way: Way::Tls { url, authority },
        }
    }

    /// A bare connection, without a word of TLS.
    async fn knock(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match self {
            Address::Unix(socket) => Box::new(UnixStream::connect(socket).await?),
            Address::Tls { address, .. } => Box::new(TcpStream::connect(address).await?),
        })
    }

    /// A connection on which HTTP/2 can be spoken.
    async fn enter(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match self {
            Address::Unix(socket) => Box::new(UnixStream::connect(socket).await?),
            Address::Tls {
                address, connector, ..
            } => {
                let name = ServerName::try_from("127.0.0.1").expect("a name");
                let stream = TcpStream::connect(address).await?;
                Box::new(connector.connect(name, stream).await?)
            }
        })
    }

    fn client(&self, token: &str) -> Client {
        let channel = match self {
            Address::Unix(socket) => crate::support::channel(socket),
            Address::Tls { way, .. } => way.channel().expect("a channel"),
        };
        InvivoClient::with_interceptor(channel, Bearer(Some(token.to_owned())))
    }

    /// A client with the smallest window, so that what it does not read stays at the gateway soon.
    fn narrow_client(&self, token: &str) -> Client {
        let channel = match self {
            Address::Unix(socket) => crate::support::channel(socket),
            Address::Tls {
                way: Way::Tls { url, authority },
                ..
            } => {
                let trust = tonic::transport::ClientTlsConfig::new()
                    .ca_certificate(tonic::transport::Certificate::from_pem(authority));
                Endpoint::from_shared(url.clone())
                    .and_then(|endpoint| endpoint.tls_config(trust))
                    .expect("an endpoint")
                    .initial_stream_window_size(65_535)
                    .initial_connection_window_size(65_535)
                    .connect_lazy()
            }
            Address::Tls { .. } => unreachable!("it is TLS"),
        };
        InvivoClient::with_interceptor(channel, Bearer(Some(token.to_owned())))
    }
}

/// Random enough bytes.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..4096).map(|_| next()).collect()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Says nonsense on one connection after the other.
async fn garbage(address: Address) {
    for seed in 1.. {
        let stream = if seed % 2 == 0 {
            address.knock().await
        } else {
            address.enter().await
        };
        if let Ok(mut stream) = stream {
            let _ = stream.write_all(&noise(seed)).await;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Announces frames of 16 MiB, and sends headers without end.
async fn huge(address: Address) {
    let announced = [PREFACE, &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat();
    let mut headers = [PREFACE, &[0, 0x40, 0, 1, 0, 0, 0, 0, 1]].concat();
    headers.extend(vec![0u8; 0x4000]);
    for _ in 0..64 {
        // CONTINUATION frames, none of which is the last.
        headers.extend([0, 0x40, 0, 9, 0, 0, 0, 0, 1]);
        headers.extend(vec![0u8; 0x4000]);
    }
    loop {
        for bytes in [&announced, &headers] {
            if let Ok(mut stream) = address.enter().await {
                let _ = stream.write_all(bytes).await;
                let _ = timeout(Duration::from_millis(50), stream.write_all(&noise(7))).await;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Keeps forty connections that say a byte now and then.
async fn half_open(address: Address) {
    let mut streams = Vec::new();
    loop {
        while streams.len() < 40 {
            let stream = if streams.len() % 2 == 0 {
                address.knock().await
            } else {
                address.enter().await
            };
            match stream {
                Ok(stream) => streams.push(stream),
                Err(_) => break,
            }
        }
        let mut kept = Vec::new();
        for mut stream in streams {
            if stream.write_all(b"P").await.is_ok() {
                kept.push(stream);
            }
        }
        streams = kept;
        sleep(Duration::from_millis(250)).await;
    }
}

/// Tries tokens.
async fn wrong_tokens(address: Address) {
    for guess in 0u64.. {
        let mut client = address.client(&format!("{guess:064}"));
        for _ in 0..40 {
            let refused = client.status(v1::StatusRequest {}).await;
            assert!(refused.is_err(), "a guess was right");
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Opens five hundred connections at once, again and again.
async fn bursts(address: Address) {
    loop {
        let mut connecting = JoinSet::new();
        for _ in 0..500 {
            let address = address.clone();
            connecting.spawn(async move { address.knock().await });
        }
        let streams = connecting.join_all().await;
        sleep(Duration::from_millis(500)).await;
        drop(streams);
        sleep(Duration::from_millis(1500)).await;
    }
}

/// A good client that keeps its connection; gives the longest that it has waited for an answer.
async fn faithful(mut client: Client) -> Duration {
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    while begun.elapsed() < STAY {
        let asked = Instant::now();
        client
            .status(v1::StatusRequest {})
            .await
            .expect("a good client is answered");
        longest = longest.max(asked.elapsed());
        sleep(Duration::from_millis(50)).await;
    }
    longest
}

/// A good client that comes anew each time, and again when it was pushed out, as `invivo` does.
async fn fresh(address: Address, token: String) -> Duration {
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    while begun.elapsed() < STAY {
        let asked = Instant::now();
        while address
            .client(&token)
            .status(v1::StatusRequest {})
            .await
            .is_err()
        {
            assert!(
                asked.elapsed() < NEW_CONNECTION_TIME_MAX,
                "no answer to a new client"
            );
            sleep(Duration::from_millis(20)).await;
        }
        longest = longest.max(asked.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    longest
}

/// A good client that watches; gives the number of snapshots.
async fn watching(mut snapshots: Streaming<v1::Snapshot>) -> u32 {
    let begun = Instant::now();
    let mut seen = 0;
    while begun.elapsed() < STAY {
        snapshots
            .message()
            .await
            .expect("no error")
            .expect("goes on");
        seen += 1;
    }
    seen
}

/// A root whose statuses are as long as they can be.
fn talkative(ask: &Ask) -> Reply {
    match ask {
        Ask::Query(Query::Status) => {
            let status = JobStatus {
                notes: vec!["x".repeat(2048); NOTES_MAX],
                ..status()
            };
            Reply::Answer(Answer::Status(status, coverage()))
        }
        other => known(other),
    }
}

async fn serve_many_clients(
    job: &JobDir,
    root: &ScriptedRoot,
    program: &Program,
    address: Address,
) {
    let token = job.connect.view.clone();
    // Good clients that were there before.
    let (mut one, mut other) = (address.client(&token), address.client(&token));
    one.status(v1::StatusRequest {}).await.expect("status");
    let request = v1::WatchRequest {
        interval_ns: 200_000_000,
        functions: true,
    };
    let snapshots = other.watch(request).await.expect("watch").into_inner();
    sleep(Duration::from_millis(200)).await;
    let (bytes_before, descriptors_before) = (program.resident_bytes(), program.descriptors());
    let waves_before = root.times(&STATUS);

    let mut clients = JoinSet::new();
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut client = address.narrow_client(&token);
        let request = v1::WatchRequest {
            interval_ns: 100_000_000,
            functions: true,
        };
        // The streams are kept and never read.
        slow.push(client.watch(request).await.expect("watch").into_inner());
    }
    clients.spawn(garbage(address.clone()));
    clients.spawn(huge(address.clone()));
    clients.spawn(half_open(address.clone()));
    clients.spawn(wrong_tokens(address.clone()));
    clients.spawn(bursts(address.clone()));
    let good = tokio::spawn({
        let (address, token) = (address.clone(), token.clone());
        async move { tokio::join!(faithful(one), fresh(address, token), watching(snapshots)) }
    });
    let (mut bytes_most, mut descriptors_most) = (0, 0);
    while !good.is_finished() {
        bytes_most = bytes_most.max(program.resident_bytes());
        descriptors_most = descriptors_most.max(program.descriptors());
        sleep(Duration::from_millis(20)).await;
    }
    let (faithful, fresh, seen) = good.await.expect("the good clients were served");
    let waves = root.times(&STATUS) - waves_before;
    println!(
        "answers within {faithful:?}, to new clients within {fresh:?}, {seen} snapshots, {waves} \
         waves, \
         {descriptors_before} to {descriptors_most} files, {} to {} KiB",
        bytes_before / 1024,
        bytes_most / 1024
    );
    assert!(faithful < ANSWER_TIME_MAX, "an answer took {faithful:?}");
    assert!(
        fresh < NEW_CONNECTION_TIME_MAX,
        "an answer to a new client took {fresh:?}"
    );
    assert!(seen >= 5, "{seen} snapshots in {STAY:?} at 200 ms");
    let most = limits::CLIENTS_MAX + limits::UNAUTHENTICATED_MAX + limits::DESCRIPTORS_RESERVE;
    assert!(descriptors_most <= most, "{descriptors_most} open files");
    assert!(
        descriptors_most >= descriptors_before + 50,
        "the clients were not there: the test is blind"
    );
    let cost = bytes_most.saturating_sub(bytes_before);
    assert!(cost < CLIENTS_BYTES_MAX, "{cost} bytes for the clients");
    assert!(bytes_most < RESIDENT_BYTES_MAX, "{bytes_most} bytes");

    clients.shutdown().await;
    drop((slow, other));
    // The two good ones have left as well.
    let descriptors_before = descriptors_before - 2;
    let given_back = async {
        while program.descriptors() > descriptors_before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), given_back)
        .await
        .expect("all files are given back");
    let leftover = program.resident_bytes().saturating_sub(bytes_before);
    assert!(leftover < LEFTOVER_BYTES_MAX, "{leftover} bytes stay");
    let (waves, quiet) = (root.times(&STATUS), Duration::from_millis(400));
    sleep(quiet).await;
    assert!(root.times(&STATUS) <= waves + 1, "nobody watches any more");
}

/// Five hundred connections and their other halves are more files than a process usually may open.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).expect("up to the hard limit");
}

/// One after the other: each has the machine for itself, as the times are measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_socket_and_over_tls() {
    allow_many_files();
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), talkative);
    let program = Program::start(&job, &["--listen", "127.0.0.1:0"], Some(1024), None);
    while job.published().url.is_none() {
        sleep(Duration::from_millis(10)).await;
    }
    job.root_connected(true).await;
    serve_many_clients(&job, &root, &program, Address::unix(&job)).await;
    serve_many_clients(&job, &root, &program, Address::tls(&job)).await;
}

#[tokio::test]
async fn watchers_are_bounded() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut streams = Vec::new();
    let request = v1::WatchRequest {
        interval_ns: 60_000_000_000,
        functions: false,
    };
    // One connection carries a bounded number of calls only, and one token is not given all places.
    let per_connection = limits::CALLS_PER_CONNECTION_MAX as usize;
    let viewers = limits::WATCHERS_PER_TOKEN_MAX;
    let connect = |token: fn(&JobDir) -> Client, watchers: usize| -> Vec<_> {
        let connections = 0..=watchers / per_connection;
        connections.map(|_| token(&job)).collect()
    };
    let mut clients = connect(JobDir::viewer, viewers);
    let mut controllers = connect(JobDir::controller, limits::WATCHERS_MAX - viewers);
    for at in 0..limits::WATCHERS_MAX {
        let client = match at.checked_sub(viewers) {
            None => &mut clients[at / per_connection],
            Some(at) => &mut controllers[at / per_connection],
        };
        streams.push(client.watch(request).await.expect("watch").into_inner());
        if at + 1 == viewers {
            let last = clients.last_mut().expect("one more");
            let surplus = last.watch(request).await.expect_err("more than its part");
            assert_eq!(surplus.code(), Code::ResourceExhausted);
        }
    }
    let last = controllers.last_mut().expect("one more");
    let surplus = last.watch(request).await.expect_err("one too many");
    assert_eq!(surplus.code(), Code::ResourceExhausted);
    streams.pop();
    let again = async {
        while last.watch(request).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(5), again)
        .await
        .expect("a place is free again");
}
