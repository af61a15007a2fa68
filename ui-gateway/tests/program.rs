//! The program `ui-gateway`: killed and replaced, ended, with few descriptors, and its log.

use crate::process::Program;
use crate::scripted_root::{ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use rustix::process::Signal;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tonic::Code;

async fn answers(job: &JobDir) {
    let served = async {
        // A new channel each time: the old one may lead to a dead gateway.
        while job.viewer().status(v1::StatusRequest {}).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), served)
        .await
        .expect("the gateway answers");
}

#[tokio::test]
async fn a_killed_gateway_is_replaced_and_sigterm_ends_it() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let listen = ["--listen", "127.0.0.1:0"];
    let killed = Program::start(&job, &listen, None, None);
    answers(&job).await;
    let first = job.published();
    killed.end(Signal::KILL).await;
    assert!(
        job.connect.socket.exists(),
        "a killed gateway leaves its socket behind"
    );
    let second = Program::start(&job, &listen, None, None);
    answers(&job).await;
    let mut afar = job.afar(Some(&job.connect.view));
    afar.status(v1::StatusRequest {})
        .await
        .expect("with what it published");
    assert_ne!(
        job.published().authority,
        first.authority,
        "each has its own"
    );
    let status = second.end(Signal::TERM).await;
    assert!(status.success(), "{status}");
    assert!(!job.connect.socket.exists());
}

#[tokio::test]
async fn a_gateway_whose_supervisor_is_gone_ends_by_itself() {
    let mut job = JobDir::new();
    // As if the process that wrote the file were another one: this number was given away again.
    job.connect.pid_start_ticks += 1;
    job.write_connect();
    let status = Program::start(&job, &[], None, None).ended().await;
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn its_log_is_private_and_warns_of_wildcard_addresses() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let path = job.path().join("gateway.log");
    let log = File::create(&path).expect("made");
    log.set_permissions(PermissionsExt::from_mode(0o644))
        .expect("mode set");
    let program = Program::start(&job, &["--listen", "0.0.0.0:0"], None, Some(log));
    answers(&job).await;
    program.end(Signal::TERM).await;
    let mode = std::fs::metadata(&path)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(
        text.contains("listening on all addresses of this host"),
        "{text}"
    );
    assert!(!text.contains(&job.connect.view) && !text.contains("PRIVATE KEY"));
    let url = job.published().url.expect("a URL");
    assert!(
        url.starts_with(&format!("https://{}:", invivo_jobdir::host())),
        "{url}"
    );
}

#[tokio::test]
async fn an_address_without_a_host_is_refused_at_once() {
    let job = JobDir::new();
    for listen in [":4000", "4000", "*:0"] {
        let status = Program::start(&job, &["--listen", listen], None, None)
            .ended()
            .await;
        assert_eq!(status.code(), Some(2), "{listen}");
    }
}

#[tokio::test]
async fn few_descriptors_limit_the_clients_with_a_reason() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    // 48 are kept back: 4 for unauthenticated, 8 for clients.
    let program = Program::start(&job, &[], Some(60), None);
    answers(&job).await;
    sleep(Duration::from_millis(100)).await;
    let hello = v1::HelloRequest::default;
    let mut clients: Vec<_> = (0..9).map(|_| job.viewer()).collect();
    for client in &mut clients[..8] {
        client.hello(hello()).await.expect("room");
    }
    let full = clients[8].hello(hello()).await.expect_err("one too many");
    assert_eq!(full.code(), Code::ResourceExhausted);
    assert!(
        full.message()
            .starts_with("8 clients are connected to this job already"),
        "{}",
        full.message()
    );
    assert!(program.descriptors() <= 60);
    clients.pop();
    clients.pop();
    let again = async {
        let mut late = job.viewer();
        while late.hello(hello()).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(5), again)
        .await
        .expect("a place is free again");
    for client in &mut clients {
        client
            .hello(hello())
            .await
            .expect("they were not disturbed");
    }
}

#[tokio::test]
async fn too_few_descriptors_are_refused_with_what_to_do() {
    let job = JobDir::new();
    let path = job.path().join("gateway.log");
    let log = File::create(&path).expect("made");
    let status = Program::start(&job, &[], Some(50), Some(log)).ended().await;
    assert_eq!(status.code(), Some(1));
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(text.contains("raise the limit with ulimit -n"), "{text}");
}
