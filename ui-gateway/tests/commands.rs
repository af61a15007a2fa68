//! Commands: their ids, defaults, failures and lines in the audit log.

use crate::scripted_root::{Reply, ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::tree::{Acks, Order};
use invivo_proto::ids::{CommandId, Rank, WorldRank};
use tonic::Code;

async fn known_job() -> (JobDir, ScriptedRoot, crate::support::Gateway) {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    (job, root, gateway)
}

fn commands(root: &ScriptedRoot) -> Vec<(CommandId, Order)> {
    let command = |ask| {
        if let Ask::Command { id, order } = ask {
            Some((id, order))
        } else {
            None
        }
    };
    root.asked().into_iter().filter_map(command).collect()
}

#[tokio::test]
async fn commands_carry_the_clients_id_and_lease_or_defaults() {
    let (job, root, _gateway) = known_job().await;
    let mut client = job.controller();
    let asked = v1::PauseRequest {
        command_id: 77,
        lease_ns: 5_000_000_000,
    };
    let reply = client.pause(asked).await.expect("paused").into_inner();
    assert_eq!(
        (
            reply.command_id,
            reply.targets,
            reply.done,
            reply.held_in_mpi
        ),
        (77, 4, 4, 1)
    );
    assert_eq!(
        reply.slowest,
        Some(v1::SlowestRank {
            rank: 2,
            time_ns: 1_000_000
        })
    );
    assert!(reply.took_ns > 0);
    assert_eq!(reply.lease_ns, 5_000_000_000);
    let reply = client
        .pause(v1::PauseRequest::default())
        .await
        .expect("paused")
        .into_inner();
    assert_ne!(reply.command_id, 0);
    assert_eq!(reply.lease_ns, 600_000_000_000);
    let resumed = client
        .resume(v1::ResumeRequest { command_id: 78 })
        .await
        .expect("resumed")
        .into_inner();
    let pause = |lease_ns| Order::Pause { lease_ns };
    let expected = [
        (CommandId(77), pause(5_000_000_000)),
        (CommandId(reply.command_id), pause(600_000_000_000)),
        (CommandId(78), Order::Resume),
    ];
    assert_eq!(commands(&root), expected);
    assert_eq!(resumed.command_id, 78);
}

/// A lease of weeks is refused before it reaches the root.
#[tokio::test]
async fn the_gateway_refuses_a_lease_of_weeks_by_itself() {
    let (job, root, _gateway) = known_job().await;
    let asked = v1::PauseRequest {
        command_id: 1,
        lease_ns: u64::MAX,
    };
    let refused = job.controller().pause(asked).await.expect_err("refused");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("24 hours"));
    assert_eq!(commands(&root), []);
}

#[tokio::test]
async fn failures_are_named_and_refusals_are_sentences() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Command {
            order: Order::Resume,
            ..
        } => Reply::Answer(Answer::Refused("nothing is paused".into())),
        Ask::Command { .. } => Reply::Answer(Answer::Command(Acks {
            targets: 4,
            done: 2,
            failures: vec![(Rank(1), "its supervisor is gone".into())],
            missing: vec![WorldRank(5)],
            ..Acks::default()
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.controller();
    let reply = client
        .pause(v1::PauseRequest::default())
        .await
        .expect("answered")
        .into_inner();
    assert_eq!((reply.targets, reply.done, reply.missing), (4, 2, vec![5]));
    assert_eq!(
        reply.failures,
        [v1::CommandFailure {
            rank: 1,
            why: "its supervisor is gone".into()
        }]
    );
    let refused = client
        .resume(v1::ResumeRequest::default())
        .await
        .expect_err("refused");
    assert_eq!(
        (refused.code(), refused.message()),
        (Code::FailedPrecondition, "nothing is paused")
    );
}

#[tokio::test]
async fn every_command_is_in_the_audit_log() {
    let (job, _root, gateway) = known_job().await;
    job.controller()
        .pause(v1::PauseRequest {
            command_id: 5,
            lease_ns: 9,
        })
        .await
        .expect("paused");
    job.viewer()
        .resume(v1::ResumeRequest { command_id: 6 })
        .await
        .expect_err("denied");
    gateway.end().await;
    let text = std::fs::read_to_string(job.path().join("audit.jsonl")).expect("audit log");
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["verb"].as_str(),
                line["event"].as_str(),
                line["scope"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("pause"), Some("sent"), Some("control")),
            (Some("pause"), Some("answered"), Some("control")),
            (Some("resume"), Some("denied"), Some("view")),
        ]
    );
    for line in &lines {
        assert_eq!(line["uid"], rustix::process::geteuid().as_raw());
        assert_eq!(line["pid"], std::process::id());
    }
    assert_eq!(
        (&lines[0]["command_id"], &lines[0]["arguments"]),
        (&5.into(), &"lease 9ns".into())
    );
    assert_eq!(
        (&lines[1]["done"], &lines[1]["targets"]),
        (&4.into(), &4.into())
    );
    assert!(!text.contains(&job.connect.control) && !text.contains(&job.connect.view));
}
