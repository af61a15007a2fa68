//! Every call with every kind of token.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::{Bearer, JobDir};
use invivo_grpc::v1;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1 as reflection, v1alpha as reflection_alpha};

/// How a call ended.
async fn outcome<T>(call: impl Future<Output = Result<T, Status>>) -> Result<(), Status> {
    call.await.map(drop)
}

/// Makes every call there is and says how each ended.
async fn all_calls(job: &JobDir, token: Option<&str>) -> Vec<(&'static str, Result<(), Status>)> {
    let mut client = job.client(token);
    let bearer = Bearer(token.map(str::to_owned));
    let mut health = HealthClient::with_interceptor(job.channel(), bearer.clone());
    let mut reflection =
        reflection::server_reflection_client::ServerReflectionClient::with_interceptor(
            job.channel(),
            bearer.clone(),
        );
    let mut reflection_alpha =
        reflection_alpha::server_reflection_client::ServerReflectionClient::with_interceptor(
            job.channel(),
            bearer,
        );
    let list = reflection::ServerReflectionRequest {
        message_request: Some(
            reflection::server_reflection_request::MessageRequest::ListServices(String::new()),
        ),
        ..Default::default()
    };
    let list_all = reflection_alpha::server_reflection_request::MessageRequest::ListServices;
    let list_alpha = reflection_alpha::ServerReflectionRequest {
        message_request: Some(list_all(String::new())),
        ..Default::default()
    };
    let window = v1::RecordWindowRequest {
        command_id: 0,
        length_ns: 1_000_000_000,
    };
    let invite = v1::InviteRequest {
        scope: "view".into(),
        valid_ns: 0,
    };
    vec![
        (
            "Hello",
            outcome(client.hello(v1::HelloRequest::default())).await,
        ),
        ("Status", outcome(client.status(v1::StatusRequest {})).await),
        (
            "Watch",
            outcome(client.watch(v1::WatchRequest::default())).await,
        ),
        (
            "Functions",
            outcome(client.functions(v1::FunctionsRequest::default())).await,
        ),
        (
            "CallSites",
            outcome(client.call_sites(v1::CallSitesRequest::default())).await,
        ),
        (
            "Regions",
            outcome(client.regions(v1::RegionsRequest::default())).await,
        ),
        (
            "Iterations",
            outcome(client.iterations(v1::IterationsRequest::default())).await,
        ),
        (
            "Matrix",
            outcome(client.matrix(v1::MatrixRequest::default())).await,
        ),
        (
            "Messages",
            outcome(client.messages(v1::MessagesRequest::default())).await,
        ),
        (
            "Buffers",
            outcome(client.buffers(v1::BuffersRequest {})).await,
        ),
        (
            "Records",
            outcome(client.records(v1::RecordsRequest::default())).await,
        ),
        (
            "Health",
            outcome(health.check(HealthCheckRequest::default())).await,
        ),
        (
            "Health watch",
            outcome(health.watch(HealthCheckRequest::default())).await,
        ),
        (
            "Reflection",
            outcome(reflection.server_reflection_info(tokio_stream::once(list))).await,
        ),
        (
            "Reflection alpha",
            outcome(reflection_alpha.server_reflection_info(tokio_stream::once(list_alpha))).await,
        ),
        (
            "Pause",
            outcome(client.pause(v1::PauseRequest::default())).await,
        ),
        (
            "Resume",
            outcome(client.resume(v1::ResumeRequest::default())).await,
        ),
        (
            "Hold",
            outcome(client.hold(v1::HoldRequest::default())).await,
        ),
        (
            "Reset",
            outcome(client.reset(v1::ResetRequest::default())).await,
        ),
        (
            "Record",
            outcome(client.record(v1::RecordRequest::default())).await,
        ),
        ("RecordWindow", outcome(client.record_window(window)).await),
        (
            "Shutdown",
            outcome(client.shutdown(v1::ShutdownRequest::default())).await,
        ),
        (
            "Audit",
            outcome(client.audit(v1::AuditRequest::default())).await,
        ),
        ("Invite", outcome(client.invite(invite)).await),
    ]
}

#[tokio::test]
async fn each_token_opens_its_scope_and_no_more() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let commands_before = root.asked().len();

    let nearly = job.connect.control[1..].to_owned();
    for token in [None, Some("wrong"), Some(""), Some(nearly.as_str())] {
        for (call, ended) in all_calls(&job, token).await {
            let status = ended.expect_err(call);
            assert_eq!(
                status.code(),
                Code::Unauthenticated,
                "{call} with {token:?}"
            );
            assert!(
                status.message().contains("connect.json"),
                "{call}: {}",
                status.message()
            );
        }
    }
    assert_eq!(
        root.asked().len(),
        commands_before,
        "a refused call must not reach the root"
    );

    for (call, ended) in all_calls(&job, Some(&job.connect.view)).await {
        match call {
            "Pause" | "Resume" | "Hold" | "Reset" | "Record" | "RecordWindow" | "Shutdown" => {
                let status = ended.expect_err(call);
                assert_eq!(status.code(), Code::PermissionDenied, "{call}");
                assert!(
                    status
                        .message()
                        .contains(&format!("{call} needs the scope control"))
                );
                assert!(
                    status.message().contains("token \"control\""),
                    "{}",
                    status.message()
                );
            }
            _ => ended.unwrap_or_else(|status| panic!("{call} with view: {status}")),
        }
    }
    for (call, ended) in all_calls(&job, Some(&job.connect.control)).await {
        ended.unwrap_or_else(|status| panic!("{call} with control: {status}"));
    }
}

#[tokio::test]
async fn the_token_must_come_as_a_bearer() {
    let job = JobDir::new();
    let _gateway = job.gateway().await;
    let mut client = v1::invivo_client::InvivoClient::new(job.channel());
    for header in [
        job.connect.control.clone(),
        format!("Basic {}", job.connect.control),
    ] {
        let mut request = Request::new(v1::HelloRequest::default());
        request
            .metadata_mut()
            .insert("authorization", header.parse().expect("ascii"));
        assert_eq!(
            client.hello(request).await.expect_err("refused").code(),
            Code::Unauthenticated
        );
    }
}

#[tokio::test]
async fn health_follows_the_root() {
    let job = JobDir::new();
    let gateway = job.gateway().await;
    let mut health =
        HealthClient::with_interceptor(job.channel(), Bearer(Some(job.connect.view.clone())));
    let asked = HealthCheckRequest {
        service: "invivo.v1.Invivo".into(),
    };
    let serving = |reply: tonic::Response<tonic_health::pb::HealthCheckResponse>| {
        reply.into_inner().status() as i32
    };
    assert_eq!(
        serving(health.check(asked.clone()).await.expect("known")),
        2,
        "without a root it does not serve"
    );
    let _root = ScriptedRoot::start(&job.link(), known);
    job.root_connected(true).await;
    let mut changes = health.watch(asked).await.expect("known").into_inner();
    while changes
        .message()
        .await
        .expect("no error")
        .expect("goes on")
        .status() as i32
        != 1
    {}
    gateway.end().await;
}
