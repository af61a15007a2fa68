use super::*;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use invivo_proto::control::stacks::{DEPTH_MAX, UnstoppedReason};
use proptest::prelude::*;

fn function(name: &str) -> Frame {
    Frame::Function {
        module: "app".to_string(),
        name: name.to_string(),
    }
}

/// A path of functions, each called from its own line.
fn path(names: &[&str]) -> Path {
    names
        .iter()
        .map(|name| (function(name), Some(format!("{name}.c:1"))))
        .collect()
}

fn thread(path: Path) -> Thread {
    Thread {
        way: Way::Stopped,
        path,
        stop_ns: 1000,
        unnamed: false,
        no_python: None,
    }
}

/// What a place says of its ranks, from numbers: frames of two files with few names, so that paths
/// meet often.
type Said = Vec<Vec<(Vec<(u8, u8)>, u8)>>;

pub fn of_place() -> impl Strategy<Value = Said> {
    let path = prop::collection::vec((0..4u8, 0..7u8), 0..5);
    prop::collection::vec(prop::collection::vec((path, 0..3u8), 1..4), 0..6)
}

/// The ranks of a place, which are no other place's, with what is seen of them.
pub fn ranks_of(place: usize, said: &Said) -> Vec<(Rank, Vec<Thread>)> {
    let ranks = said.iter().enumerate().map(|(at, threads)| {
        let threads = threads.iter().map(|(path, way)| Thread {
            way: match way {
                0 => Way::Stopped,
                1 => Way::Asleep,
                _ => Way::Missing(UnstoppedReason::Silent),
            },
            path: if *way == 2 {
                Path::new()
            } else {
                let frame = |&(name, line): &(u8, u8)| match name {
                    3 => (Frame::Lost, None),
                    _ => (function(&format!("f{name}")), Some(format!("a.c:{line}"))),
                };
                path.iter().map(frame).collect()
            },
            stop_ns: u64::from(*way),
            unnamed: path.len() == 2,
            no_python: (path.len() == 3).then_some(NoPython::Unreadable),
        });
        (Rank((place * 16 + at) as u32), threads.collect())
    });
    ranks.collect()
}

/// As a place answers.
pub fn stacks_of(place: usize, said: &Said) -> Stacks {
    let mut stacks = Stacks::default();
    for (rank, threads) in ranks_of(place, said) {
        add(&mut stacks, rank, threads, 1);
    }
    stacks
}

/// The nodes by looking at every path of every thread for every prefix that there is.
fn naive(nodes_max: usize, all: &[(Rank, Vec<Thread>)]) -> Vec<Node> {
    let paths: Vec<(Rank, &Path)> = all
        .iter()
        .flat_map(|(rank, threads)| threads.iter().map(|thread| (*rank, &thread.path)))
        .collect();
    let frames = |path: &[(Frame, Option<String>)]| -> Vec<Frame> {
        path.iter().map(|(frame, _)| frame.clone()).collect()
    };

    let mut prefixes: Vec<Vec<Frame>> = paths
        .iter()
        .flat_map(|(_, path)| (1..=path.len()).map(|length| frames(&path[..length])))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    prefixes.sort_by_key(|prefix| (prefix.len(), prefix.clone()));
    prefixes.truncate(nodes_max);
    prefixes.sort();
    let node = |prefix: Vec<Frame>| {
        let depth = prefix.len() - 1;
        let through: Vec<&(Rank, &Path)> = paths
            .iter()
            .filter(|(_, path)| path.len() > depth && frames(&path[..=depth]) == prefix)
            .collect();
        let ranks: BTreeSet<Rank> = through.iter().map(|(rank, _)| *rank).collect();
        let mut lines = BTreeMap::new();
        for (_, path) in &through {
            if let Some(line) = &path[depth].1 {
                *lines.entry(line.clone()).or_insert(0) += 1;
            }
        }
        Node {
            depth: depth as u8,
            frame: prefix[depth].clone(),
            ranks: ranks.len() as u32,
            threads: through.len() as u64,
            ends: through
                .iter()
                .filter(|(_, path)| path.len() == depth + 1)
                .count() as u64,
            named: ranks.into_iter().take(NAMED_MAX).collect(),
            lines: lines.into_iter().take(LINES_MAX).collect(),
        }
    };

    prefixes.into_iter().map(node).collect()
}

fn merged(nodes_max: usize, mut all: Vec<Stacks>, shuffle: &[usize]) -> Stacks {
    for pick in shuffle {
        if all.len() > 1 {
            let from = all.swap_remove(pick % all.len());
            let into = pick / 7 % all.len();
            merge_within(nodes_max, &mut all[into], from);
        }
    }
    all.into_iter().fold(Stacks::default(), |mut into, from| {
        merge_within(nodes_max, &mut into, from);
        into
    })
}

proptest! {
    /// Any tree of processes makes the tree that one look at all paths makes, also where it is cut.
    #[test]
    fn any_tree_gives_the_nodes_of_the_naive_twin(
        said in prop::collection::vec(of_place(), 1..6),
        shuffle in prop::collection::vec(0usize..1000, 6),
        nodes_max in prop_oneof![Just(NODES_MAX), 0usize..24],
    ) {
        let places: Vec<Stacks> = said
            .iter()
            .enumerate()
            .map(|(place, said)| {
                let mut stacks = Stacks::default();
                for (rank, threads) in ranks_of(place, said) {
                    add_within(nodes_max, &mut stacks, rank, threads, 1);
                }
                stacks
            })
            .collect();
        let all: Vec<_> = said
            .iter()
            .enumerate()
            .flat_map(|(place, said)| ranks_of(place, said))
            .collect();
        let stacks = merged(nodes_max, places, &shuffle);
        prop_assert_eq!(&stacks.nodes, &naive(nodes_max, &all));
        let threads = all.iter().map(|(_, threads)| threads.len() as u64).sum::<u64>();
        prop_assert_eq!(stacks.ranks as usize, all.len());
        prop_assert_eq!(stacks.left_out as usize, all.len());
        prop_assert_eq!(stacks.ways.values().map(|whose| whose.threads).sum::<u64>(), threads);
    }

    /// Nothing is lost on the way down: whoever is in a node ends there, is in one below, or in one
    /// that was cut.
    #[test]
    fn counts_are_conserved(
        said in prop::collection::vec(of_place(), 1..6),
        nodes_max in 0usize..24,
    ) {
        let all: Vec<Stacks> = said
            .iter()
            .enumerate()
            .map(|(place, said)| stacks_of(place, said))
            .collect();
        let whole = merged(NODES_MAX, all.clone(), &[]);
        let is_cut = |stacks: &Stacks| {
            stacks.nodes.iter().enumerate().any(|(at, node)| {
                let below = stacks.nodes[at + 1..]
                    .iter()
                    .take_while(|below| below.depth > node.depth);
                let callees: u64 = below
                    .filter(|below| below.depth == node.depth + 1)
                    .map(|below| below.threads)
                    .sum();
                assert!(node.ends + callees <= node.threads);
                node.ends + callees < node.threads
            })
        };

        prop_assert!(!is_cut(&whole));
        let cut = merged(nodes_max, all, &[]);
        prop_assert_eq!(cut.nodes.len(), whole.nodes.len().min(nodes_max));
        let roots = |stacks: &Stacks| stacks.nodes.iter().filter(|node| node.depth == 0).count();
        prop_assert_eq!(
            is_cut(&cut) || roots(&cut) < roots(&whole),
            cut.nodes.len() < whole.nodes.len()
        );
    }

    /// Lists that nobody sends, of any depths, make a tree of bounded depth.
    #[test]
    fn any_list_of_nodes_is_a_tree(depths in prop::collection::vec(any::<u8>(), 0..400)) {
        let nodes = depths.iter().map(|depth| Node {
            depth: *depth,
            frame: function("f"),
            ranks: 1,
            threads: u64::MAX,
            ends: 0,
            named: vec![Rank(1)],
            lines: BTreeMap::new(),
        });
        let mut stacks = Stacks::default();
        merge(&mut stacks, Stacks { nodes: nodes.collect(), ..Stacks::default() });
        prop_assert!(stacks.nodes.iter().all(|node| usize::from(node.depth) < DEPTH_MAX));
    }
}

#[test]
fn ranks_part_where_their_paths_do() {
    let mut stacks = Stacks::default();
    add(
        &mut stacks,
        Rank(0),
        vec![thread(path(&["main", "solve"]))],
        0,
    );
    add(
        &mut stacks,
        Rank(1),
        vec![thread(path(&["main", "solve", "dot"]))],
        0,
    );
    add(
        &mut stacks,
        Rank(2),
        vec![thread(path(&["main", "write"]))],
        0,
    );
    let seen: Vec<_> = stacks
        .nodes
        .iter()
        .map(|node| (node.depth, node.frame.clone(), node.ranks, node.ends))
        .collect();
    assert_eq!(
        seen,
        [
            (0, function("main"), 3, 0),
            (1, function("solve"), 2, 1),
            (2, function("dot"), 1, 1),
            (1, function("write"), 1, 1),
        ]
    );
    assert_eq!(stacks.nodes[0].named, [Rank(0), Rank(1), Rank(2)]);
    assert_eq!(stacks.longest_stop, Some((1000, Rank(0))));
}

#[test]
fn a_deep_recursion_is_told_without_its_middle() {
    let names: Vec<String> = (0..1000).map(|depth| format!("f{depth}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stacks = Stacks::default();
    add(&mut stacks, Rank(0), vec![thread(path(&names))], 0);
    let frames: Vec<&Frame> = stacks.nodes.iter().map(|node| &node.frame).collect();
    assert_eq!(frames.len(), DEPTH_MAX);
    assert_eq!(
        (frames[0], frames[DEPTH_MAX - 1]),
        (&function("f0"), &function("f999"))
    );
    assert_eq!(
        frames
            .iter()
            .filter(|frame| ***frame == Frame::LeftOut)
            .count(),
        1
    );
}

#[test]
fn long_names_end_in_dots() {
    let long = "ä".repeat(FUNCTION_BYTES_MAX);
    let mut stacks = Stacks::default();
    add(&mut stacks, Rank(0), vec![thread(path(&[&long]))], 0);
    let Frame::Function { name, .. } = &stacks.nodes[0].frame else {
        panic!("{stacks:?}")
    };
    assert!(
        name.len() <= FUNCTION_BYTES_MAX && name.ends_with("ä..."),
        "{name}"
    );
}
