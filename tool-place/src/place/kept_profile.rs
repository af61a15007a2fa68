//! Answers where the ranks spent a time in the past, by the samples that buffers keep.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::time_point::TimePoint;
use invivo_analysis::profile::Adding;
use invivo_proto::control::profile::{KeptTime, NoSamples, Past, Profile};
use invivo_proto::control::stacks::Chosen;

/// The profile of this time, of these ranks of the place.
pub fn answer(past: Past, chosen: Chosen, moment: &TimePoint<'_>, local: &LocalRanks) -> Profile {
    let mut kept = KeptTime {
        of: Past {
            from_ns: past.from_ns,
            to_ns: past.to_ns.min(moment.job_ns()),
        },
        cut_ranks: 0,
        gone_until_ns: 0,
        not_kept: 0,
    };
    let recorded: Vec<(u64, u64)> = local.feed.cuts.recorded().collect();
    let mut adding = Adding::default();
    for (rank, one) in local.iter().filter(|(rank, _)| chosen.holds(*rank)) {
        let told = match one.life {
            Life::Absent => Err(NoSamples::Starting),
            _ => one.records.kept_profile(past, moment, &recorded),
        };
        if let Ok(told) = &told {
            kept.not_kept = kept.not_kept.saturating_add(told.not_kept);
            if let Some(ticks) = told.gone_until {
                kept.cut_ranks += 1;
                kept.gone_until_ns = kept.gone_until_ns.max(moment.job_of_ticks(ticks));
            }
        }
        adding.add(rank, told.map(|told| (told.seen, told.nodes)));
    }
    Profile {
        kept: Some(kept),
        ..adding.profile()
    }
}
