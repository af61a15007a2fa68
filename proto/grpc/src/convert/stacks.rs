//! Converts merged call paths to their message for clients.

use crate::v1;
use invivo_proto::control::stacks::{
    Chosen, Frame, NoPython, Node, Stacks, UnstoppedReason, Way, Whose,
};
use invivo_proto::ids::Rank;

/// The ranks of a request; `None` if it has too many ranges.
pub fn chosen(ranks: &[v1::RankRange]) -> Option<Chosen> {
    // No ranges stand for all ranks.
    if ranks.is_empty() {
        return Some(Chosen::ALL);
    }
    let ranges = ranks
        .iter()
        .map(|range| (Rank(range.first), Rank(range.last)));
    // More ranges than an answer may name are refused, and not cut.
    Chosen::of(&ranges.collect::<Vec<_>>())
}

pub fn reply(stacks: &Stacks, coverage: v1::Coverage) -> v1::StacksReply {
    let (longest_stop_ns, rank) = stacks.longest_stop.unwrap_or_default();
    v1::StacksReply {
        coverage: Some(coverage),
        nodes: stacks.nodes.iter().map(node).collect(),
        ways: stacks
            .ways
            .iter()
            .map(|(way, whose)| of_way(*way, whose))
            .collect(),
        ranks: stacks.ranks,
        threads_left_out: stacks.left_out,
        threads_unnamed: stacks.unnamed,
        longest_stop_ns,
        longest_stop_rank: rank.0,
        without_python: stacks
            .no_python
            .iter()
            .map(|(why, whose)| without_python(*why, whose))
            .collect(),
    }
}

/// Kind, function and module of a frame.
pub fn frame(of: &Frame) -> (&'static str, &str, &str) {
    match of {
        Frame::Lost => ("lost", "", ""),
        Frame::LeftOut => ("left out", "", ""),
        Frame::Function { module, name } => ("function", name.as_str(), module.as_str()),
        Frame::Python { file, name } => ("python", name.as_str(), file.as_str()),
    }
}

fn node(of: &Node) -> v1::StacksNode {
    let (kind, function, module) = frame(&of.frame);
    let lines = of.lines.iter().map(|(text, threads)| v1::StacksLine {
        text: text.clone(),
        threads: *threads,
    });
    v1::StacksNode {
        depth: of.depth.into(),
        kind: kind.to_owned(),
        function: function.to_owned(),
        module: module.to_owned(),
        ranks: of.ranks,
        threads: of.threads,
        ends: of.ends,
        which: which(&of.named, of.ranks),
        // Named ranks ascend, so it is the lowest: the same in every answer.
        representative: of.named.first().map_or(0, |rank| rank.0),
        lines: lines.collect(),
    }
}

fn of_way(way: Way, whose: &Whose) -> v1::StacksWay {
    let (way, reason) = match way {
        Way::Stopped => ("stopped", None),
        Way::Asleep => ("asleep", None),
        Way::Unstopped(reason) => ("unstopped", Some(reason)),
        Way::Missing(reason) => ("missing", Some(reason)),
    };
    let reason = match reason {
        None => "",
        Some(UnstoppedReason::Starting) => "starting",
        Some(UnstoppedReason::Ended) => "ended",
        Some(UnstoppedReason::Silent) => "silent",
        Some(UnstoppedReason::Forbidden) => "forbidden",
        Some(UnstoppedReason::Traced) => "traced",
        Some(UnstoppedReason::InKernel) => "in the kernel",
    };
    v1::StacksWay {
        way: way.to_owned(),
        reason: reason.to_owned(),
        ranks: whose.ranks,
        threads: whose.threads,
        which: which(&whose.named, whose.ranks),
    }
}

fn without_python(why: NoPython, whose: &Whose) -> v1::StacksWithoutPython {
    let (reason, version) = match why {
        NoPython::Version { major, minor } => ("version", format!("{major}.{minor}")),
        NoPython::FreeThreaded => ("free-threaded", String::new()),
        NoPython::NoRuntime => ("no runtime", String::new()),
        NoPython::Unreadable => ("unreadable", String::new()),
    };
    v1::StacksWithoutPython {
        reason: reason.to_owned(),
        version,
        ranks: whose.ranks,
        threads: whose.threads,
        which: which(&whose.named, whose.ranks),
    }
}

/// Some of `all` ranks, in ascending order, as `0-3,7`.
pub fn which(named: &[Rank], all: u32) -> String {
    let mut text = String::new();
    // Neighbouring numbers become one range.
    let runs = named.chunk_by(|a, b| a.0.checked_add(1) == Some(b.0));
    for run in runs {
        if !text.is_empty() {
            text.push(',');
        }
        match run {
            [one] => text.push_str(&one.to_string()),
            [first, .., last] => text.push_str(&format!("{first}-{last}")),
            [] => {}
        }
    }

    if (named.len() as u64) < u64::from(all) {
        text.push_str(",...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_in_runs() {
        let of =
            |ranks: &[u32], all| which(&ranks.iter().copied().map(Rank).collect::<Vec<_>>(), all);
        assert_eq!(of(&[], 0), "");
        assert_eq!(of(&[0, 1, 2, 3, 7], 5), "0-3,7");
        assert_eq!(of(&[4, 6, 7], 900), "4,6-7,...");
        assert_eq!(of(&[u32::MAX], 1), "4294967295");
    }

    #[test]
    fn a_request_without_ranks_means_all() {
        let range = |first, last| v1::RankRange { first, last };
        let of = |ranks: Vec<v1::RankRange>| chosen(&ranks);
        assert!(of(vec![]).is_some_and(|chosen| chosen.holds(Rank(u32::MAX))));
        let some = of(vec![range(0, 3), range(7, 7)]).expect("few enough");
        let held: Vec<u32> = (0..10).filter(|rank| some.holds(Rank(*rank))).collect();
        assert_eq!(held, [0, 1, 2, 3, 7]);
        assert_eq!(of(vec![range(0, 0); 9]), None);
    }
}
