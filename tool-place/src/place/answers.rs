//! Makes the status answer and those about buffers from the present state of the ranks.

use super::commands::Commands;
use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use super::{pressure, rank_counts};
use crate::analyses::Analyses;
use crate::time_point::{Now, TimePoint};
use invivo_proto::control::buffers::{Buffers, Cursor, Records};
use invivo_proto::control::results::{JobStatus, RankState, RankStatus};
use invivo_proto::ids::LocationId;
use invivo_proto::mpi::is_initialisation;
use invivo_tbon::job_time::JobClock;
use std::ops::Range;

/// What the ranks are doing.
pub fn status(now: Now, clock: &JobClock, commands: &Commands, local: &LocalRanks) -> JobStatus {
    let seen = local.iter().filter(|(_, one)| one.life != Life::Absent);
    let seen = seen.count() as u32;
    let time_point = local.time_point(now, clock);
    let mut notes = local.feed.notes.sentences();
    notes.extend(rank_counts::notes(local));
    notes.extend(pressure::note(now, local));
    let mut status = JobStatus {
        recording: commands
            .recording
            .status(&time_point, &local.feed.cuts, seen),
        pause: commands.pauses.status(now.ns),
        observed_ns: local.observed_ns(now),
        notes,
        ..JobStatus::default()
    };
    let analyses = &local.feed.analyses;
    for (rank, one) in local.iter() {
        let mut line = one.records.status(now.ticks, analyses.clock());
        let open_ns = open_ns(now, &line, analyses);
        line.mpi_ns = analyses.mpi_ns(rank).saturating_add(open_ns);
        line.state = one.state(line.state, status.pause.is_some());
        status.states[line.state as usize] += 1;
        status.named.push(line);
    }
    // An answer has a bounded size: only the ranks of most interest are named.
    invivo_analysis::status::keep_extremes(&mut status.named);
    status
}

/// Time so far of the MPI call that a rank is in, without the time that it was paused in it, in ns;
/// initialisation is left out, as in `Analyses::mpi_ns`.
fn open_ns(now: Now, line: &RankStatus, analyses: &Analyses) -> u64 {
    if line.state != RankState::InMpi || is_initialisation(line.region) {
        return 0;
    }
    let clock = analyses.clock();
    let (_, pauses) = analyses.over_time(line.rank);
    let begin = now
        .ticks
        .saturating_sub(clock.duration_ticks(line.since_ns));
    clock.duration_ns(pauses.net(begin, now.ticks).ticks)
}

/// What the buffers hold and what they gave up.
pub fn buffers(moment: &TimePoint<'_>, local: &LocalRanks) -> Buffers {
    let mut sum = Buffers {
        recycled: local.feed.budget.recycled(),
        tick_ps: moment.tick_ps(),
        ..Buffers::default()
    };
    let strategy = local.feed.budget.keeping().asked;
    for one in &local.ranks {
        *sum.strategies.entry(strategy).or_default() += 1;
        one.records.add_buffers(moment, &mut sum);
    }
    sum
}

/// A page of what one location's buffer keeps.
pub fn kept_records(
    moment: &TimePoint<'_>,
    local: &LocalRanks,
    location: LocationId,
    job_ns: Range<u64>,
    after: Option<Cursor>,
    max: u32,
) -> Records {
    let records = local
        .index(location.rank)
        .map(|index| &local.ranks[index].records);
    records
        .and_then(|records| records.page(moment, location.thread, job_ns, after, max))
        .unwrap_or_default()
}
