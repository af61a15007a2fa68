//! The layout that tool processes find, against a naive twin that has a table of all processes.

use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::layout::{FanIn, Layout, NodeCount, Policy, Role, RollCallError};
use invivo_tbon::node::Position;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A job: the node of every process, and which of a node's processes is the tool.
#[derive(Clone, Debug)]
struct Job {
    /// World ranks by node, ascending.
    nodes: Vec<Vec<u32>>,
    /// The tool process of each.
    tools: Vec<u32>,
    total: u32,
}

impl Job {
    /// Of nodes with these numbers of processes, in the order that a launcher gave.
    fn new(node_of: &[usize], pick: &[usize]) -> Job {
        let mut nodes = vec![Vec::new(); node_of.iter().max().map_or(0, |most| most + 1)];
        for (world, &node) in node_of.iter().enumerate() {
            nodes[node].push(world as u32);
        }
        nodes.retain(|node| !node.is_empty());
        let tools = nodes.iter().zip(pick.iter().cycle());
        let tools = tools.map(|(node, pick)| node[node.len() - 1 - pick % node.len()]);
        Job {
            tools: tools.collect(),
            nodes,
            total: node_of.len() as u32,
        }
    }

    fn ranks_on(&self, node: usize) -> Vec<u32> {
        let tool = self.tools[node];
        self.nodes[node]
            .iter()
            .copied()
            .filter(|&world| world != tool)
            .collect()
    }

    fn counts(&self) -> Vec<NodeCount> {
        let count = |node| NodeCount::of(WorldRank(self.tools[node]), &self.ranks_on(node));
        (0..self.nodes.len())
            .map(|node| count(node).expect("it has ranks"))
            .collect()
    }

    /// What the tool process of a node finds.
    fn found(&self, node: usize, fan_in: FanIn) -> Result<Layout, RollCallError> {
        let (me, here) = (WorldRank(self.tools[node]), self.ranks_on(node));
        Layout::found(self.total, fan_in, self.counts(), me, &here)
    }
}

/// The tables: the number of each rank, its node, and the order of the places.
struct Naive {
    rank_of: BTreeMap<u32, u32>,
    node_of_rank: Vec<usize>,
    places: Vec<usize>,
}

fn naive(job: &Job) -> Naive {
    let mut rank_of = BTreeMap::new();
    let mut node_of_rank = Vec::new();
    for world in 0..job.total {
        if !job.tools.contains(&world) {
            rank_of.insert(world, node_of_rank.len() as u32);
            let node = job.nodes.iter().position(|node| node.contains(&world));
            node_of_rank.push(node.expect("it is on a node"));
        }
    }
    let mut places: Vec<usize> = (0..job.nodes.len()).collect();
    places.sort_by_key(|&node| job.nodes[node].iter().max().copied());
    Naive {
        rank_of,
        node_of_rank,
        places,
    }
}

/// Nodes with two to seven processes, in any order; the tool the last one, or any.
fn jobs() -> impl Strategy<Value = Job> {
    let sizes = prop::collection::vec(2usize..8, 1..14);
    let orders = (
        sizes,
        prop::sample::select(vec!["block", "cyclic", "any"]),
        any::<u64>(),
    );
    let picks = prop_oneof![Just(vec![0]), prop::collection::vec(0usize..8, 1..14)];
    (orders, picks).prop_map(|((sizes, order, seed), picks)| {
        let mut node_of: Vec<usize> = match order {
            "block" => (0..sizes.len())
                .flat_map(|node| vec![node; sizes[node]])
                .collect(),
            _ => (0..8)
                .flat_map(|turn| (0..sizes.len()).map(move |node| (turn, node)))
                .filter(|&(turn, node)| turn < sizes[node])
                .map(|(_, node)| node)
                .collect(),
        };
        if order == "any" {
            let mut state = seed | 1;
            for at in (1..node_of.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                node_of.swap(at, (state >> 33) as usize % (at + 1));
            }
        }
        Job::new(&node_of, &picks)
    })
}

proptest! {
    #[test]
    fn found_is_what_tables_say(job in jobs(), members in 2u32..6) {
        let fan_in = FanIn::one_per_node(members).unwrap();
        let naive = naive(&job);
        for node in 0..job.nodes.len() {
            let layout = job.found(node, fan_in).unwrap();
            prop_assert!(layout.is_found());
            prop_assert_eq!(layout.total(), job.total);
            prop_assert_eq!(layout.app() as usize, naive.rank_of.len());
            prop_assert_eq!(layout.places() as usize, job.nodes.len());
            prop_assert_eq!(layout.nodes(), 0);
            let most = job.nodes.iter().map(|node| node.len() as u32 - 1).max();
            prop_assert_eq!(Some(layout.ranks_per_place()), most);
            for world in 0..job.total {
                let rank = naive.rank_of.get(&world).copied().map(Rank);
                prop_assert_eq!(layout.rank_of(WorldRank(world)), rank);
                match rank {
                    Some(rank) => {
                        prop_assert_eq!(layout.world_of(rank), WorldRank(world));
                        let place = WorldRank(job.tools[naive.node_of_rank[rank.0 as usize]]);
                        let known = layout.known_place_of(rank);
                        prop_assert!(known.is_none_or(|known| known == place));
                        let is_here = job.nodes[node].contains(&world);
                        prop_assert!(!is_here || known == Some(place));
                    }
                    None => {
                        let index = naive.places.iter().position(|&node| job.tools[node] == world);
                        let index = index.unwrap() as u32;
                        let role = Role::Place { index };
                        prop_assert_eq!(layout.role(WorldRank(world)), Some(role));
                        prop_assert_eq!(layout.place(index), WorldRank(world));
                        let ranks = job.nodes[naive.places[index as usize]].len() as u32 - 1;
                        prop_assert_eq!(layout.ranks_below(WorldRank(world)), ranks);
                    }
                }
            }
            let here = layout.ranks_at(WorldRank(job.tools[node])).unwrap();
            let here: Vec<u32> = here.iter().map(|rank| rank.0).collect();
            let worlds = job.ranks_on(node);
            let ranks: Vec<u32> = worlds.iter().map(|world| naive.rank_of[world]).collect();
            prop_assert_eq!(here, ranks);
            // The root is on the node of the last process.
            let last = job.nodes.iter().position(|node| node.contains(&(job.total - 1)));
            let root = layout.process_of(layout.root());
            prop_assert_eq!(root, Some(WorldRank(job.tools[last.unwrap()])));
        }
    }

    /// Above the places the tree is that of as many nodes with a rank each.
    #[test]
    fn the_upper_tree_is_that_of_equal_nodes(job in jobs(), members in 2u32..6) {
        let fan_in = FanIn::one_per_node(members).unwrap();
        let hosts = job.nodes.len() as u32;
        let equal = Layout::for_app(hosts, fan_in, Policy::PerNode { hosts }).unwrap();
        let layout = job.found(0, fan_in).unwrap();
        let beside = job.total - equal.total();
        let as_equal = |address: WorldRank| match layout.role(address) {
            Some(Role::Place { index }) => equal.place(index),
            _ => WorldRank(address.0 - beside),
        };
        prop_assert_eq!(layout.members(), equal.members() + beside);
        prop_assert_eq!(as_equal(layout.root()), equal.root());
        let mut held = Vec::new();
        for index in 0..hosts {
            let place = layout.place(index);
            let roles: Vec<_> = layout.roles(place).collect();
            let there: Vec<_> = equal.roles(equal.place(index)).collect();
            prop_assert_eq!(roles.len(), there.len());
            for ((address, role), (twin, its)) in roles.into_iter().zip(there) {
                prop_assert_eq!((as_equal(address), role), (twin, its));
                prop_assert_eq!(layout.height(address), equal.height(twin));
                prop_assert_eq!(layout.parent(address).map(as_equal), equal.parent(twin));
                prop_assert_eq!(layout.process_of(address), Some(place));
                prop_assert_eq!(layout.host_of(address), Some(index));
                if layout.height(address) > Some(1) {
                    let children = layout.children(address).map(as_equal);
                    let twins = equal.children(twin);
                    prop_assert_eq!(children.collect::<Vec<_>>(), twins.collect::<Vec<_>>());
                    let ranks = layout.children(address).map(|child| layout.ranks_below(child));
                    prop_assert_eq!(ranks.sum::<u32>(), layout.ranks_below(address));
                }
                held.push(address);
            }
            prop_assert!(Position::of(&layout, place).is_some());
        }
        held.sort();
        held.dedup();
        prop_assert_eq!(held.len() as u32, layout.members() - layout.app(), "each in one process");
        prop_assert_eq!(layout.ranks_below(layout.root()), layout.app());
    }

    /// Nodes in blocks are known everywhere, whatever their sizes.
    #[test]
    fn blocks_of_any_size_are_known(sizes in prop::collection::vec(2usize..8, 1..14)) {
        let blocks = (0..sizes.len()).flat_map(|node| vec![node; sizes[node]]);
        let node_of: Vec<usize> = blocks.collect();
        let job = Job::new(&node_of, &[0]);
        let layout = job.found(0, FanIn::default()).unwrap();
        let mut rank = 0;
        for (node, size) in sizes.iter().enumerate() {
            let place = WorldRank(job.tools[node]);
            let ranks = rank..rank + *size as u32 - 1;
            for rank in ranks.clone() {
                prop_assert_eq!(layout.known_place_of(Rank(rank)), Some(place));
            }
            prop_assert_eq!(layout.ranks_at(place), Some(ranks.clone().into()));
            prop_assert_eq!(layout.children(place).count(), ranks.len());
            rank = ranks.end;
        }
    }

    /// Whatever is said: an error or a layout.
    #[test]
    fn nonsense_is_refused(numbers in prop::collection::vec(prop::array::uniform4(0u32..9), 0..5)) {
        let nodes: Vec<NodeCount> = numbers.into_iter().map(NodeCount::from_numbers).collect();
        let total = nodes.iter().map(|node| node.ranks + 1).sum();
        if let Some(&one) = nodes.first() {
            let here: Vec<u32> = (one.lowest..=one.highest).collect();
            let (fan_in, me) = (FanIn::default(), WorldRank(one.tool));
            if let Ok(layout) = Layout::found(total, fan_in, nodes, me, &here) {
                prop_assert!(layout.process_of(layout.root()).is_some());
            }
        }
    }
}

#[test]
fn a_job_that_is_not_as_said_is_refused() {
    let job = Job::new(&[0, 0, 0, 1, 1], &[0]);
    let [a, b] = [0, 1].map(|node| job.counts()[node]);
    let fan_in = FanIn::default();
    let found = |total, nodes: &[NodeCount]| {
        Layout::found(total, fan_in, nodes.to_vec(), WorldRank(2), &[0, 1]).map(|_| ())
    };
    assert_eq!(found(5, &[b, a]), Ok(()));
    let sum = RollCallError::Sum {
        counted: 5,
        total: 6,
    };
    assert_eq!(found(6, &[a, b]), Err(sum));
    assert_eq!(found(2, &[b]), Err(RollCallError::Nonsense { tool: 4 }));
    for (me, here) in [
        (2, &[0][..]),
        (2, &[0, 3]),
        (2, &[0, 0]),
        (4, &[0, 1]),
        (1, &[0, 1]),
    ] {
        let refused = Layout::found(5, fan_in, vec![a, b], WorldRank(me), here);
        assert_eq!(refused.err(), Some(RollCallError::NotHere { tool: me }));
    }
    let twice = NodeCount { tool: 2, ..b };
    assert_eq!(
        found(5, &[a, twice]),
        Err(RollCallError::Nonsense { tool: 2 })
    );
    let beyond = NodeCount { highest: 9, ..b };
    assert_eq!(
        found(5, &[a, beyond]),
        Err(RollCallError::Nonsense { tool: 4 })
    );
    assert_eq!(NodeCount::of(WorldRank(3), &[]), None);
    let too_many = RollCallError::TooMany { total: u32::MAX };
    assert_eq!(found(u32::MAX, &[a, b]), Err(too_many));
}
