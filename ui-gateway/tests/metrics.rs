//! What is measured: the choice on its way to the root, how it stands, and its values.

use crate::scripted_root::{ScriptedRoot, known};
use crate::support::JobDir;
use invivo_grpc::v1;
use invivo_proto::control::link::Ask;
use invivo_proto::control::metrics::{Measured, MetricSet, SystemMetric};
use invivo_proto::control::order::Order;
use invivo_proto::ids::CommandId;
use tonic::Code;

async fn known_job() -> (JobDir, ScriptedRoot, crate::support::Gateway) {
    let job = JobDir::new();
    let root = ScriptedRoot::start(&job.link(), known);
    let gateway = job.gateway().await;
    job.root_connected(true).await;
    (job, root, gateway)
}

fn request(names: &[&str], interval_ns: u64) -> v1::SetMetricsRequest {
    v1::SetMetricsRequest {
        command_id: 7,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        interval_ns,
    }
}

#[tokio::test]
async fn a_choice_reaches_the_root() {
    let (job, root, _gateway) = known_job().await;
    let mut client = job.controller();
    let faults = MetricSet::of(SystemMetric::PageFaults);
    for (id, names, interval_ns, set, expected_ns) in [
        (
            7,
            &["page-faults", "program"][..],
            50_000_000,
            faults.with(MetricSet::PROGRAM),
            50_000_000,
        ),
        (8, &["usual"], 0, MetricSet::USUAL, 100_000_000),
        (9, &[], 0, MetricSet::NONE, 100_000_000),
    ] {
        let request = v1::SetMetricsRequest {
            command_id: id,
            ..request(names, interval_ns)
        };
        let reply = client.set_metrics(request).await.expect("measured");
        let reply = reply.into_inner();
        assert_eq!((reply.command_id, reply.done, reply.targets), (id, 4, 4));
        let ask = Ask::Command {
            id: CommandId(id),
            order: Order::Metrics(Measured {
                set,
                interval_ns: expected_ns,
            }),
        };
        assert_eq!(root.times(&ask), 1, "{:?}", root.asked());
    }
}

#[tokio::test]
async fn wrong_names_and_intervals_are_refused_at_once() {
    let (job, root, _gateway) = known_job().await;
    let mut client = job.controller();
    for (request, sentence) in [
        (
            request(&["page-faults", "faults"], 0),
            "\"faults\" is no metric",
        ),
        (request(&[""], 0), "\"\" is no metric"),
        (request(&["mpi"], 0), "\"mpi\" is no metric"),
        (request(&["counter:steps"], 0), "program (what the program"),
        (request(&["usual"], 9_999_999), "every 10 ms at most"),
        (request(&["usual"], 60_000_000_001), "every 60 s at least"),
    ] {
        let refused = client.set_metrics(request).await.expect_err(sentence);
        assert_eq!(refused.code(), Code::InvalidArgument, "{sentence}");
        assert!(refused.message().contains(sentence), "{refused}");
    }
    let commands = |ask: &Ask| matches!(ask, Ask::Command { .. });
    assert!(!root.asked().iter().any(commands));
}

#[tokio::test]
async fn viewers_see_what_is_measured_and_change_nothing() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let reply = client.metrics(v1::MetricsRequest {}).await;
    let reply = reply.expect("metrics").into_inner();
    assert_eq!((reply.ranks, reply.ranks_measured), (4, 4));
    assert_eq!(
        (reply.interval_min_ns, reply.interval_max_ns),
        (50_000_000, 100_000_000)
    );
    assert_eq!(
        (reply.readings, reply.cost_ns, reply.more),
        (400, 8_000_000, true)
    );
    assert_eq!((reply.ranks_program, reply.threads_unseen), (4, 44));
    assert_eq!(reply.metrics.len(), SystemMetric::ALL.len() + 1);
    let of = |name: &str| {
        let metric = reply.metrics.iter().find(|metric| metric.name == name);
        metric.expect(name).clone()
    };
    let memory = of("resident-memory");
    assert_eq!((memory.unit.as_str(), memory.absolute), ("bytes", true));
    assert_eq!((memory.ranks_now, memory.ranks_kept), (0, 3));
    assert_eq!(memory.tells, "Memory of the process that lies in RAM");
    let steps = of("counter:steps");
    assert_eq!((steps.unit.as_str(), steps.absolute), ("", false));
    assert_eq!((steps.ranks_now, steps.tells.as_str()), (4, ""));
    let without = |name: &str| {
        let [without] = &of(name).without[..] else {
            panic!("one reason why {name} is not measured");
        };
        (
            without.reason.clone(),
            without.ranks,
            without.which.clone(),
            without.paranoid,
        )
    };
    assert_eq!(
        without("cycles"),
        ("unsupported".into(), 4, "0-3".into(), 0)
    );
    let forbidden = ("forbidden".into(), 1, "3".into(), 3);
    assert_eq!(without("cpu-migrations"), forbidden);
    assert_eq!(reply.coverage.expect("coverage").ranks, 4);

    let refused = client.set_metrics(request(&["usual"], 0)).await;
    let refused = refused.expect_err("it may only look");
    assert_eq!(refused.code(), Code::PermissionDenied);
}

#[tokio::test]
async fn values_are_answers_of_the_grid() {
    let (job, _root, _gateway) = known_job().await;
    let mut client = job.viewer();
    let mut ask = async |metric: &str| {
        let request = v1::GridRequest {
            metric: metric.into(),
            rows_max: 1,
            ..v1::GridRequest::default()
        };
        client.grid(request).await.map(tonic::Response::into_inner)
    };
    let memory = ask("resident-memory").await.expect("a grid");
    assert_eq!((memory.unit.as_str(), memory.absolute), ("bytes", true));
    assert_eq!(memory.analysis, None);
    let total = memory.rows[0].total.expect("a total");
    assert_eq!(
        (total.ranks, total.sum, total.max, total.max_rank),
        (3, 600, 300, 2)
    );
    let steps = ask("counter:steps").await.expect("a grid");
    assert_eq!(
        (steps.metric.as_str(), steps.absolute),
        ("counter:steps", false)
    );
    assert_eq!(steps.rows[0].total.expect("a total").sum, 1_000);
    // Never measured.
    assert!(ask("branches").await.expect("a grid").rows.is_empty());
    let refused = ask("branch").await.expect_err("no metric");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused
            .message()
            .contains("\"branch\": no such metric; there are mpi"),
        "{refused}"
    );
}
