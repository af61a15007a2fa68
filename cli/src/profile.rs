//! What samples tell: call paths in one line each, and the time between two answers.

use invivo_grpc::v1::{ProfileLine, ProfileNode, ProfileReply};
pub use invivo_report::profile::{functions, is_mpi, name, paths, without_inside};
use std::collections::{BTreeMap, BTreeSet};

/// A line for each path in which somebody was: functions joined by semicolons, the outermost
/// first, a blank, and the time in ns. Several programs that draw flame graphs read it.
pub fn folded(nodes: &[ProfileNode]) -> String {
    let mut text = String::new();
    for path in paths(nodes) {
        let own_ns = path.last().map_or(0, |at| nodes[*at].own_ns);
        if own_ns == 0 {
            continue;
        }
        // What separates frames must not be in one.
        let names = path
            .iter()
            .map(|at| name(&nodes[*at]).replace([';', '\n'], ":"));
        let names: Vec<String> = names.collect();
        text.push_str(&format!("{} {own_ns}\n", names.join(";")));
    }
    text
}

/// What came between two answers about the same ranks; nothing where not the same ones have
/// answered, or a sampler began anew: all that was ever seen of a rank would count.
pub fn difference(before: &ProfileReply, after: ProfileReply) -> Option<ProfileReply> {
    let is_same = before.sampled_ranks == after.sampled_ranks && before.without == after.without;
    if !is_same || after.samples < before.samples || after.elapsed_ns < before.elapsed_ns {
        return None;
    }
    let key = |nodes: &[ProfileNode], path: &[usize]| -> Vec<(String, String, String)> {
        let frame = |at: &usize| {
            let node = &nodes[*at];
            (
                node.kind.clone(),
                node.function.clone(),
                node.module.clone(),
            )
        };
        path.iter().map(frame).collect()
    };
    let old = paths(&before.nodes);
    let old: BTreeMap<_, &ProfileNode> = old
        .iter()
        .zip(&before.nodes)
        .map(|(path, node)| (key(&before.nodes, path), node))
        .collect();
    let new = paths(&after.nodes);
    let less = |node: &ProfileNode, path: &[usize]| {
        let Some(old) = old.get(&key(&after.nodes, path)) else {
            return node.clone();
        };
        let lines = node.lines.iter().map(|line| {
            let earlier = old.lines.iter().find(|earlier| earlier.text == line.text);
            ProfileLine {
                ns: line
                    .ns
                    .saturating_sub(earlier.map_or(0, |earlier| earlier.ns)),
                ..line.clone()
            }
        });
        let mut lines: Vec<ProfileLine> = lines.filter(|line| line.ns > 0).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.ns));
        ProfileNode {
            ns: node.ns.saturating_sub(old.ns),
            own_ns: node.own_ns.saturating_sub(old.own_ns),
            // Who has the most of all need not have the most of the difference.
            most_ns: 0,
            lines,
            ..node.clone()
        }
    };
    let mut nodes: Vec<ProfileNode> = Vec::new();
    for (node, path) in after.nodes.iter().zip(&new) {
        let mut node = less(node, path);
        // One that was left out before, or had another name, has no more than its caller.
        let above = path.iter().rev().nth(1).map(|caller| nodes[*caller].ns);
        node.ns = node.ns.min(above.unwrap_or(u64::MAX));
        node.own_ns = node.own_ns.min(node.ns);
        nodes.push(node);
    }
    // What nothing came to is left out, unless it is above something.
    let kept: BTreeSet<usize> = (nodes.iter().zip(&new))
        .filter(|(node, _)| node.ns > 0)
        .flat_map(|(_, path)| path.iter().copied())
        .collect();
    let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns);
    let own_ns: u64 = nodes.iter().map(|node| node.own_ns).sum();
    Some(ProfileReply {
        nodes: kept.into_iter().map(|at| nodes[at].clone()).collect(),
        samples: after.samples.saturating_sub(before.samples),
        samples_lost: after.samples_lost.saturating_sub(before.samples_lost),
        cpu_ns,
        elapsed_ns: after.elapsed_ns.saturating_sub(before.elapsed_ns),
        sampler_cpu_ns: after.sampler_cpu_ns.saturating_sub(before.sampler_cpu_ns),
        left_out_ns: cpu_ns.saturating_sub(own_ns),
        ..after
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn node(depth: u32, function: &str, (ns, own_ns): (u64, u64), line: &str) -> ProfileNode {
        let module = if function.contains("MPI_") {
            "libmpi.so.40"
        } else {
            "app"
        };
        ProfileNode {
            depth,
            kind: "function".into(),
            function: function.into(),
            module: module.into(),
            ns,
            own_ns,
            most_rank: 1,
            most_ns: ns,
            lines: vec![ProfileLine {
                text: line.into(),
                ns,
            }],
        }
    }

    pub fn reply() -> ProfileReply {
        let s = 1_000_000_000;
        ProfileReply {
            nodes: vec![
                node(0, "main", (10 * s, 0), "app.c:90"),
                node(1, "solve", (7 * s, s), "app.c:40"),
                node(2, "solve", (4 * s, 3 * s), "app.c:41"),
                node(3, "hot", (s, s), "app.c:12"),
                node(2, "hot", (2 * s, 2 * s), "app.c:12"),
                node(1, "PMPI_Recv", (3 * s, s), "+0x1"),
                node(2, "poll", (2 * s, 2 * s), "+0x2"),
            ],
            ranks: 4,
            sampled_ranks: 4,
            samples: 2510,
            cpu_ns: 10 * s,
            elapsed_ns: 12 * s,
            frequency_min: 251,
            frequency_max: 251,
            sampler_cpu_ns: s / 100,
            ..ProfileReply::default()
        }
    }

    #[test]
    fn paths_are_lines_that_flame_graphs_are_drawn_from() {
        let mut nodes = reply().nodes;
        nodes[3].function = "odd;name".into();
        without_inside(&mut nodes);
        assert_eq!(
            folded(&nodes),
            "main;solve 1000000000\n\
             main;solve;solve 3000000000\n\
             main;solve;solve;odd:name 1000000000\n\
             main;solve;hot 2000000000\n\
             main;MPI_Recv 3000000000\n"
        );
    }

    #[test]
    fn a_difference_has_what_came_between_and_its_callers() {
        let before = reply();
        let mut after = reply();
        for at in [0, 1, 4] {
            after.nodes[at].ns += 5;
        }
        after.nodes[4].own_ns += 5;
        after.nodes.push(node(2, "new", (3, 3), "app.c:3"));
        after.nodes[0].ns += 3;
        after.nodes[5].ns += 3;
        after.cpu_ns += 8;
        let between = difference(&before, after).expect("the same ranks");
        let told: Vec<(u32, &str, u64, u64)> = between
            .nodes
            .iter()
            .map(|node| (node.depth, node.function.as_str(), node.ns, node.own_ns))
            .collect();
        assert_eq!(
            told,
            [
                (0, "main", 8, 0),
                (1, "solve", 5, 0),
                (2, "hot", 5, 5),
                (1, "PMPI_Recv", 3, 0),
                (2, "new", 3, 3),
            ]
        );
        assert_eq!((between.cpu_ns, between.samples), (8, 0));
        let nothing = difference(&before, reply()).expect("the same ranks");
        assert_eq!((nothing.nodes, nothing.left_out_ns), (vec![], 0));
        // Another rank has come: all that was ever seen of it would count.
        let mut others = reply();
        (others.sampled_ranks, others.samples) = (5, 4000);
        assert_eq!(difference(&before, others), None);
        let mut anew = reply();
        anew.samples = 1;
        assert_eq!(difference(&before, anew), None);
    }
}
