//! What is found besides the limit: two ranks, a stretch, an idle rank, small calls, one receiver;
//! and what must not be said.

use super::*;
use crate::units::duration;
use invivo_grpc::v1::{RankWaitRow, SiteWaitRow};

/// Columns of 10 ms in which these ranks compute longest, with these parallel efficiencies.
fn in_columns(whole: Efficiency, columns: &[(u32, f64)]) -> Seen {
    let column = |(column, (max_rank, part)): (usize, &(u32, f64))| ColumnEfficiency {
        column: column as u32,
        efficiency: Some(Efficiency {
            max_rank: *max_rank,
            ..efficiency(*part, 1.0)
        }),
    };
    let mut seen = seen(whole, whole);
    seen.grid.width_ns = 10_000_000;
    seen.grid.observed_ns = 10_000_000 * columns.len() as u64;
    seen.grid.efficiencies = columns.iter().enumerate().map(column).collect();
    seen
}

/// Two phases of which each has a rank that others wait for, half of the time in MPI.
fn phases() -> Seen {
    let columns = [[(1, 0.44); 10], [(3, 0.44); 10]].concat();
    let seen = in_columns(efficiency(0.7, 0.63), &columns);
    let mut seen = waited(seen, [3, 3], [3, 3]);
    let row = |function: &str, s: u64| RankWaitRow {
        function: function.into(),
        caused_ns: (s + 7) * 1_000_000_000,
        ..RankWaitRow::default()
    };
    seen.waits_before.ranks[0].rows = vec![row("MPI_Bcast", 0), row("MPI_Allreduce", 0)];
    seen.waits_before.ranks[1].rows = seen.waits_before.ranks[0].rows.clone();
    seen.waits_after.ranks[0].rows = vec![row("MPI_Bcast", 3), row("MPI_Allreduce", 0)];
    seen.waits_after.ranks[1].rows = vec![row("MPI_Bcast", 0), row("MPI_Allreduce", 3)];
    seen
}

#[test]
fn two_phases_have_a_rank_and_a_line_each() {
    let told = explain_seen(&phases());
    assert_eq!(told.limit, Limit::LoadBalance, "{}", told.sentence);
    let late = told.waiting.expect("waits").late;
    let ranks: Vec<u32> = late.iter().map(|of| of.rank).collect();
    assert_eq!(ranks, [1, 3]);
    insta::assert_snapshot!(told.sentence);
}

/// Most of the time in MPI is at one line, and most waiting at another.
#[test]
fn the_line_of_the_wait_may_be_another_one() {
    let waits = |ns| {
        vec![SiteWaitRow {
            wait_state: "Wait at N x N".into(),
            time_ns: ns,
            ..SiteWaitRow::default()
        }]
    };
    let mut seen = waited(
        seen(efficiency(0.5, 0.9), efficiency(0.5, 0.9)),
        [4, 1],
        [4, 1],
    );
    let told = explain_seen(&seen);
    assert_eq!(told.waiting.expect("waits").place, "", "nothing is known");
    // It waited before at the line that has most of the time.
    seen.before.rows[0].waits = waits(9_000_000_000);
    seen.after.rows[0].waits = waits(10_000_000_000);
    let mut other = seen.after.rows[0].clone();
    other.offset += 1;
    other.functions[0].line = "solver.c:300".into();
    other.calls.as_mut().expect("calls").time_ns = 2_000_000_000;
    other.waits = waits(3_000_000_000);
    seen.after.rows.push(other);
    let told = explain_seen(&seen);
    let waiting = told.waiting.expect("waits");
    assert_eq!(
        (waiting.place.as_str(), waiting.place_share),
        ("solve (solver.c:300)", 0.75)
    );
    let words = "in Wait at N x N in MPI_Allreduce at solve (solver.c:300) (60.6 % of the time";
    assert!(told.sentence.contains(words), "{}", told.sentence);
    assert!(told.sentence.contains("at solve (solver.c:212), "));
    // The line that the sentence names anyway is named once.
    seen.after.rows[2].waits = waits(500_000_000);
    let told = explain_seen(&seen).sentence;
    assert!(told.contains("MPI_Allreduce (60.6 % of the time"), "{told}");
}

#[test]
fn two_late_ranks_are_told_without_waits_too() {
    let mut seen = phases();
    seen.waits_before = WaitStatesReply::default();
    seen.waits_after = WaitStatesReply::default();
    let told = explain_seen(&seen).sentence;
    let words = "and the others wait, 50.0 % of it for rank 1, and 50.0 % for rank 3 (";
    assert!(told.contains(words), "{told}");
}

/// Rank 1 lacks a processor now and then; rank 3 has more work.
#[test]
fn a_rank_seldom_late_is_no_second() {
    let mut seen = phases();
    let ms = 1_000_000;
    let mut total = |sum: u64| {
        let total = GridCell {
            ranks: 4,
            recorded_ns: 12_000 * ms,
            sum: sum * ms,
            min: 800 * ms,
            min_rank: 0,
            max: 2000 * ms,
            max_rank: 3,
        };
        seen.grid.rows = vec![GridRow {
            total: Some(total),
            ..GridRow::default()
        }];
        explain_seen(&seen).sentence
    };
    // The two between compute for 2 s together, the longer one for 1.2 s at most; or for 2.8 s.
    let text = total(4800);
    assert!(!text.starts_with("Ranks 1 and 3 compute longer"), "{text}");
    let text = total(5600);
    assert!(text.starts_with("Ranks 1 and 3 compute longer"), "{text}");
}

/// Rank 2 waits for rank 3 in one call, and others for rank 2 in the next.
#[test]
fn whoever_computes_little_is_not_blamed() {
    let mut seen = phases();
    let columns = [(3, 0.44); 20];
    seen.grid.efficiencies = in_columns(efficiency(0.5, 0.9), &columns).grid.efficiencies;
    let told = explain_seen(&seen);
    assert!(!told.sentence.starts_with("Ranks 1 and 3"), "{told:?}");
    assert!(told.waiting.expect("waits").late.is_empty());
}

#[test]
fn ranks_that_compute_unlike_are_not_alike() {
    let columns: Vec<(u32, f64)> = (0..20).map(|at| (at % 4, 0.44)).collect();
    let told = explain_seen(&in_columns(efficiency(0.7, 0.63), &columns)).sentence;
    assert!(told.starts_with("Ranks compute in turn"), "{told}");
    assert!(told.contains("and rank 3 computes 42.9 % longer"), "{told}");
    assert!(!told.contains("as long as the next"), "{told}");
}

#[test]
fn a_rank_that_was_slow_for_a_while() {
    let mut columns = [[(2, 0.99); 20]; 4].concat();
    columns[20..50].fill((2, 0.3));
    let whole = Efficiency {
        max_rank: 2,
        ..efficiency(0.7, 1.0)
    };
    let of = |columns: &[(u32, f64)]| explain_seen(&in_columns(whole, columns)).sentence;
    let told = of(&columns);
    let words = ", mostly within 300 ms that ended 300 ms ago, and the others wait";
    assert!(told.contains(words), "{told}");
    let told = of(&columns[..50]);
    assert!(told.contains("mostly in the last 300 ms of it,"), "{told}");
    // Now and then, or all the time.
    let now_and_then: Vec<_> = [(2, 0.99), (2, 0.3)].repeat(40);
    assert!(!of(&now_and_then).contains("mostly"));
    assert!(!of(&columns[20..52]).contains("mostly"));
    // Two stretches are not one.
    let two = [columns, vec![(2, 0.99); 200], vec![(2, 0.3); 30]].concat();
    assert!(!of(&two).contains("mostly"), "{}", of(&two));
}

/// Of a time that is past it is said when that was, and nothing of what the job does now.
#[test]
fn a_time_that_is_past() {
    let mut columns = [[(2, 0.99); 20]; 4].concat();
    columns[20..50].fill((2, 0.3));
    let whole = Efficiency {
        max_rank: 2,
        ..efficiency(0.7, 1.0)
    };
    let mut seen = in_columns(whole, &columns);
    let to_ns = seen.grid.observed_ns;
    seen.time = Time::Past { from_ns: 0, to_ns };
    seen.grid.observed_ns += 500_000_000_000;
    seen.status.recording = Some(RecordingStatus {
        off: 4,
        ..RecordingStatus::default()
    });
    let told = explain_seen(&seen).sentence;
    let end = duration(to_ns - 300_000_000);
    let words = format!(", mostly within 300 ms that ended at {end}, and the others wait");
    assert!(told.contains(&words), "{told}");
    let when = format!(" from 0 s to {}", duration(to_ns));
    assert!(told.contains(&when), "{told}");

    seen.grid.efficiency = Some(efficiency(0.99, 0.02));
    seen.after = CallSitesReply::default();
    let stood = explain_seen(&seen);
    assert_eq!(stood.limit, Limit::Standstill);
    let words = format!("No MPI call ended{when}");
    assert!(stood.sentence.starts_with(&words), "{stood:?}");
    // Of some ranks nothing is said.
    seen.grid.coverage = Some(Coverage {
        ranks: 4,
        ranks_reporting: 3,
        ..Coverage::default()
    });
    assert_eq!(explain_seen(&seen).limit, Limit::Unknown);
}

/// Of the time in which the others compute, rank 0 does so for this part.
fn one_idle(computed: f64) -> Explanation {
    let (ms, all) = (1_000_000, (3.0 * 0.97 + computed) / 4.0);
    let mut seen = seen(efficiency(all / 0.97, 0.97), efficiency(all / 0.97, 0.97));
    let min = (computed * 3000.0) as u64 * ms;
    seen.grid.rows = vec![GridRow {
        total: Some(GridCell {
            ranks: 4,
            recorded_ns: 12_000 * ms,
            sum: min + 3 * 2910 * ms,
            min,
            min_rank: 0,
            max: 2910 * ms,
            max_rank: 3,
        }),
        ..GridRow::default()
    }];
    explain_seen(&seen)
}

#[test]
fn others_do_not_wait_with_one_that_does() {
    let master = one_idle(0.01);
    assert_eq!((master.limit, master.rank), (Limit::None, None));
    let spared = one_idle(0.3);
    assert_eq!((spared.limit, spared.rank), (Limit::LoadBalance, None));
    insta::assert_snapshot!([master.sentence, spared.sentence].join("\n"));
}

#[test]
fn many_small_calls_are_told() {
    let of = |function: &str, calls| {
        let even = efficiency(0.99, 0.1);
        let mut seen = seen(even, even);
        seen.before = CallSitesReply::default();
        seen.after = sites([9_000_000_000, 1_000_000_000], calls);
        let first = seen.after.rows[0].calls.as_mut().expect("calls");
        first.function = function.into();
        let told = explain_seen(&seen);
        assert_eq!(told.limit, Limit::Communication);
        told.site.and_then(|site| site.small)
    };
    // In 3 s, on four ranks.
    assert_eq!(of("MPI_Allreduce", 1_200_000), Some(Small::Collectives));
    assert_eq!(of("MPI_Sendrecv", 1_200_000), Some(Small::Messages));
    assert_eq!(of("MPI_Iprobe", 1_200_000), None);
    assert_eq!(of("MPI_Allreduce", 11_000), None);
}

/// Without computing it is not for somebody's computing that the others wait.
#[test]
fn waiting_between_calls_is_no_turn() {
    let of = |part| {
        let seen = seen(efficiency(0.99, part), efficiency(0.97, part));
        let told = explain_seen(&waited(seen, [7, 1], [4, 4]));
        (told.limit, told.sentence)
    };
    assert_eq!(of(0.2).0, Limit::Serialisation);
    let (limit, sentence) = of(0.01);
    assert_eq!(limit, Limit::Communication, "{sentence}");
    assert!(!sentence.contains("rank 1"), "{sentence}");
}

/// Ranks send to rank 0, which receives at a place of its own.
#[test]
fn a_rank_to_which_all_send_is_named() {
    let even = efficiency(0.99, 0.1);
    let mut all = seen(even, even);
    all.before = CallSitesReply::default();
    // All have met somewhere.
    let mut met = all.after.rows[1].clone();
    met.calls.as_mut().expect("calls").time_ns = 0;
    all.after.rows.push(met);
    for (row, (function, ranks, bytes)) in
        (all.after.rows.iter_mut()).zip([("MPI_Ssend", 3, 0), ("MPI_Recv", 1, 6_000_000_000)])
    {
        row.ranks = ranks;
        let calls = row.calls.as_mut().expect("calls");
        calls.function = function.into();
        calls.bytes_in = bytes;
        calls.time_ns += 1_000_000_000 * u64::from(ranks);
    }
    let of = |seen: &Seen| explain_seen(seen).site.and_then(|site| site.receiver);
    let receiver = of(&all).expect("a receiver");
    assert_eq!((receiver.rank, receiver.share), (0, 1.0));
    let told = explain_seen(&all).sentence;
    let words = "The ranks communicate, and rank 0 alone receives 100.0 % of the bytes, \
                 1.86 GiB/s, in MPI_Recv at solve (solver.c:90): they are in MPI for ";
    assert!(told.starts_with(words), "{told}");
    // Where others receive as well, or it may be one of several ranks, or it hardly does,
    // nobody is named.
    let mut briefly = all.clone();
    briefly.after.rows[1].calls.as_mut().expect("calls").time_ns = 500_000_000;
    assert_eq!(of(&briefly), None);
    let mut others = all.clone();
    others.after.rows[0].calls.as_mut().expect("calls").bytes_in = 1_000_000_000;
    assert_eq!(of(&others), None);
    let mut alike = all.clone();
    alike.after.rows[0].calls.as_mut().expect("calls").time_ns += 9_000_000_000;
    assert!(of(&alike).is_some());
    alike.after.rows[0].ranks = 4;
    assert_eq!(of(&alike), None);
    all.after.rows[1].ranks = 2;
    assert_eq!(of(&all), None);
}

/// Columns of 16 ms with ten calls each, that send more in each column.
fn growing() -> Vec<GridReply> {
    let grid = |of: fn(u64) -> u64| {
        let cell = |column| GridCell {
            sum: of(column),
            ..GridCell::default()
        };
        GridReply {
            rows: vec![GridRow {
                cells: (1..=20).map(cell).collect(),
                ..GridRow::default()
            }],
            columns: 20,
            width_ns: 16_000_000,
            ..GridReply::default()
        }
    };
    vec![grid(|_| 10), grid(|column| 40_960 * column)]
}

#[test]
fn calls_that_send_more_and_more_are_told() {
    let even = efficiency(0.99, 0.1);
    let mut seen = seen(even, even);
    seen.moved = growing();
    seen.grid.observed_ns = 320_000_000;
    let told = explain_seen(&seen);
    let words = "The ranks communicate, and their calls send more and more, in 320 ms 6.0 times \
                 as much, 72.0 KiB in the mean: they are in MPI for ";
    assert!(told.sentence.starts_with(words), "{}", told.sentence);
    assert_eq!(told.growth.map(|of| of.since_ns), Some(320_000_000));

    // One thing is said of how they communicate.
    seen.before = CallSitesReply::default();
    seen.after = sites([9_000_000_000, 1_000_000_000], 1_200_000);
    let small = explain_seen(&seen);
    assert!(small.sentence.contains("small collectives") && small.growth.is_none());
    // And nothing of ranks that compute.
    seen.grid.efficiency = Some(efficiency(0.99, 0.97));
    let good = explain_seen(&seen);
    assert_eq!((good.limit, good.growth), (Limit::None, None));
}
