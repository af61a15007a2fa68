//! The call Audit, and invitations from Invite to Redeem.

use crate::scripted_root::{Reply, ScriptedRoot, acks, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_ui_gateway::limits::Times;
use invivo_ui_gateway::server::Options;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tonic::{Code, Streaming};

async fn entry(entries: &mut Streaming<v1::AuditEntry>) -> v1::AuditEntry {
    let next = timeout(Duration::from_secs(5), entries.message()).await;
    next.expect("in time").expect("no error").expect("goes on")
}

#[tokio::test]
async fn two_followers_see_old_entries_and_each_new_outcome() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Command { order, .. } => {
            Reply::Late(Duration::from_millis(100), Answer::Command(acks(order)))
        }
        other => known(other),
    });
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut control = job.controller();
    let hello = v1::HelloRequest {
        client: "the tests".into(),
    };
    control.hello(hello).await.expect("hello");
    control
        .pause(v1::PauseRequest {
            command_id: 1,
            lease_ns: 2_000_000_000,
        })
        .await
        .expect("paused");

    let follow = v1::AuditRequest { follow: true };
    let mut followers = Vec::new();
    for mut client in [job.viewer(), job.controller()] {
        followers.push(client.audit(follow).await.expect("audit").into_inner());
    }
    for follower in &mut followers {
        let old = entry(follower).await;
        assert_eq!(
            (old.sequence, old.command_id, old.command.as_str()),
            (1, 1, "pause")
        );
        assert_eq!(
            (old.client.as_str(), old.peer.as_str()),
            ("the tests", "unix")
        );
        assert_eq!(
            (old.uid, old.pid),
            (
                Some(rustix::process::geteuid().as_raw()),
                Some(std::process::id())
            )
        );
        assert_eq!(old.arguments, "lease 2s");
        assert!(
            old.outcome.starts_with("done on 4 of 4 ranks in "),
            "{}",
            old.outcome
        );
    }
    control
        .resume(v1::ResumeRequest { command_id: 2 })
        .await
        .expect("resumed");
    job.viewer()
        .reset(v1::ResetRequest { command_id: 3 })
        .await
        .expect_err("denied");
    for follower in &mut followers {
        let begun = entry(follower).await;
        assert_eq!(
            (
                begun.sequence,
                begun.command.as_str(),
                begun.outcome.as_str()
            ),
            (2, "resume", "")
        );
        let ended = entry(follower).await;
        assert_eq!(ended.sequence, 2);
        assert!(
            ended.outcome.starts_with("done on 4 of 4"),
            "{}",
            ended.outcome
        );
        let denied = entry(follower).await;
        assert_eq!((denied.sequence, denied.command.as_str()), (3, "reset"));
        assert!(denied.outcome.starts_with("denied"), "{}", denied.outcome);
    }
    // Without following the stream ends with what there is.
    let mut so_far = job
        .viewer()
        .audit(v1::AuditRequest { follow: false })
        .await
        .expect("audit")
        .into_inner();
    let mut sequences = Vec::new();
    while let Some(entry) = so_far.message().await.expect("no error") {
        sequences.push(entry.sequence);
    }
    assert_eq!(sequences, [1, 2, 3]);
    gateway.end().await;
    for follower in &mut followers {
        assert!(
            follower.message().await.expect("no error").is_none(),
            "it ends with the job"
        );
    }
}

async fn invited(job: &JobDir, scope: &str) -> v1::InviteReply {
    let request = v1::InviteRequest {
        scope: scope.into(),
        valid_ns: 0,
    };
    job.controller()
        .invite(request)
        .await
        .expect("invited")
        .into_inner()
}

#[tokio::test]
async fn a_secret_gives_a_token_once_to_somebody_without_one() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway_with_tls().await;
    job.root_connected(true).await;
    let invite = invited(&job, "view").await;
    let url = job.published().url.expect("a URL");
    assert_eq!(invite.url, format!("{url}/#invite={}", invite.secret));
    assert_eq!(invite.valid_ns, 60_000_000_000);
    for mut stranger in [job.afar(None), job.client(None)] {
        let secret = invited(&job, "view").await.secret;
        let redeem = v1::RedeemRequest { secret };
        let redeemed = stranger
            .redeem(redeem.clone())
            .await
            .expect("redeemed")
            .into_inner();
        assert_eq!(redeemed.scope, "view");
        let mut guest = job.afar(Some(&redeemed.token));
        guest
            .status(v1::StatusRequest {})
            .await
            .expect("it opens view");
        let denied = guest
            .pause(v1::PauseRequest::default())
            .await
            .expect_err("and no more");
        assert_eq!(denied.code(), Code::PermissionDenied);
        let twice = stranger.redeem(redeem).await.expect_err("used");
        assert_eq!(twice.code(), Code::PermissionDenied);
        assert!(
            twice.message().contains("can be used once"),
            "{}",
            twice.message()
        );
        let closed = stranger
            .status(v1::StatusRequest {})
            .await
            .expect_err("still a stranger");
        assert_eq!(closed.code(), Code::Unauthenticated);
    }
}

#[tokio::test]
async fn a_viewer_cannot_invite_to_control() {
    let job = JobDir::new();
    let _gateway = job.gateway().await;
    let request = |scope: &str| v1::InviteRequest {
        scope: scope.into(),
        valid_ns: 0,
    };
    let refused = job
        .viewer()
        .invite(request("control"))
        .await
        .expect_err("more than it has");
    assert_eq!(refused.code(), Code::PermissionDenied);
    let reply = job
        .viewer()
        .invite(request("view"))
        .await
        .expect("as much")
        .into_inner();
    assert_eq!(reply.url, "", "it listens on its socket only");
    let redeem = v1::RedeemRequest {
        secret: reply.secret,
    };
    let redeemed = job
        .client(None)
        .redeem(redeem)
        .await
        .expect("redeemed")
        .into_inner();
    assert_eq!(redeemed.scope, "view");
    assert_ne!(redeemed.token, job.connect.view, "a token of its own");
}

/// A guest who is revoked is out at once, with those whom it has invited; others stay.
#[tokio::test]
async fn a_revoked_guest_is_out_at_once() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let redeemed = async |secret: String| {
        let redeem = v1::RedeemRequest { secret };
        let reply = job.client(None).redeem(redeem).await.expect("redeemed");
        reply.into_inner().token
    };
    let status = v1::StatusRequest {};
    let invite = invited(&job, "view").await;
    let token = redeemed(invite.secret).await;
    let mut guest = job.client(Some(&token));
    guest.status(status).await.expect("it opens view");
    let of_guest = v1::InviteRequest {
        scope: "view".into(),
        valid_ns: 0,
    };
    let child = guest.invite(of_guest).await.expect("invited").into_inner();
    let mut child = job.client(Some(&redeemed(child.secret).await));
    child.status(status).await.expect("it opens view");
    let other = invited(&job, "view").await;
    let mut other = job.client(Some(&redeemed(other.secret).await));
    let mut followed = guest
        .audit(v1::AuditRequest { follow: true })
        .await
        .expect("a stream")
        .into_inner();

    let denied = guest.guests(v1::GuestsRequest {}).await.expect_err("view");
    assert_eq!(denied.code(), Code::PermissionDenied);
    let all = job.controller().guests(v1::GuestsRequest {}).await;
    let all = all.expect("listed").into_inner().guests;
    let known: Vec<(u64, u64, bool)> = all
        .iter()
        .map(|guest| (guest.number, guest.invited_by, guest.used))
        .collect();
    assert_eq!(known, [(1, 0, true), (2, 1, true), (3, 0, true)]);

    let revoke = v1::RevokeRequest { guest: 1 };
    let reply = job.controller().revoke(revoke).await.expect("revoked");
    assert_eq!(reply.into_inner().guests, [1, 2]);
    let ended = async { while let Ok(Some(_)) = followed.message().await {} };
    timeout(Duration::from_secs(5), ended)
        .await
        .expect("its stream ends");
    for gone in [&mut guest, &mut child] {
        // The first call may find the connection that was closed.
        let mut refused = gone.status(status).await.expect_err("revoked");
        if refused.code() != Code::Unauthenticated {
            refused = gone.status(status).await.expect_err("revoked");
        }
        assert_eq!(refused.code(), Code::Unauthenticated);
    }
    other.status(status).await.expect("another guest");
    job.viewer().status(status).await.expect("the owner");
    let twice = job.controller().revoke(revoke).await.expect_err("gone");
    assert_eq!(twice.code(), Code::NotFound);

    let audit = v1::AuditRequest { follow: false };
    let mut entries = job.viewer().audit(audit).await.expect("audit").into_inner();
    let mut outcomes = Vec::new();
    while let Some(entry) = entries.message().await.expect("no error") {
        outcomes.push((entry.command, entry.outcome));
    }
    let said = |text: &str| {
        outcomes
            .iter()
            .any(|(of, how)| of == "revoke" && how == text)
    };
    assert!(
        said("revoked: 1, 2") && said("failed: there is no guest 1"),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn a_secret_that_is_too_old_is_refused() {
    let job = JobDir::new();
    let times = Times {
        invite: Duration::from_millis(100),
        ..Times::default()
    };
    let options = Options {
        times,
        ..Options::default()
    };
    let _gateway = job.gateway_with(options).await;
    let secret = invited(&job, "control").await.secret;
    sleep(Duration::from_millis(150)).await;
    let late = job
        .client(None)
        .redeem(v1::RedeemRequest { secret })
        .await
        .expect_err("late");
    assert_eq!(late.code(), Code::PermissionDenied);
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let job = JobDir::new();
    let _gateway = job.gateway().await;
    let mut stranger = job.client(None);
    let mut codes = Vec::new();
    for guess in 0..10 {
        let secret = format!("{guess:064}");
        codes.push(
            stranger
                .redeem(v1::RedeemRequest { secret })
                .await
                .expect_err("a guess")
                .code(),
        );
    }
    let refused = codes
        .iter()
        .filter(|code| **code == Code::PermissionDenied)
        .count();
    let slowed = codes
        .iter()
        .filter(|code| **code == Code::ResourceExhausted)
        .count();
    assert_eq!((refused, slowed), (5, 5), "{codes:?}");
}
