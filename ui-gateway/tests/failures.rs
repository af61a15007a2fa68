//! Failures: a root that is away, slow, silent or sends nonsense, and clients that are slow or
//! many.

use crate::scripted_root::{Reply, STATUS, ScriptedRoot, coverage, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::results::JobStatus;
use invivo_proto::control::tree::{Order, Query};
use invivo_proto::ids::CommandId;
use invivo_ui_gateway::auth::tokens::{Scope, TokenId};
use invivo_ui_gateway::limits;
use invivo_ui_gateway::root_link::RootLink;
use invivo_ui_gateway::root_link::request::{LinkError, RootState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::Code;

fn matrix(side_max: u32) -> Query {
    Query::Matrix {
        side_max,
        past: None,
    }
}

#[tokio::test]
async fn calls_are_unavailable_while_the_root_is_away() {
    let job = JobDir::new();
    let _gateway = job.gateway().await;
    let mut client = job.controller();
    for _ in 0..2 {
        let status = client
            .status(v1::StatusRequest {})
            .await
            .expect_err("no root");
        assert_eq!(status.code(), Code::Unavailable);
        assert!(
            status.message().contains("the application is not affected"),
            "{}",
            status.message()
        );
        assert_eq!(
            client
                .pause(v1::PauseRequest::default())
                .await
                .expect_err("no root")
                .code(),
            Code::Unavailable
        );
        assert_eq!(
            client
                .watch(v1::WatchRequest::default())
                .await
                .expect_err("no root")
                .code(),
            Code::Unavailable
        );
        let hello = client
            .hello(v1::HelloRequest::default())
            .await
            .expect("hello")
            .into_inner();
        assert_eq!((hello.root_connected, hello.job), (false, None));

        let root = ScriptedRoot::start(&job.link(), known);
        job.root_connected(true).await;
        client
            .status(v1::StatusRequest {})
            .await
            .expect("there is a root");
        drop(root);
        job.root_connected(false).await;
    }
}

#[tokio::test]
async fn a_call_in_progress_fails_when_the_root_goes() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Command { .. } => Reply::HangUp,
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let status = job
        .controller()
        .pause(v1::PauseRequest::default())
        .await
        .expect_err("it hung up");
    assert_eq!(status.code(), Code::Unavailable);
    job.root_connected(true).await;
}

#[tokio::test]
async fn nonsense_breaks_the_connection_and_nothing_else() {
    let frame = |length: u32, bytes: &[u8]| [&length.to_le_bytes()[..], bytes].concat();
    let nonsense = [
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        frame(u32::MAX, &[]),
        frame(3, &[0xff; 3]),
        // An answer with bytes behind its end.
        frame(9, &[1, 5, 0, 0, 0, 0, 0, 0, 0]),
        frame(0, &[]),
    ];
    for bytes in nonsense {
        let job = JobDir::new();
        let said = bytes.clone();
        let _root = ScriptedRoot::start(&job.link(), move |ask| match ask {
            Ask::Query(Query::Matrix { .. }) => Reply::Raw(said.clone()),
            other => known(other),
        });
        let _gateway = job.gateway().await;
        job.root_connected(true).await;
        let mut client = job.viewer();
        let status = client
            .matrix(v1::MatrixRequest::default())
            .await
            .expect_err("nonsense");
        assert_eq!(
            status.code(),
            Code::Unavailable,
            "{bytes:?}: {}",
            status.message()
        );
        job.root_connected(true).await;
        client
            .status(v1::StatusRequest {})
            .await
            .expect("a new connection works");
    }
}

#[tokio::test]
async fn a_mismatched_answer_is_not_passed_on() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Query(Query::Matrix { .. }) => known(&STATUS),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let status = job
        .viewer()
        .matrix(v1::MatrixRequest::default())
        .await
        .expect_err("a status is no matrix");
    assert_eq!(status.code(), Code::Internal);
}

#[tokio::test]
async fn a_late_answer_of_a_silent_root_is_ignored() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), |ask| match ask {
        Ask::Query(Query::Status) => Reply::Silence,
        Ask::Query(Query::Matrix { .. }) => {
            let Reply::Answer(matrix) = known(ask) else {
                unreachable!("the known root answers")
            };
            Reply::Late(Duration::from_millis(300), matrix)
        }
        other => known(other),
    });
    let link = RootLink::open(job.link());
    let mut root = link.root();
    root.wait_for(|root| matches!(root, RootState::Connected(_)))
        .await
        .expect("connected");
    let brief = Duration::from_millis(100);
    assert_eq!(
        link.ask(STATUS, brief).await,
        Err(LinkError::TimedOut(brief))
    );
    assert_eq!(
        link.ask(Ask::Query(matrix(64)), brief).await,
        Err(LinkError::TimedOut(brief))
    );
    // The late answer comes while another question waits.
    let functions = Ask::Query(Query::Functions {
        rank_rows_max: 0,
        past: None,
    });
    sleep(Duration::from_millis(150)).await;
    assert!(matches!(
        link.ask(functions.clone(), limits::QUERY_TIME_MAX).await,
        Ok(reply) if matches!(reply.answer, Answer::Functions(..))
    ));
    sleep(Duration::from_millis(150)).await;
    assert!(matches!(
        link.ask(functions, limits::QUERY_TIME_MAX).await,
        Ok(reply) if matches!(reply.answer, Answer::Functions(..))
    ));
}

/// A job whose root answers what is not a command after `after`.
async fn slow_link(job: &JobDir, after: Duration) -> (ScriptedRoot, RootLink) {
    let root = ScriptedRoot::start(&job.link(), move |ask| match (ask, known(ask)) {
        (Ask::Query(_), Reply::Answer(answer)) => Reply::Late(after, answer),
        (_, other) => other,
    });
    let link = RootLink::open(job.link());
    let mut state = link.root();
    state
        .wait_for(|root| matches!(root, RootState::Connected(_)))
        .await
        .expect("connected");
    (root, link)
}

/// Whoever may only look must not keep others from steering.
#[tokio::test]
async fn different_questions_are_bounded_and_commands_pass() {
    let job = JobDir::new();
    let (_root, link) = slow_link(&job, Duration::from_secs(1)).await;
    let surplus = 20;
    let mut asking = tokio::task::JoinSet::new();
    for side_max in 0..(limits::QUESTIONS_MAX + surplus) as u32 {
        let link = link.clone();
        let question = Ask::Query(matrix(side_max + 1));
        asking.spawn(async move { link.ask(question, limits::QUERY_TIME_MAX).await });
    }
    sleep(Duration::from_millis(100)).await;
    let resume = Ask::Command {
        id: CommandId(7),
        order: Order::Resume,
    };
    let acked = link.ask(resume, Duration::from_millis(500)).await;
    assert!(
        matches!(
            acked.map(|reply| reply.answer.clone()),
            Ok(Answer::Command(_))
        ),
        "a command finds room"
    );
    let ended = asking.join_all().await;
    let busy = ended
        .iter()
        .filter(|ended| matches!(ended, Err(LinkError::Busy(_))))
        .count();
    assert_eq!(
        busy, surplus,
        "as many are refused at once as there are too many"
    );
    assert!(
        link.ask(STATUS, limits::QUERY_TIME_MAX).await.is_ok(),
        "the others have ended"
    );
}

/// Of those who only look, and of one guest, questions are bounded: whoever steers is answered.
#[tokio::test]
async fn questions_are_bounded_by_token() {
    let job = JobDir::new();
    let (_root, link) = slow_link(&job, Duration::from_secs(1)).await;
    let mut asking = tokio::task::JoinSet::new();
    let mut ask_many = |token, first: u32| {
        for side_max in first..first + limits::QUESTIONS_MAX as u32 {
            let link = link.clone();
            let question = matrix(side_max);
            asking.spawn(async move { link.ask_for(token, question).await });
        }
    };
    ask_many(TokenId::Guest(1), 1);
    ask_many(TokenId::Own(Scope::View), 101);
    sleep(Duration::from_millis(100)).await;
    // Behind both, with the token to steer.
    let owner = TokenId::Own(Scope::Control);
    let answer = link.ask_for(owner, matrix(201)).await;
    assert!(answer.is_ok(), "{answer:?}");
    let ended = asking.join_all().await;
    let answered = ended.iter().filter(|ended| ended.is_ok()).count();
    assert_eq!(answered, limits::QUESTIONS_OF_OTHERS_MAX);
    let of_guest = LinkError::BusyToken(limits::QUESTIONS_PER_GUEST_MAX);
    let refused = ended
        .iter()
        .filter(|ended| **ended == Err(of_guest.clone()));
    assert_eq!(
        refused.count(),
        limits::QUESTIONS_MAX - limits::QUESTIONS_PER_GUEST_MAX
    );
}

#[tokio::test]
async fn equal_questions_are_one_until_a_command_is_done() {
    let job = JobDir::new();
    let (root, link) = slow_link(&job, Duration::from_millis(500)).await;
    let ask_often = || {
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let link = link.clone();
            asking.spawn(async move { link.ask(STATUS, limits::QUERY_TIME_MAX).await });
        }
        asking
    };
    let before = ask_often();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(root.times(&STATUS), 1);
    let resume = Ask::Command {
        id: CommandId(7),
        order: Order::Resume,
    };
    link.ask(resume, limits::QUERY_TIME_MAX)
        .await
        .expect("done");
    // An answer from before would not show what the command did.
    let after = ask_often();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(root.times(&STATUS), 2);
    for answered in before
        .join_all()
        .await
        .into_iter()
        .chain(after.join_all().await)
    {
        assert!(matches!(
            answered.expect("answered").answer,
            Answer::Status(..)
        ));
    }
    assert_eq!(root.times(&STATUS), 2);
}

/// Each one may stop the threads of every rank.
#[tokio::test]
async fn viewers_walks_have_a_rate() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let (viewer, mut controller) = (job.viewer(), job.controller());
    let at_once = (1..=u64::from(limits::WALKS_BURST) * 4).map(|older_ns| {
        let mut viewer = viewer.clone();
        tokio::spawn(async move { viewer.hang(v1::HangRequest { older_ns }).await.err() })
    });
    let mut refused = Vec::new();
    for asked in at_once.collect::<Vec<_>>() {
        refused.extend(asked.await.expect("asked"));
    }
    let is_by_rate = |refused: &tonic::Status| {
        refused.code() == Code::ResourceExhausted && refused.message().contains("ask again in")
    };
    assert!(refused.iter().any(is_by_rate), "{refused:?}");

    let mut viewer = viewer;
    for older_ns in 1..=u64::from(limits::WALKS_PER_SECOND) {
        let slowed = viewer.hang(v1::HangRequest { older_ns }).await;
        slowed.expect("one question after the other is slowed only");
    }
    for older_ns in 1..=u64::from(limits::WALKS_BURST) * 2 {
        let free = controller.hang(v1::HangRequest { older_ns }).await;
        free.expect("whoever steers may pause the ranks anyway");
    }
}

/// A root whose statuses count up and are long.
fn counting(job: &JobDir, padding: usize) -> ScriptedRoot {
    let polls = AtomicU64::new(0);
    ScriptedRoot::start(&job.link(), move |ask| match ask {
        Ask::Query(Query::Status) => {
            let observed_ns = polls.fetch_add(1, Ordering::Relaxed) + 1;
            let notes = vec!["x".repeat(padding)];
            Reply::Answer(Answer::Status(
                JobStatus {
                    observed_ns,
                    notes,
                    ..JobStatus::default()
                },
                coverage(),
            ))
        }
        other => known(other),
    })
}

#[tokio::test]
async fn a_slow_watcher_skips_snapshots() {
    let job = JobDir::new();
    let root = counting(&job, 100_000);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let request = v1::WatchRequest {
        interval_ns: 1,
        functions: false,
    };
    let mut slow = job
        .viewer()
        .watch(request)
        .await
        .expect("watch")
        .into_inner();
    // It does not read while some four MB of snapshots are made.
    sleep(Duration::from_secs(4)).await;
    let made = root.times(&STATUS) as u64;
    assert!(
        (20..=45).contains(&made),
        "{made} polls in 4 s: at most ten per second"
    );
    let mut sequences = Vec::new();
    while sequences.last().is_none_or(|last| *last < made) {
        let snapshot = slow.message().await.expect("no error").expect("goes on");
        assert_eq!(
            snapshot.status.expect("status").observed_ns,
            snapshot.sequence,
            "made of the poll of its number"
        );
        sequences.push(snapshot.sequence);
    }
    assert!(sequences.is_sorted_by(|a, b| a < b), "{sequences:?}");
    // What was under way: the client's window (64 KiB) and the server's send buffer (32 KiB).
    let old = sequences
        .iter()
        .filter(|sequence| **sequence < made)
        .count();
    assert!(old <= 3, "{old} old snapshots were queued: {sequences:?}");
    let jump = sequences
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or(0);
    assert!(
        jump > 10,
        "it must have skipped what it did not read: {sequences:?}"
    );
}

#[tokio::test]
async fn watchers_share_one_wave_per_interval() {
    let job = JobDir::new();
    let root = counting(&job, 0);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let request = v1::WatchRequest {
        interval_ns: 200_000_000,
        functions: true,
    };
    let clients = [job.viewer(), job.viewer()];
    let mut watching = tokio::task::JoinSet::new();
    for at in 0..20 {
        let mut client = clients[at % 2].clone();
        watching.spawn(async move {
            let mut snapshots = client.watch(request).await.expect("watch").into_inner();
            let begun = Instant::now();
            let mut seen = 0;
            while begun.elapsed() < Duration::from_secs(2) {
                let snapshot = snapshots
                    .message()
                    .await
                    .expect("no error")
                    .expect("goes on");
                assert_eq!(snapshot.functions.len(), 2);
                seen += 1;
            }
            seen
        });
    }
    let seen: Vec<i32> = watching.join_all().await;
    assert!(
        seen.iter().all(|seen| (3..=13).contains(seen)),
        "{seen:?} snapshots in 2 s at 200 ms"
    );
    let polls = root.times(&STATUS);
    assert!(polls <= 14, "{polls} waves for 20 watchers");
    // The streams are closed now; one poll may be under way.
    sleep(Duration::from_millis(300)).await;
    let polls = root.times(&STATUS);
    sleep(Duration::from_millis(600)).await;
    assert_eq!(root.times(&STATUS), polls, "nobody watches");
}

#[tokio::test]
async fn streams_end_without_error_with_the_gateway() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut snapshots = job
        .viewer()
        .watch(v1::WatchRequest::default())
        .await
        .expect("watch")
        .into_inner();
    snapshots
        .message()
        .await
        .expect("no error")
        .expect("a snapshot");
    let begun = Instant::now();
    gateway.end().await;
    assert!(
        begun.elapsed() < limits::SHUTDOWN_TIME_MAX,
        "nothing had to be cut off"
    );
    assert!(snapshots.message().await.expect("no error").is_none());
    assert!(!job.connect.socket.exists());
}
