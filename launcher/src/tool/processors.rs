//! Where a tool process runs: on the processors that the job leaves free on its node, and where it
//! leaves none, on all that the launcher has there.
//!
//! A launcher binds our processes as if they were ranks: where it has no core left, to that of a
//! rank, which then waits for the tool with every message. The scheduler finds a better place by
//! itself if it may. What a rank may use, its supervisor notes where the start-up barrier's notes
//! are; what a program chooses later by itself is not seen.

use crate::tool::startup_barrier::StartupBarrier;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::time::{Duration, Instant};

/// How long the notes of ranks that start late may be waited for: a rank is in `MPI_Init` by then,
/// and does not come through before the others.
pub const NOTES_WITHIN: Duration = Duration::from_millis(200);
/// Between two looks for them.
const POLL: Duration = Duration::from_millis(5);

/// Notes the processors of this process, which supervises a rank.
pub fn note(barrier: &StartupBarrier, rank: u32) {
    if let Ok(mine) = sched_getaffinity(None) {
        barrier.runs_on(rank, &text(&mine));
    }
}

/// Moves this process, and with it those that it starts, to the processors that are left for it.
/// `launcher` is the launcher's process on this node; notes are waited for so long. False where
/// they were not all there, so that another time may go better.
pub fn step_aside(launcher: i32, barrier: Option<&StartupBarrier>, patience: Duration) -> bool {
    let launcher = Pid::from_raw(launcher).and_then(|pid| sched_getaffinity(Some(pid)).ok());
    let (Some(launcher), Some(barrier)) = (launcher, barrier) else {
        return true;
    };
    let since = Instant::now();
    let mut ranks = barrier.running_on();
    while ranks.len() < barrier.ranks() as usize && since.elapsed() < patience {
        std::thread::sleep(POLL);
        ranks = barrier.running_on();
    }
    // The kernel leaves out what a control group forbids; what remains is asked for again. Where it
    // refuses, everything stays as the launcher has made it.
    if sched_setaffinity(None, &launcher).is_err() {
        return true;
    }
    let Ok(all) = sched_getaffinity(None) else {
        return true;
    };
    // A rank that has not said what it may use may use anything.
    if ranks.len() < barrier.ranks() as usize {
        return false;
    }
    let ranks: Option<Vec<CpuSet>> = ranks.iter().map(|ranks| set(ranks)).collect();
    if let Some(free) = ranks.and_then(|ranks| free(&all, &ranks)) {
        let _ = sched_setaffinity(None, &free);
    }
    true
}

/// The processors that no rank may use, if there are any.
fn free(all: &CpuSet, ranks: &[CpuSet]) -> Option<CpuSet> {
    let mut free = CpuSet::new();
    let taken = |cpu| ranks.iter().any(|rank| rank.is_set(cpu));
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| all.is_set(*cpu) && !taken(*cpu))
        .for_each(|cpu| free.set(cpu));
    (free.count() > 0 && !ranks.is_empty()).then_some(free)
}

/// As in `/proc/PID/status`: `0-2,5`.
fn text(set: &CpuSet) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)) {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => spans.push((cpu, cpu)),
        }
    }
    let span = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

/// The set of such a text.
fn set(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for span in text.split(',') {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        (first..=last).for_each(|cpu| set.set(cpu));
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(texts: &[&str]) -> Vec<CpuSet> {
        texts.iter().map(|text| set(text).expect("a set")).collect()
    }

    #[test]
    fn tools_get_what_the_ranks_leave() {
        for (all, ranks, expected) in [
            ("0-3", &["0", "1"][..], Some("2-3")),
            ("0-7", &["0,4", "1,5", "2,6"], Some("3,7")),
            ("1-2", &["1", "2"], None),
            ("0-3", &["0-3", "0-3"], None),
            ("0-3", &["0-1", "2-3"], None),
            ("0-3", &[], None),
            ("2-3", &["0", "1"], Some("2-3")),
        ] {
            let left = free(&sets(&[all])[0], &sets(ranks));
            assert_eq!(
                left.map(|left| text(&left)).as_deref(),
                expected,
                "{all} {ranks:?}"
            );
        }
    }

    #[test]
    fn sets_are_written_and_read() {
        for list in ["0", "0-2,5", "1,3,5-1023"] {
            assert_eq!(text(&set(list).expect("a set")), list);
        }
        for wrong in ["", "a", "1-", "5-1024", "-1"] {
            assert!(set(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_rank_notes_its_own_processors() {
        let dir = tempfile::tempdir().expect("a directory");
        let barrier = StartupBarrier::new(dir.path(), 1);
        note(&barrier, 0);
        let mine = text(&sched_getaffinity(None).expect("a set"));
        assert_eq!(barrier.running_on(), [mine]);
        assert!(!barrier.all_through(), "it is no other note");
    }
}
