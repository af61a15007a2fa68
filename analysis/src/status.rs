//! Counts ranks by state, with the few that a status names, the pause in force, and what went
//! wrong.
//!
//! Every list has a fixed length, so that a status does not grow with the job.
//!
//! Lists are merged as sorted sets of which the first so many stay, or the first and the last:
//! those of a union are among those of its parts, so the shape of the tree makes no difference.

use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use invivo_proto::control::results::{
    JobStatus, PauseStatus, RANKS_NAMED_MAX, RankStatus, RecordingStatus, WindowStatus,
};

/// Adds the status of other ranks.
pub fn merge(into: &mut JobStatus, from: JobStatus) {
    for (into, from) in into.states.iter_mut().zip(from.states) {
        *into = into.saturating_add(from);
    }
    into.named.extend(from.named);
    keep_extremes(&mut into.named);
    into.pause = longest(into.pause, from.pause);
    into.observed_ns = into.observed_ns.max(from.observed_ns);
    into.notes.extend(from.notes);
    // Several nodes may report the same; sorting makes the cut independent of the order.
    into.notes.sort_unstable();
    into.notes.dedup();
    into.cut_notes();
    merge_recording(&mut into.recording, &from.recording);
}

fn merge_recording(into: &mut RecordingStatus, from: &RecordingStatus) {
    into.on = into.on.saturating_add(from.on);
    into.off = into.off.saturating_add(from.off);
    into.since_ns = into.since_ns.max(from.since_ns);
    into.now_ns = into.now_ns.max(from.now_ns);
    into.clock_error_ns = into.clock_error_ns.max(from.clock_error_ns);
    into.window = newest(into.window, from.window);
    into.shut_down |= from.shut_down;
}

/// The window that was ordered last, with the ranks of both on which it is complete. Its edges are
/// those of the command, the same on all ranks.
fn newest(a: Option<WindowStatus>, b: Option<WindowStatus>) -> Option<WindowStatus> {
    let (Some(a), Some(b)) = (a, b) else {
        return a.or(b);
    };
    // Windows of the same begin are told apart by their command.
    let order = |window: &WindowStatus| (window.from_ns, window.command, window.to_ns);
    Some(match order(&a).cmp(&order(&b)) {
        Ordering::Less => b,
        Ordering::Greater => a,
        Ordering::Equal => WindowStatus {
            complete: a.complete.saturating_add(b.complete),
            ..a
        },
    })
}

/// Sorts ranks by their time in MPI, the least first: the others wait for those. Names each once,
/// and of more than a status names keeps both ends. A place brings its own ranks into this form
/// too.
pub fn keep_extremes(named: &mut Vec<RankStatus>) {
    // `dedup_by_key` removes only neighbours.
    named.sort_unstable_by_key(|status| (status.rank, order(status)));
    named.dedup_by_key(|status| status.rank);
    named.sort_unstable_by_key(order);
    if let Some(middle) = named.len().checked_sub(RANKS_NAMED_MAX) {
        let from = RANKS_NAMED_MAX / 2;
        named.drain(from..from + middle);
    }
}

/// The least time in MPI first; of equal ones the lowest rank. The rest only decides between two
/// statements about one rank.
fn order(status: &RankStatus) -> impl Ord + use<> {
    (
        status.mpi_ns,
        status.rank,
        Reverse(status.entered),
        Reverse(status.since_ns),
        status.region,
        status.state as u8,
    )
}

/// The pause with the longest lease: the job is paused until its last rank goes on.
fn longest(a: Option<PauseStatus>, b: Option<PauseStatus>) -> Option<PauseStatus> {
    a.into_iter()
        .chain(b)
        .max_by_key(|pause| (pause.lease_left_ns, pause.command))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::format;
    use invivo_proto::control::results::{MORE_NOTES, NOTES_MAX, RANK_STATES, RankState};
    use invivo_proto::ids::{CommandId, Rank, RegionId};
    use proptest::prelude::*;

    /// The status of some ranks `first..first + count`, as a place gives it.
    pub fn of_place() -> impl Strategy<Value = JobStatus> {
        const STATES: [RankState; RANK_STATES] = [
            RankState::Starting,
            RankState::Computing,
            RankState::InMpi,
            RankState::Paused,
            RankState::Finished,
            RankState::Held,
        ];
        let rank =
            (0u32..100, prop::sample::select(&STATES)).prop_map(|(rank, state)| RankStatus {
                rank: Rank(rank),
                state,
                region: RegionId(1),
                since_ns: 5,
                entered: u64::from(rank),
                // A rank has one place: no two say another time of it.
                mpi_ns: u64::from(rank) * 7 % 20,
            });
        let pause =
            prop::option::of(
                (0u64..4, 0u64..4).prop_map(|(command, lease_left_ns)| PauseStatus {
                    command: CommandId(command),
                    lease_left_ns,
                }),
            );
        let notes = prop::collection::vec((0u32..30).prop_map(|n| format!("note {n}")), 0..8);
        (
            prop::collection::vec(rank, 0..20),
            any::<[u16; RANK_STATES]>(),
            pause,
            0u64..100,
            notes,
            recording(),
        )
            .prop_map(
                |(mut named, states, pause, observed_ns, mut notes, recording)| {
                    keep_extremes(&mut named);
                    notes.sort_unstable();
                    notes.dedup();
                    JobStatus {
                        states: states.map(u32::from),
                        named,
                        pause,
                        observed_ns,
                        notes,
                        recording,
                        ..JobStatus::default()
                    }
                },
            )
    }

    /// Two windows that were ordered at the same time have other commands.
    fn recording() -> impl Strategy<Value = RecordingStatus> {
        let window =
            (0u64..3, 0u64..3, 0u32..9).prop_map(|(command, from_ns, complete)| WindowStatus {
                command: CommandId(command),
                from_ns,
                to_ns: from_ns + 10,
                complete,
            });
        (
            any::<[u16; 2]>(),
            any::<[u8; 3]>(),
            prop::option::of(window),
            any::<bool>(),
        )
            .prop_map(|(ranks, times, window, shut_down)| RecordingStatus {
                on: ranks[0].into(),
                off: ranks[1].into(),
                since_ns: times[0].into(),
                now_ns: times[1].into(),
                clock_error_ns: times[2].into(),
                window,
                shut_down,
            })
    }

    fn naive_recording(all: &[JobStatus]) -> RecordingStatus {
        let each = || all.iter().map(|status| &status.recording);
        let windows: Vec<WindowStatus> = each().filter_map(|r| r.window).collect();
        let last = windows.iter().map(|w| (w.from_ns, w.command)).max();
        let ranks = |w: &&WindowStatus| Some((w.from_ns, w.command)) == last;
        RecordingStatus {
            on: each().map(|r| r.on).sum(),
            off: each().map(|r| r.off).sum(),
            since_ns: each().map(|r| r.since_ns).max().unwrap_or(0),
            now_ns: each().map(|r| r.now_ns).max().unwrap_or(0),
            clock_error_ns: each().map(|r| r.clock_error_ns).max().unwrap_or(0),
            window: last.map(|(from_ns, command)| WindowStatus {
                command,
                from_ns,
                to_ns: from_ns + 10,
                complete: windows.iter().filter(ranks).map(|w| w.complete).sum(),
            }),
            shut_down: each().any(|r| r.shut_down),
        }
    }

    fn naive(all: &[JobStatus]) -> JobStatus {
        let mut flat = JobStatus::default();
        for (n, state) in flat.states.iter_mut().enumerate() {
            *state = all.iter().map(|status| status.states[n]).sum();
        }

        let ranks: std::collections::BTreeSet<Rank> =
            all.iter().flat_map(|s| &s.named).map(|r| r.rank).collect();
        let worst_of = |rank| {
            all.iter()
                .flat_map(|s| &s.named)
                .filter(move |r| r.rank == rank)
                .min_by_key(|r| order(r))
        };

        flat.named = ranks.into_iter().filter_map(worst_of).cloned().collect();
        flat.named.sort_by_key(|r| (r.mpi_ns, r.rank));
        let many = flat.named.len();
        let is_at_an_end = |at: usize| at < 16 || at + 16 >= many;
        let mut at = 0..;
        flat.named.retain(|_| is_at_an_end(at.next().unwrap()));
        flat.pause = all
            .iter()
            .filter_map(|s| s.pause)
            .max_by_key(|p| (p.lease_left_ns, p.command));
        flat.observed_ns = all.iter().map(|s| s.observed_ns).max().unwrap_or(0);
        let notes: std::collections::BTreeSet<_> =
            all.iter().flat_map(|s| &s.notes).cloned().collect();
        flat.notes = notes.into_iter().collect();
        if flat.notes.len() > NOTES_MAX {
            flat.notes.truncate(NOTES_MAX - 1);
            flat.notes.push(MORE_NOTES.into());
        }
        flat.recording = naive_recording(all);
        flat
    }

    proptest! {
        #[test]
        fn merging_equals_a_flat_computation(all in prop::collection::vec(of_place(), 0..12)) {
            let mut merged = JobStatus::default();
            for status in &all {
                merge(&mut merged, status.clone());
            }
            prop_assert_eq!(merged, naive(&all));
        }
    }
}
