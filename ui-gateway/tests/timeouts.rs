//! Time-outs of connections: silent, unauthenticated, without answers to PING, or not reading.

use crate::scripted_root::{Reply, ScriptedRoot, coverage, known};
use crate::support::{Bearer, JobDir};
use hyper_util::rt::TokioIo;
use invivo_grpc::v1;
use invivo_grpc::v1::invivo_client::InvivoClient;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::JobStatus;
use invivo_proto::control::tree::Query;
use invivo_ui_gateway::limits::Times;
use invivo_ui_gateway::server::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::{Endpoint, Uri};

fn short_times() -> Options {
    Options {
        listen: Some("127.0.0.1:0".parse().expect("an address")),
        times: Times {
            handshake_max: Duration::from_millis(200),
            unauthenticated_max: Duration::from_millis(500),
            ping_interval: Duration::from_millis(200),
            ping_max: Duration::from_secs(2),
            stall_max: Duration::from_millis(800),
            ..Times::default()
        },
    }
}

/// For how long the connection is kept open by the other side, since `begun`.
async fn kept_open(begun: Instant, mut stream: impl AsyncRead + Unpin) -> Duration {
    let mut said = Vec::new();
    // A reset is an end as well.
    let read = timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await;
    assert!(read.is_ok(), "it is never closed");
    begun.elapsed()
}

#[tokio::test]
async fn a_silent_or_slow_connection_is_closed() {
    let job = JobDir::new();
    let _gateway = job.gateway_with(short_times()).await;
    while job.published().url.is_none() {
        sleep(Duration::from_millis(5)).await;
    }
    let url = job.published().url.expect("a URL");
    let address = url.strip_prefix("https://").expect("https");
    let begun = Instant::now();
    let silent = UnixStream::connect(&job.connect.socket)
        .await
        .expect("connected");
    let silent_tls = TcpStream::connect(address).await.expect("connected");
    let (slow, mut writer) = UnixStream::connect(&job.connect.socket)
        .await
        .expect("connected")
        .into_split();
    let dripping = tokio::spawn(async move {
        for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".iter().cycle() {
            if writer.write_all(&[*byte]).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    let (silent, silent_tls, slow) = tokio::join!(
        kept_open(begun, silent),
        kept_open(begun, silent_tls),
        kept_open(begun, slow)
    );
    assert!((400..5000).contains(&silent.as_millis()), "{silent:?}");
    assert!(
        (100..4500).contains(&silent_tls.as_millis()),
        "{silent_tls:?}"
    );
    assert!((400..5000).contains(&slow.as_millis()), "{slow:?}");
    dripping.abort();
}

#[tokio::test]
async fn only_a_valid_token_keeps_a_connection() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway_with(short_times()).await;
    job.root_connected(true).await;
    let mut good = job.viewer();
    let request = v1::WatchRequest {
        interval_ns: 100_000_000,
        functions: false,
    };
    let mut snapshots = good.watch(request).await.expect("watch").into_inner();
    // This one calls all the time, and connects again whenever its connection is closed.
    let connections = Arc::new(AtomicU32::new(0));
    let (socket, counted) = (job.connect.socket.clone(), connections.clone());
    let connector = tower::service_fn(move |_: Uri| {
        counted.fetch_add(1, Ordering::Relaxed);
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector);
    let mut wrong = InvivoClient::with_interceptor(channel, Bearer(Some("wrong".into())));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        wrong
            .status(v1::StatusRequest {})
            .await
            .expect_err("a wrong token");
        let snapshot = snapshots.message().await.expect("not disturbed");
        assert!(snapshot.is_some());
    }
    let connections = connections.load(Ordering::Relaxed);
    let most = begun.elapsed().as_millis() as u32 / 500 + 2;
    assert!(
        (2..=most).contains(&connections),
        "{connections} connections in 2 s, closed after half a second each"
    );
}

#[test]
fn a_client_that_answers_no_ping_is_closed() {
    let server = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let job = JobDir::new();
    let (_root, _gateway) = server.block_on(async {
        let root = ScriptedRoot::start(&job.link(), known);
        let gateway = job.gateway_with(short_times()).await;
        job.root_connected(true).await;
        (root, gateway)
    });
    // A client that is stopped: its runtime is not driven, as under SIGSTOP.
    let client = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let request = v1::WatchRequest {
        interval_ns: 3_600_000_000_000,
        functions: false,
    };
    let mut snapshots = client.block_on(async {
        let mut snapshots = job
            .viewer()
            .watch(request)
            .await
            .expect("watch")
            .into_inner();
        snapshots
            .message()
            .await
            .expect("no error")
            .expect("a snapshot");
        snapshots
    });
    std::thread::sleep(Duration::from_secs(5));
    let ended =
        client.block_on(async { timeout(Duration::from_secs(5), snapshots.message()).await });
    ended
        .expect("in time")
        .expect_err("it was closed meanwhile");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Query(Query::Status) => {
            let notes = vec!["x".repeat(200_000)];
            let status = JobStatus {
                notes,
                ..JobStatus::default()
            };
            Reply::Answer(Answer::Status(status, coverage()))
        }
        other => known(other),
    });
    let _gateway = job.gateway_with(short_times()).await;
    job.root_connected(true).await;
    let request = v1::WatchRequest {
        interval_ns: 100_000_000,
        functions: false,
    };
    let (mut reading, mut stalled) = (job.viewer(), job.viewer());
    let mut read = reading.watch(request).await.expect("watch").into_inner();
    let mut unread = stalled.watch(request).await.expect("watch").into_inner();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        read.message()
            .await
            .expect("who reads is not closed")
            .expect("goes on");
    }
    let ended = async {
        // What had arrived before comes first.
        while unread.message().await?.is_some() {}
        Ok::<(), tonic::Status>(())
    };
    let ended = timeout(Duration::from_secs(5), ended)
        .await
        .expect("it ended");
    ended.expect_err("it was closed meanwhile");
}
