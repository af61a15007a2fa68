//! Converts samples to their message for clients.

use super::stacks::{frame, which};
use crate::v1;
use invivo_proto::control::named_ranks::NamedRanks;
use invivo_proto::control::profile::{NoSamples, Node, Profile};

/// The answer; `begin_ns` is the job time at which the observed time began.
pub fn reply(profile: &Profile, begin_ns: u64, coverage: v1::Coverage) -> v1::ProfileReply {
    let seen = &profile.seen;
    let observed = |job_ns: u64| job_ns.saturating_sub(begin_ns);
    v1::ProfileReply {
        coverage: Some(coverage),
        nodes: profile.nodes.iter().map(node).collect(),
        ranks: profile.ranks,
        sampled_ranks: profile.sampled,
        without: profile
            .without
            .iter()
            .map(|(why, of)| without(*why, of))
            .collect(),
        samples: seen.samples,
        samples_lost: seen.lost,
        cpu_ns: seen.cpu_ns,
        elapsed_ns: seen.elapsed_ns,
        sampler_cpu_ns: seen.sampler_cpu_ns,
        frequency_min: seen.frequency.0,
        frequency_max: seen.frequency.1,
        ranks_without_kernel: seen.without_kernel,
        ranks_by_timer: seen.by_timer,
        ranks_untimed: seen.untimed,
        samples_unnamed: seen.unnamed,
        left_out_ns: profile.left_out_ns,
        interval: profile.kept.as_ref().map(|kept| v1::ProfileInterval {
            from_ns: observed(kept.of.from_ns),
            to_ns: observed(kept.of.to_ns),
            cut_ranks: kept.cut_ranks,
            gone_until_ns: observed(kept.gone_until_ns),
            samples_not_kept: kept.not_kept,
        }),
    }
}

fn node(of: &Node) -> v1::ProfileNode {
    let (kind, function, module) = frame(&of.frame);
    let lines = of.lines.iter().map(|(text, ns)| v1::ProfileLine {
        text: text.clone(),
        ns: *ns,
    });
    let mut lines: Vec<v1::ProfileLine> = lines.collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.ns));
    v1::ProfileNode {
        depth: of.depth.into(),
        kind: kind.to_owned(),
        function: function.to_owned(),
        module: module.to_owned(),
        ns: of.ns,
        own_ns: of.own_ns,
        most_rank: of.most.0.0,
        most_ns: of.most.1,
        lines,
    }
}

fn without(why: NoSamples, of: &NamedRanks) -> v1::ProfileWithout {
    let (reason, paranoid) = match why {
        NoSamples::Off => ("off", 0),
        NoSamples::Starting => ("starting", 0),
        NoSamples::Ended => ("ended", 0),
        NoSamples::Silent => ("silent", 0),
        NoSamples::Forbidden { paranoid } => ("forbidden", paranoid),
        NoSamples::Unsupported => ("unsupported", 0),
        NoSamples::NoRoom => ("no room", 0),
        NoSamples::Broken => ("broken", 0),
        NoSamples::NotThen => ("not then", 0),
        NoSamples::NextCall => ("next call", 0),
        NoSamples::SignalInUse => ("signal in use", 0),
        NoSamples::TooOften { .. } => ("too often", 0),
        NoSamples::NoTimers => ("no timers", 0),
        NoSamples::Unreadable => ("unreadable", 0),
    };
    v1::ProfileWithout {
        reason: reason.to_owned(),
        ranks: of.ranks,
        which: which(&of.named, of.ranks),
        paranoid: paranoid.into(),
    }
}
