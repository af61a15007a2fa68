//! What is shown of known answers.

use super::*;
use invivo_grpc::v1::GridCell;
use invivo_proto::control::metrics::SystemMetric;

const S: u64 = 1_000_000_000;

fn without(reason: &str, ranks: u32, which: &str) -> MetricWithout {
    MetricWithout {
        reason: reason.into(),
        ranks,
        which: which.into(),
        paranoid: 0,
    }
}

fn metric(name: &str, unit: &str, absolute: bool, now: u32) -> MetricStatus {
    MetricStatus {
        name: name.into(),
        unit: unit.into(),
        absolute,
        tells: format!("What {name} is"),
        ranks_now: now,
        ranks_kept: now,
        without: Vec::new(),
    }
}

fn reply(metrics: Vec<MetricStatus>) -> MetricsReply {
    MetricsReply {
        ranks: 2,
        ranks_measured: 2,
        interval_min_ns: S / 10,
        interval_max_ns: S / 10,
        readings: 200,
        cost_ns: 4_000_000,
        metrics,
        ..MetricsReply::default()
    }
}

fn values(name: &str, min: u64, max: u64) -> Values {
    Values {
        name: name.into(),
        from_ns: 0,
        to_ns: 10 * S,
        total: GridCell {
            ranks: 2,
            recorded_ns: 20 * S,
            sum: min + max,
            min,
            min_rank: 1,
            max,
            max_rank: 0,
        },
    }
}

#[test]
fn values_stand_with_their_units_and_ranks() {
    let measured = Measurement {
        reply: reply(vec![
            metric("cpu-time", "ns", false, 2),
            metric("page-faults", "faults", false, 2),
            metric("resident-memory", "bytes", true, 2),
            metric("counter:steps", "", false, 2),
        ]),
        values: vec![
            values("cpu-time", 4 * S, 8 * S),
            values("page-faults", 1_000, 19_000),
            values("resident-memory", 1 << 30, 3 << 30),
            Values {
                name: "counter:steps".into(),
                ..Values::default()
            },
        ],
    };
    assert_eq!(
        text(&measured),
        "metric            total      mean  least              most\n\
         cpu-time         12.0 s    60.0 %  4.00 s (rank 1)    8.00 s (rank 0)\n\
         page-faults      20,000   1,000/s  1,000 (rank 1)     19,000 (rank 0)\n\
         resident-memory       -  2.00 GiB  1.00 GiB (rank 1)  3.00 GiB (rank 0)\n\
         counter:steps         -         -  -                  -\n\
         \n\
         from 0 s to 10.0 s; the mean is a rank's: of what is added up by the second, of times as \
         a share\n\
         2 of 2 ranks measured every 100 ms; 200 readings so far took 20.0 us of a processor \
         each\n"
    );
}

#[test]
fn instructions_are_told_for_each_cycle() {
    let both = [values("cycles", 100, 300), values("instructions", 200, 500)];
    assert_eq!(cycles(&both).as_deref(), Some("1.75 instructions a cycle"));
    assert_eq!(cycles(&both[..1]), None);
    let mut other = both;
    other[0].total.ranks = 1;
    assert_eq!(cycles(&other), None);
}

#[test]
fn without_values_the_next_command_is_told() {
    let told = text(&Measurement::default());
    assert_eq!(
        told,
        "nothing has been measured; to begin: invivo metrics set usual (what else there is: \
         invivo metrics list)\n"
    );
    let early = Measurement {
        reply: reply(Vec::new()),
        values: Vec::new(),
    };
    assert!(text(&early).starts_with("nothing has been read yet; ranks are measured every 100 ms"));
}

#[test]
fn the_list_tells_why_something_cannot_be_measured() {
    let mut none = [
        metric("cycles", "cycles", false, 0),
        metric("branches", "branches", false, 0),
        metric("cpu-migrations", "migrations", false, 0),
    ];
    for metric in &mut none[..2] {
        metric.without = vec![without("unsupported", 2, "0-1")];
    }
    none[2].without = vec![without("forbidden", 1, "1")];
    none[2].without[0].paranoid = 4;
    let mut all = vec![metric("cpu-time", "ns", false, 1)];
    all.extend(none);
    let listed = list(&MetricsReply {
        more: true,
        ..reply(all)
    });
    for line in [
        "cpu-time        ns          of 1 of 2 ranks  What cpu-time is\n",
        "cycles          cycles      cannot be        What cycles is\n",
        "cpu-migrations  migrations  no               What cpu-migrations is\n",
        "\nusual: cpu-time,run-delay,involuntary-switches,page-faults,resident-memory,\
         active-threads,processors,program\n",
        "\ncannot be measured: cycles, branches (this machine does not count it; many virtual \
         machines do not)\n",
        "\ncannot be measured of rank 1: cpu-migrations (the kernel forbids it, as \
         kernel.perf_event_paranoid is 4; ",
        "\ncounters or values of the program are left out: a rank has room for 16, ",
    ] {
        assert!(listed.contains(line), "{line:?} is not in\n{listed}");
    }
}

#[test]
fn a_rank_without_all_of_them_is_named_once() {
    let all = SystemMetric::ALL.map(|of| MetricStatus {
        without: vec![without("ended", 1, "1")],
        ..metric(of.facts().name, of.facts().unit, false, 1)
    });
    let told = about(&reply(all.into()));
    assert_eq!(
        told[1..],
        ["nothing can be measured of rank 1: it has ended"]
    );
}

#[test]
fn what_is_no_longer_measured_is_named() {
    let mut ended = metric("page-faults", "faults", false, 0);
    ended.ranks_kept = 2;
    let told = about(&reply(vec![
        metric("cpu-time", "ns", false, 2),
        ended.clone(),
    ]));
    assert_eq!(told[1..], ["no longer measured: page-faults"]);
    let off = MetricsReply {
        ranks_measured: 0,
        ..reply(vec![ended])
    };
    assert!(about(&off)[0].starts_with("nothing is measured now; 200 readings"));
}
