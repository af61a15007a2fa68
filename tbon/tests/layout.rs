//! The layout against a naive twin that writes the whole tree down.

use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::layout::{FAN_IN_LIST_MAX, FanIn, FanInError, Layout, LayoutError, Policy, Role};
use proptest::prelude::*;

/// One process of the written-down tree.
#[derive(Default)]
struct Entry {
    role: Option<Role>,
    host: u32,
    height: u32,
    parent: Option<u32>,
    children: Vec<u32>,
    ranks: Vec<u32>,
}

#[derive(Default)]
struct Tree {
    entries: Vec<Entry>,
    /// Members per layer.
    counts: Vec<u32>,
}

impl Tree {
    /// Puts a layer over `below` by chunks of it, and gives its processes.
    fn layer(&mut self, below: &[u32], height: u32, fan: u32, host: u32) -> Vec<u32> {
        let mut layer = Vec::new();
        for chunk in below.chunks(fan as usize) {
            let ranks = chunk
                .iter()
                .flat_map(|&child| self.entries[child as usize].ranks.clone());
            let ranks = ranks.collect();
            let me = self.add(height, host, chunk.to_vec(), ranks);
            for &child in chunk {
                self.entries[child as usize].parent = Some(me);
            }
            layer.push(me);
        }
        layer
    }

    fn add(&mut self, height: u32, host: u32, children: Vec<u32>, ranks: Vec<u32>) -> u32 {
        self.counts
            .resize(self.counts.len().max(height as usize + 1), 0);
        let index = self.counts[height as usize];
        self.counts[height as usize] += 1;
        let role = match height {
            0 => Role::Application(Rank(index)),
            1 => Role::Place { index },
            layer => Role::Node { layer, index },
        };
        let ranks = if height == 0 { vec![index] } else { ranks };
        self.entries.push(Entry {
            role: Some(role),
            host,
            height,
            parent: None,
            children,
            ranks,
        });
        self.entries.len() as u32 - 1
    }
}

/// Each host by itself up to its head, then the layers over the heads.
fn naive(app: u32, fans: &[u32], hosts: u32) -> Tree {
    let fan = |height: u32| {
        *fans
            .get(height as usize - 1)
            .unwrap_or(fans.last().unwrap())
    };
    let mut tree = Tree::default();
    let (mut heads, mut height) = (Vec::new(), 0);
    for host in 0..hosts {
        let mut below: Vec<u32> = (0..app / hosts)
            .map(|_| tree.add(0, host, vec![], vec![]))
            .collect();
        height = 0;
        while height == 0 || below.len() > 1 {
            height += 1;
            below = tree.layer(&below, height, fan(height), host);
        }
        heads.extend(below);
    }
    while heads.len() > 1 || height < 2 {
        height += 1;
        heads = tree.layer(&heads, height, fan(height), hosts - 1);
    }
    tree.entries.last_mut().expect("a tree has a root").role = Some(Role::Root);
    tree
}

fn policy(hosts: u32) -> Policy {
    // One host is written in both ways.
    if hosts == 1 {
        Policy::Tail
    } else {
        Policy::PerNode { hosts }
    }
}

/// Ranks per place, then members per node.
fn fans() -> impl Strategy<Value = Vec<u32>> {
    (1u32..12, prop::collection::vec(2u32..12, 1..4))
        .prop_map(|(ranks, nodes)| [vec![ranks], nodes].concat())
}

proptest! {
    #[test]
    fn layout_is_the_tree_written_down(
        ranks in 1u32..60,
        hosts in 1u32..12,
        fans in fans(),
        one_node: bool,
    ) {
        let app = ranks * hosts;
        let policy = if one_node && hosts == 1 {
            Policy::PerNode { hosts: 1 }
        } else {
            policy(hosts)
        };
        let layout = Layout::for_app(app, FanIn::new(&fans).unwrap(), policy).unwrap();
        let tree = naive(app, &fans, hosts);
        prop_assert_eq!(layout.total() as usize, tree.entries.len());
        prop_assert_eq!(layout.root().0 as usize, tree.entries.len() - 1);
        prop_assert_eq!(
            layout.layers().map(|layer| layer.members).collect::<Vec<_>>(),
            tree.counts
        );
        prop_assert_eq!(layout.app() + layout.places() + layout.nodes(), layout.total());
        prop_assert_eq!(layout.app(), app);
        for (world, entry) in tree.entries.iter().enumerate() {
            let world = WorldRank(world as u32);
            prop_assert_eq!(layout.role(world), entry.role);
            prop_assert_eq!(layout.host_of(world), Some(entry.host));
            prop_assert_eq!(layout.height(world), Some(entry.height));
            prop_assert_eq!(layout.parent(world).map(|parent| parent.0), entry.parent);
            prop_assert_eq!(
                &layout.children(world).map(|child| child.0).collect::<Vec<_>>(),
                &entry.children
            );
            prop_assert_eq!(&layout.ranks_of(world).collect::<Vec<_>>(), &entry.ranks);
            match entry.role {
                Some(Role::Application(rank)) => {
                    prop_assert_eq!(Some(layout.place_of(rank).0), entry.parent);
                    prop_assert_eq!(layout.world_of(rank), world);
                    prop_assert_eq!(layout.rank_of(world), Some(rank));
                }
                Some(Role::Place { index }) => prop_assert_eq!(layout.place(index), world),
                _ => prop_assert_eq!(layout.rank_of(world), None),
            }
        }
        let beyond = WorldRank(layout.total());
        prop_assert_eq!(
            (layout.role(beyond), layout.host_of(beyond), layout.parent(beyond)),
            (None, None, None)
        );
    }

    /// What a launcher does by blocks: every host the same number, the last one the upper nodes as
    /// well.
    #[test]
    fn hosts_are_blocks_of_processes(ranks in 1u32..60, hosts in 1u32..12, fans in fans()) {
        let fans = FanIn::new(&fans).unwrap();
        let layout = Layout::for_app(ranks * hosts, fans, policy(hosts)).unwrap();
        for world in 0..layout.total() {
            let block = (world / layout.processes_per_host()).min(hosts - 1);
            prop_assert_eq!(layout.host_of(WorldRank(world)), Some(block));
        }
    }

    #[test]
    fn text_tells_the_whole_layout(ranks in 1u32..60, hosts in 1u32..12, fans in fans()) {
        let fans = FanIn::new(&fans).unwrap();
        let layout = Layout::for_app(ranks * hosts, fans, policy(hosts)).unwrap();
        prop_assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
    }

    #[test]
    fn any_text_is_a_layout_or_an_error(
        text in "[0-9:,=a-z]{0,20}\
                 |[0-9]{1,10}:[0-9]{1,10}(,[0-9]{1,10}){0,9}:(tail|nodes=[0-9]{1,10})",
    ) {
        if let Ok(layout) = text.parse::<Layout>() {
            prop_assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
        }
    }

    #[test]
    fn total_and_ranks_are_inverse(total in 0u32..300, hosts in 1u32..5, fans in fans()) {
        let (fan_in, policy) = (FanIn::new(&fans).unwrap(), policy(hosts));
        let total_of = |ranks: u32| naive(ranks * hosts, &fans, hosts).entries.len() as u32;
        // Each rank more is at least one process more.
        let totals: Vec<u32> = (1..).map(total_of).take_while(|&of| of <= total + 40).collect();
        prop_assert!(totals.is_sorted_by(|one, next| one < next));
        let fitting = totals.binary_search(&total).ok().map(|at| (at as u32 + 1) * hosts);
        match Layout::of_total(total, fan_in, policy, None) {
            Ok(layout) => {
                prop_assert_eq!(Some(layout.app()), fitting);
                prop_assert_eq!((layout.total(), layout.fan_in()), (total, fan_in));
            }
            Err(LayoutError::TooFew { smallest, .. }) => {
                prop_assert!(total < totals[0]);
                prop_assert_eq!((smallest.total, smallest.ranks), (totals[0], hosts));
            }
            Err(LayoutError::NoFit { below, above, app, .. }) => {
                prop_assert_eq!(fitting, None);
                let at = totals.partition_point(|&of| of < total);
                let above = above.unwrap();
                prop_assert_eq!((below.total, below.ranks), (totals[at - 1], at as u32 * hosts));
                prop_assert_eq!((above.total, above.ranks), (totals[at], (at as u32 + 1) * hosts));
                if let Some(app) = app {
                    prop_assert_eq!(
                        Layout::of_total(total, fan_in, policy, Some(app)).unwrap().total(),
                        total
                    );
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    /// Ranks given by hand: exactly those, in places as even as the total allows, or an error.
    #[test]
    fn ranks_given_by_hand_are_met_exactly(
        total in 0u32..200,
        ranks in 1u32..60,
        hosts in 1u32..4,
        fans in fans(),
    ) {
        let (app, policy) = (ranks * hosts, policy(hosts));
        let with = |width: u32| {
            let tree = naive(app, &[&[width], &fans[1..]].concat(), hosts);
            tree.entries.len() as u32
        };
        let widths: Vec<u32> = (1..=ranks).filter(|&width| with(width) == total).collect();
        let usual = with(fans[0]);
        match Layout::of_total(total, FanIn::new(&fans).unwrap(), policy, Some(app)) {
            Ok(layout) => {
                prop_assert_eq!((layout.app(), layout.total()), (app, total));
                let width = if usual == total { fans[0] } else { widths[0] };
                prop_assert_eq!(layout.fan_in().ranks_per_place(), width);
                prop_assert_eq!(layout.fan_in().of_layer(2), fans[1]);
            }
            Err(LayoutError::NoFitForApp { usual: told, .. }) => {
                prop_assert!(widths.is_empty() && usual != total);
                prop_assert_eq!(told, usual);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn the_last_number_repeats_and_nodes_have_a_default() {
    let fan_in: FanIn = "2,3".parse().unwrap();
    let layers: Vec<u32> = (1..6).map(|layer| fan_in.of_layer(layer)).collect();
    assert_eq!(layers, [2, 3, 3, 3, 3]);
    assert_eq!("7".parse::<FanIn>().unwrap().to_string(), "7,16");
    assert_eq!("node".parse::<FanIn>(), Ok(FanIn::default()));
    assert_eq!("node, 8".parse::<FanIn>(), FanIn::one_per_node(8));
    assert_eq!(FanIn::default().to_string(), "node,16");
    for broken in ["8,node", "nodes", "4294967295"] {
        assert_eq!(broken.parse::<FanIn>(), Err(FanInError::Text), "{broken}");
    }
}

#[test]
fn layouts_read_as_they_are_written() {
    let text = |text: &str| text.parse::<Layout>().map(|layout| layout.total());
    assert_eq!(text("8:2,2:tail"), Ok(8 + 4 + 2 + 1));
    assert_eq!(text("8:4:tail"), Ok(11));
    assert_eq!(text("8:2,2:nodes=2"), Ok(2 * (4 + 2 + 1) + 1));
    assert_eq!(text("8:4,16:nodes=2"), Ok(2 * (4 + 1) + 1));
    for broken in [
        "",
        "8",
        "8:4",
        "8:4:tail:2",
        "x:4:tail",
        "8:4:nodes",
        "8:4:nodes=x",
        "8:4:pack",
    ] {
        assert_eq!(text(broken), Err(LayoutError::Text), "{broken}");
    }
    assert_eq!(text("8:4,:tail"), Err(LayoutError::FanIn(FanInError::Text)));
    assert_eq!(text("8:4:nodes=0"), Err(LayoutError::NoHosts));
}

#[test]
fn errors_say_what_why_and_the_next_command() {
    let four = FanIn::new(&[4]).unwrap();
    let of_total = |total, app| {
        Layout::of_total(total, four, Policy::Tail, app)
            .unwrap_err()
            .to_string()
    };
    let on_two = |total, app| {
        Layout::of_total(total, four, Policy::PerNode { hosts: 2 }, app)
            .unwrap_err()
            .to_string()
    };
    let for_app = |app, fan_in: &[u32]| {
        FanIn::new(fan_in)
            .map_err(LayoutError::from)
            .and_then(|fan_in| Layout::for_app(app, fan_in, Policy::Tail))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        of_total(7, None),
        "7 processes cannot be shared out: with fan-in 4,16 no number of ranks needs 7; start 6 (4 \
         ranks) or 8 (5 ranks) \
         processes, or keep 7 and say `--app 4`"
    );
    assert_eq!(
        on_two(12, None),
        "12 processes cannot be shared out: with fan-in 4,16 on 2 nodes no number of ranks needs \
         12; start 11 (8 ranks) or \
         17 (10 ranks) processes, or say how many ranks by `--app N`"
    );
    assert_eq!(
        of_total(22, Some(16)),
        "22 processes do not fit `--app 16`: 6 are left beside 16 ranks, and no even sharing of \
         the ranks needs exactly as \
         many; start 21 processes (fan-in 4,16)"
    );
    assert_eq!(
        on_two(12, Some(7)),
        "7 ranks cannot be shared evenly by 2 nodes; start 6 or 8 ranks"
    );
    assert!(of_total(2, None).contains("start at least 3"));
    assert!(
        on_two(4, None)
            .contains("its tool place on each node and the root need 5; start at least 5")
    );
    assert!(for_app(0, &[4]).contains("at least 1"));
    assert!(for_app(1, &[0]).contains("fan-in of 1 or more"));
    assert!(for_app(4, &[4, 1]).contains("give 2 or more"));
    assert!(for_app(4, &[2; FAN_IN_LIST_MAX + 1]).contains("9 numbers is too long"));
    assert!(for_app(u32::MAX, &[4]).contains("at most 2147483647"));
    assert!(of_total(u32::MAX, None).contains("at most 2147483647"));
    let many = Policy::PerNode { hosts: 1000 };
    let most = Layout::of_total(i32::MAX as u32, four, many, None).unwrap_err();
    assert!(
        matches!(most, LayoutError::NoFit { above: None, .. }),
        "{most}"
    );
    assert!(
        most.to_string()
            .ends_with("ranks) processes, or say how many ranks by `--app N`")
    );
}

#[test]
fn the_layers_that_the_manual_shows() {
    let counts = |fan_in: &str, ranks| {
        let layout = Layout::for_app(ranks, fan_in.parse().unwrap(), Policy::Tail).unwrap();
        (layout.places(), layout.nodes() - 1)
    };
    let rows = ["4", "8", "2,2"].map(|fan_in| [8, 64, 1024].map(|ranks| counts(fan_in, ranks)));
    assert_eq!(
        rows,
        [
            [(2, 0), (16, 0), (256, 16)],
            [(1, 0), (8, 0), (128, 8)],
            [(4, 2), (32, 30), (512, 510)]
        ]
    );
}

#[test]
fn a_million_ranks_cost_no_memory() {
    let layout = Layout::for_app(1 << 20, FanIn::new(&[16]).unwrap(), Policy::Tail).unwrap();
    assert_eq!(
        layout
            .layers()
            .map(|layer| layer.members)
            .collect::<Vec<_>>(),
        [1 << 20, 1 << 16, 1 << 12, 256, 16, 1]
    );
    assert_eq!(layout.ranks_of(layout.root()), 0..1 << 20);
    assert!(size_of::<Layout>() <= 96);
    let hosts = Policy::PerNode { hosts: 1 << 13 };
    let layout = Layout::for_app(1 << 20, FanIn::new(&[16]).unwrap(), hosts).unwrap();
    // 128 ranks, 8 places and a head on each of 8,192 hosts, 512 nodes and so on above.
    assert_eq!(
        layout
            .layers()
            .map(|layer| layer.members)
            .collect::<Vec<_>>(),
        [1 << 20, 1 << 16, 1 << 13, 1 << 9, 1 << 5, 2, 1]
    );
}
