use super::*;
use alloc::format;
use alloc::string::ToString;
use proptest::prelude::*;

fn function(name: &str) -> Frame {
    Frame::Function {
        module: "app".to_string(),
        name: name.to_string(),
    }
}

/// Samples of a rank, from numbers: few names, so that paths meet often.
type Said = Vec<(Vec<(u8, u8)>, u8)>;

pub fn of_rank() -> impl Strategy<Value = Said> {
    let path = prop::collection::vec((0..4u8, 0..6u8), 0..6);
    prop::collection::vec((path, 1..9u8), 0..12)
}

fn paths(said: &Said) -> Vec<(Path, u64)> {
    let frame = |&(name, line): &(u8, u8)| (function(&format!("f{name}")), line_of(line));
    let one = |(path, ns): &(Vec<(u8, u8)>, u8)| (path.iter().map(frame).collect(), u64::from(*ns));
    said.iter().map(one).collect()
}

fn line_of(line: u8) -> Option<String> {
    // Fewer than an answer lists, so that all of them are in it.
    (line < 3).then(|| format!("a.c:{line}"))
}

/// As a place answers for a rank.
pub fn profile_of(rank: u32, said: &Said) -> Profile {
    let mut profile = Profile::default();
    let mut tree = Tree::new();
    let mut seen = Sampled {
        frequency: (rank + 1, rank + 1),
        ..Sampled::default()
    };
    for (path, ns) in paths(said) {
        tree.add(&path, ns);
        seen.samples += 1;
        seen.cpu_ns += ns;
    }
    let (nodes, left_out_ns) = tree.into_nodes(Rank(rank), NODES_MAX);
    assert_eq!(left_out_ns, 0);
    let told = match rank % 4 {
        3 => Err(NoSamples::Off),
        _ => Ok((seen, nodes)),
    };
    let mut adding = Adding::default();
    adding.add(Rank(rank), told);
    merge(&mut profile, adding.profile());
    profile
}

/// The nodes by looking at every path of every rank for every prefix that there is.
fn naive(all: &[(u32, Said)]) -> Vec<Node> {
    let told: Vec<(u32, Vec<(Path, u64)>)> = all
        .iter()
        .filter(|(rank, _)| rank % 4 != 3)
        .map(|(rank, said)| (*rank, paths(said)))
        .collect();
    let frames =
        |path: &Path| -> Vec<Frame> { path.iter().map(|(frame, _)| frame.clone()).collect() };
    let mut prefixes: Vec<Vec<Frame>> = Vec::new();
    for (path, _) in told.iter().flat_map(|(_, paths)| paths) {
        let path = frames(path);
        prefixes.extend((1..=path.len()).map(|length| path[..length].to_vec()));
    }
    prefixes.sort();
    prefixes.dedup();
    let node = |prefix: Vec<Frame>| {
        let mut node = Node {
            depth: (prefix.len() - 1) as u8,
            frame: prefix[prefix.len() - 1].clone(),
            ns: 0,
            own_ns: 0,
            most: (Rank(0), 0),
            lines: BTreeMap::new(),
        };
        let mut by_rank: Vec<(Rank, u64)> = Vec::new();
        for (rank, paths) in &told {
            let mut of_rank = 0;
            for (path, ns) in paths
                .iter()
                .filter(|(path, _)| frames(path).starts_with(&prefix))
            {
                of_rank += ns;
                node.own_ns += if path.len() == prefix.len() { *ns } else { 0 };
                if let Some(line) = &path[prefix.len() - 1].1 {
                    *node.lines.entry(line.clone()).or_default() += ns;
                }
            }
            node.ns += of_rank;
            if of_rank > 0 {
                by_rank.push((Rank(*rank), of_rank));
            }
        }
        let most = by_rank.into_iter().max_by_key(|most| order(*most));
        node.most = most.expect("somebody was there");
        node
    };
    prefixes.into_iter().map(node).collect()
}

proptest! {
    #[test]
    fn nodes_are_those_that_every_prefix_has(
        all in prop::collection::vec(of_rank(), 1..8)
    ) {
        let all: Vec<(u32, Said)> = (0..).zip(all).collect();
        let mut into = Profile::default();
        for (rank, said) in &all {
            merge(&mut into, profile_of(*rank, said));
        }
        prop_assert_eq!(&into.nodes, &naive(&all));
        prop_assert_eq!(into.ranks as usize, all.len());
        let off = into.without.get(&NoSamples::Off).map_or(0, |of| of.ranks);
        prop_assert_eq!(into.sampled + off, into.ranks);
    }

    /// Whatever was cut where: what is in no node's own time is told as left out, once.
    #[test]
    fn all_time_is_some_nodes_own_or_left_out(
        all in prop::collection::vec(of_rank(), 1..10),
        nodes_max in 1..8usize,
    ) {
        let mut into = Profile::default();
        let mut cpu_ns = 0;
        for pair in (0..).zip(&all).collect::<Vec<_>>().chunks(2) {
            let mut adding = Adding::default();
            for (rank, said) in pair {
                let one = profile_of(4 * rank, said);
                cpu_ns += one.seen.cpu_ns;
                adding.add(Rank(4 * rank), Ok((one.seen, one.nodes)));
            }
            merge_within(nodes_max, &mut into, adding.profile_within(nodes_max));
        }
        let own: u64 = into.nodes.iter().map(|node| node.own_ns).sum();
        prop_assert!(into.nodes.len() <= nodes_max);
        prop_assert_eq!((into.seen.cpu_ns, own + into.left_out_ns), (cpu_ns, cpu_ns));
    }

    /// What is left out is of nodes with less time than any that stays, and nothing is counted
    /// twice.
    #[test]
    fn nodes_with_the_least_time_are_left_out(
        all in prop::collection::vec(of_rank(), 1..6),
        nodes_max in 1..12usize,
    ) {
        let all: Vec<(u32, Said)> = (0..).zip(all).filter(|(rank, _)| rank % 4 != 3).collect();
        let mut tree = Tree::new();
        let mut whole = 0;
        for (path, ns) in all.iter().flat_map(|(_, said)| paths(said)) {
            tree.add(&path, ns);
            whole += if path.is_empty() { 0 } else { ns };
        }
        let every = tree.clone().list();
        let (kept, left_out_ns) = tree.nodes_within(nodes_max);
        prop_assert_eq!(kept.len(), every.len().min(nodes_max));
        let least = kept.iter().map(|node| node.ns).min().unwrap_or(0);
        let more = every.iter().filter(|node| node.ns > least).count();
        prop_assert!(more <= kept.len());
        let own: u64 = kept.iter().map(|node| node.own_ns).sum();
        prop_assert_eq!(own + left_out_ns, whole);
    }
}

#[test]
fn lines_with_the_most_time_stay() {
    let mut tree = Tree::new();
    for line in 0..1000u64 {
        let path = [(function("hot"), Some(format!("a.c:{line}")))];
        tree.add(&path, if line == 77 { 1000 } else { line % 7 + 1 });
        tree.add(&path, 1);
    }
    let (nodes, _) = tree.into_nodes(Rank(5), NODES_MAX);
    assert_eq!(nodes[0].lines.len(), LINES_MAX);
    assert_eq!(nodes[0].lines.get("a.c:77"), Some(&1001));
    assert_eq!(nodes[0].most, (Rank(5), nodes[0].ns));
}

#[test]
fn a_path_deeper_than_may_be_keeps_its_time() {
    let mut tree = Tree::new();
    let path: Path = (0..300)
        .map(|at| (function(&format!("f{at}")), None))
        .collect();
    tree.add(&path, 7);
    let (nodes, _) = tree.into_nodes(Rank(0), NODES_MAX);
    assert_eq!(nodes.len(), DEPTH_MAX);
    let own: u64 = nodes.iter().map(|node| node.own_ns).sum();
    assert_eq!((nodes[0].ns, own), (7, 7));
}
