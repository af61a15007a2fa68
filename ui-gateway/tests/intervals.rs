//! Tables of a part of the run: what the root is asked, and what is refused.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::Ask;
use invivo_proto::control::profile::Past;
use invivo_proto::control::tree::Query;
use tonic::Code;

fn asked(from_ns: u64, to_ns: u64, last_ns: u64) -> v1::FunctionsRequest {
    v1::FunctionsRequest {
        from_ns,
        to_ns,
        last_ns,
        ..v1::FunctionsRequest::default()
    }
}

fn query(past: Option<Past>) -> Ask {
    Ask::Query(Query::Functions {
        rank_rows_max: 0,
        past,
    })
}

/// The root has been up for 9,000 ns, and the job is observed for the last 1,000 of them.
#[tokio::test]
async fn an_interval_is_asked_for_in_job_time() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.viewer();
    let reply = client.functions(asked(100, 300, 0)).await.expect("a table");
    let past = Past {
        from_ns: 8_100,
        to_ns: 8_300,
    };
    assert_eq!(root.times(&query(Some(past))), 1);
    let interval = v1::TableInterval {
        from_ns: 100,
        to_ns: 300,
    };
    assert_eq!(reply.into_inner().interval, Some(interval));

    let whole = client.functions(asked(0, 0, 0)).await.expect("a table");
    assert_eq!(whole.into_inner().interval, None);
    assert_eq!(root.times(&query(None)), 1);

    // The last time is rounded, so that many who look at it are one question.
    client.functions(asked(0, 0, 400)).await.expect("a table");
    client.functions(asked(0, 0, 500)).await.expect("a table");
    let lately = Past {
        from_ns: 0,
        to_ns: u64::MAX,
    };
    assert_eq!(root.times(&query(Some(lately))), 2);
}

#[tokio::test]
async fn empty_intervals_are_refused() {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.viewer();
    for (from_ns, to_ns) in [
        (300, 300),
        (300, 100),
        (1_000, 0),
        (u64::MAX, 1),
        (u64::MAX, 0),
    ] {
        let refused = client.functions(asked(from_ns, to_ns, 0)).await;
        let refused = refused.expect_err("an empty interval");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("is empty"), "{refused}");
    }
    let functions = |ask: &Ask| matches!(ask, Ask::Query(Query::Functions { .. }));
    assert!(!root.asked().iter().any(functions));
}

#[tokio::test]
async fn loops_come_from_call_sites_the_longest_first() {
    let job = JobDir::new();
    let _root = ScriptedRoot::start(&job.link(), known);
    let _gateway = job.gateway().await;
    job.root_connected(true).await;
    let mut client = job.viewer();
    let asked = client.iterations(v1::IterationsRequest::default()).await;
    let reply = asked.expect("loops").into_inner();
    let rows = reply.rows.iter();
    let told: Vec<_> = rows
        .map(|row| {
            let begin = row.begin.clone().unwrap_or_default();
            (
                begin.functions[0].line.clone(),
                row.iterations_max,
                row.places,
            )
        })
        .collect();
    let expected = [1, 2, 3].map(|line| (format!("app.c:{line}"), 10 * line + 1, 1));
    assert_eq!(told, expected);
    let first = &reply.rows[0];
    assert_eq!((first.mean_ns, first.usual, first.ranks), (1e8, 40, 4));
    assert_eq!(
        (first.others, first.others_ns, first.bursts),
        (4, 50, false)
    );
    assert_eq!(first.last_to_ns - first.last_from_ns, 100);
    assert_eq!(reply.analysis.expect("a switch").name, "sites");
}
