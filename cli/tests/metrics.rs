//! `invivo metrics`: what is shown, what the root is asked for, and what is refused.

mod support;

use invivo_proto::control::link::{Answer, Ask};
use invivo_proto::control::metrics::{Measured, MetricsStatus, SYSTEM_METRICS};
use invivo_proto::control::tree::{Acks, Order, Query};
use invivo_proto::ids::Rank;
use support::scripted_root::{Reply, acks, known};
use support::{User, assert_on_the_page};

fn choices(asked: &[Ask]) -> Vec<Measured> {
    let choice = |ask: &Ask| match ask {
        Ask::Command {
            order: Order::Metrics(measured),
            ..
        } => Some(*measured),
        _ => None,
    };
    asked.iter().filter_map(choice).collect()
}

#[tokio::test]
async fn values_are_shown_with_the_ranks_that_have_them() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let text = user.text(&["metrics"]).await;
    for line in [
        "metric           total   mean  least           most\n",
        "page-faults      1,000  250/s  100 (rank 0)    400 (rank 3)\n",
        "resident-memory      -  200 B  100 B (rank 0)  300 B (rank 2)\n",
        "counter:steps    1,000  250/s  100 (rank 0)    400 (rank 3)\n",
        "\n4 of 4 ranks measured every 50.0 ms to 100 ms; 400 readings so far took 20.0 us of a \
         processor each",
        "\n44 threads are not seen in metrics of threads: ",
        "\nno longer measured: resident-memory\n",
        "\ncannot be measured: cycles (this machine does not count it; ",
        "\ncannot be measured of rank 3: cpu-migrations (the kernel forbids it, as \
         kernel.perf_event_paranoid is 3; ",
        "\n\ncoverage: 4 of 4 ranks",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    let json = user.json(&["metrics", "--since", "10s", "--json"]).await;
    // The system's, and the program's.
    assert_eq!(
        json["metrics"].as_array().map(Vec::len),
        Some(SYSTEM_METRICS + 1)
    );
    let values = &json["values"];
    assert_eq!(values.as_array().map(Vec::len), Some(3));
    assert_eq!(
        (
            &values[1]["name"],
            &values[1]["sum"],
            &values[1]["max_rank"]
        ),
        (&"resident-memory".into(), &600.into(), &2.into())
    );
    assert_on_the_page("invivo metrics", &values[1]);
}

#[tokio::test]
async fn the_list_has_all_metrics_with_what_they_tell() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let text = user.text(&["metrics", "list"]).await;
    for line in [
        "cpu-time              ns            no         Time on a processor\n",
        "page-faults           faults        yes        How often memory was touched that had ",
        "cycles                cycles        cannot be  Cycles of the processor\n",
        "counter:steps                       yes\n",
        "\nusual: cpu-time,run-delay,",
        "\ncounters or values of the program are left out: ",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    let json = user.json(&["metrics", "list", "--json"]).await;
    assert_eq!(json["metrics"][0]["name"], "cpu-time");
    assert_eq!(json["values"], serde_json::Value::Null);
}

#[tokio::test]
async fn what_is_chosen_reaches_the_root() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    for (words, begin, end) in [
        (
            &["set", "page-faults,cpu-time"][..],
            "switched metrics on for 4 of 4 ranks in ",
            "; these: cpu-time,page-faults every 100ms; in some seconds: invivo metrics\n",
        ),
        (
            &["set", "program", "--every", "1s"],
            "switched metrics on for 4 of 4 ranks in ",
            "; these: program every 1s; in some seconds: invivo metrics\n",
        ),
        (
            &["off"],
            "switched metrics off for 4 of 4 ranks in ",
            "; what was measured stays: invivo metrics\n",
        ),
    ] {
        let text = user.text(&[&["metrics"], words].concat()).await;
        assert!(text.starts_with(begin) && text.ends_with(end), "{text}");
    }
    let asked = choices(&root.asked()).into_iter();
    let asked: Vec<String> = asked.map(|measured| measured.to_string()).collect();
    assert_eq!(
        asked,
        [
            "cpu-time,page-faults every 100ms",
            "program every 1s",
            "off"
        ]
    );
}

#[tokio::test]
async fn a_rank_without_a_metric_is_named() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match ask {
        Ask::Command { order, .. } => Reply::Answer(Answer::Command(Acks {
            done: 3,
            failures: vec![(Rank(1), "cycles: not counted here".into())],
            ..acks(order)
        })),
        other => known(other),
    });
    let _gateway = job.gateway().await;
    let (status, out, err) = user.said(&["metrics", "set", "cycles"]).await;
    assert_eq!(status, 1);
    assert!(
        out.starts_with("switched metrics on for 3 of 4 ranks"),
        "{out}"
    );
    assert!(err.contains("rank 1: cycles: not counted here\n"), "{err}");
}

#[tokio::test]
async fn what_cannot_be_measured_is_refused_before_anybody_is_asked() {
    let user = User::new();
    let job = user.job("known");
    let root = job.root(known);
    let _gateway = job.gateway().await;
    for (words, expected, said) in [
        (
            &["set", "page-fault"][..],
            2,
            "\"page-fault\" is no metric that can be measured; give some of cpu-time, ",
        ),
        (&["set", "usual", "--every", "often"], 2, "is no time"),
        (
            &["set", "usual", "--every", "1ms"],
            1,
            "every 10 ms at most",
        ),
        (&["set"], 2, "NAMES"),
        (&["list", "--since", "10s"], 2, "--since"),
    ] {
        let (status, out, err) = user.said(&[&["metrics"], words].concat()).await;
        assert_eq!((status, out.as_str()), (expected, ""), "{words:?}");
        assert!(err.contains(said), "{err}");
    }
    let (status, _, err) = user.said(&["heatmap", "--metric", "faults"]).await;
    assert_eq!(status, 2);
    assert!(err.contains("no such metric; there are mpi, "), "{err}");
    assert_eq!(choices(&root.asked()), []);
}

#[tokio::test]
async fn where_nothing_was_measured_the_next_command_is_told() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(|ask| match (ask, known(ask)) {
        (Ask::Query(Query::Metrics), Reply::Answer(Answer::Metrics(_, coverage))) => {
            let none = MetricsStatus {
                ranks: 4,
                ..MetricsStatus::default()
            };
            Reply::Answer(Answer::Metrics(Box::new(none), coverage))
        }
        (_, reply) => reply,
    });
    let _gateway = job.gateway().await;
    let text = user.text(&["metrics"]).await;
    assert!(
        text.starts_with("nothing has been measured; to begin: invivo metrics set usual"),
        "{text}"
    );
    let json = user.json(&["metrics", "--json"]).await;
    assert_eq!(json["values"].as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn ranks_over_time_are_drawn_by_what_is_measured() {
    let user = User::new();
    let job = user.job("known");
    let _root = job.root(known);
    let _gateway = job.gateway().await;
    let memory = user.text(&["heatmap", "--metric", "resident-memory"]).await;
    assert!(
        memory.starts_with("resident-memory (memory of the process that lies in RAM) of a rank, "),
        "{memory}"
    );
    assert!(
        memory.contains("\nmost: rank 2 with 300 B; least: rank 0 with 100 B\n"),
        "{memory}"
    );
    let never = user.text(&["heatmap", "--metric", "branches"]).await;
    assert!(
        never.starts_with(
            "branches has not been measured in this interval; to measure it from now on: invivo \
             metrics set branches\n"
        ),
        "{never}"
    );
}
