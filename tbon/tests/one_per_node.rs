//! One tool process per node: every member of the tree sits in exactly one process, and in all
//! other respects it is the tree that has a process for every member.

use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::{FanIn, Layout, Policy, Role};
use invivo_tbon::node::Position;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn policy(hosts: u32) -> Policy {
    match hosts {
        1 => Policy::Tail,
        hosts => Policy::PerNode { hosts },
    }
}

fn one_per_node(ranks: u32, hosts: u32, members: u32) -> Layout {
    let fan_in = FanIn::one_per_node(members).unwrap();
    Layout::for_app(ranks * hosts, fan_in, policy(hosts)).unwrap()
}

proptest! {
    #[test]
    fn every_member_sits_in_one_process(
        ranks in 1u32..20,
        hosts in 1u32..80,
        members in 2u32..20,
    ) {
        let layout = one_per_node(ranks, hosts, members);
        prop_assert_eq!(layout.total(), hosts * (ranks + 1));
        let mut held = BTreeMap::new();
        for process in (0..layout.total()).map(WorldRank) {
            let mut layers = Vec::new();
            for (address, role) in layout.roles(process) {
                prop_assert_eq!(layout.role(address), Some(role));
                prop_assert_eq!(layout.process_of(address), Some(process));
                let layer = layout.height(address).unwrap();
                prop_assert_eq!(layout.address(process, layer), Some(address));
                prop_assert_eq!(held.insert(address, process), None, "in two processes");
                layers.push(layer);
            }
            // One of each layer at most, from the lowest up; the first is the process itself.
            prop_assert!(layers.is_sorted_by(|one, next| one < next));
            let first = layout.roles(process).next();
            prop_assert_eq!(first.map(|(address, _)| address), Some(process));
        }
        prop_assert!(held.keys().copied().eq((0..layout.members()).map(WorldRank)));
        prop_assert_eq!(held[&layout.root()], WorldRank(layout.total() - 1), "the last one");
        prop_assert_eq!(layout.roles(WorldRank(layout.total())).count(), 0);
        prop_assert_eq!(layout.process_of(WorldRank(layout.members())), None);
        prop_assert_eq!((layout.places(), layout.nodes()), (hosts, 0));
    }

    /// A node sits on one of the hosts below it, so that one of its members is beside it.
    #[test]
    fn nodes_sit_beside_one_of_their_members(
        ranks in 1u32..5,
        hosts in 1u32..300,
        members in 2u32..20,
    ) {
        let layout = one_per_node(ranks, hosts, members);
        for address in (layout.total()..layout.members()).map(WorldRank) {
            let process = layout.process_of(address).unwrap();
            let (own, below) = (layout.ranks_of(process), layout.ranks_of(address));
            prop_assert!(below.start <= own.start && own.end <= below.end);
            prop_assert_eq!(layout.host_of(address), layout.host_of(process));
            let beside = Position::of(&layout, address).unwrap().is_beside_root;
            let last = process.0 + 1 == layout.total();
            prop_assert_eq!(beside, last && address != layout.root());
        }
        // Merging is shared out: where nodes are wide, none has more than one beside its place.
        let roles = |process| layout.roles(WorldRank(process)).count();
        if members >= 8 && hosts.is_multiple_of(members) {
            prop_assert!((0..layout.total()).all(|process| roles(process) <= 2));
        }
    }

    #[test]
    fn the_tree_is_that_of_a_process_for_every_member(
        ranks in 1u32..20,
        hosts in 1u32..40,
        members in 2u32..20,
    ) {
        let layout = one_per_node(ranks, hosts, members);
        let fan_in = FanIn::new(&[ranks, members]).unwrap();
        let apart = Layout::for_app(ranks * hosts, fan_in, policy(hosts)).unwrap();
        prop_assert_eq!(layout.members(), apart.total());
        prop_assert_eq!(layout.root(), apart.root());
        for address in (0..apart.total()).map(WorldRank) {
            prop_assert_eq!(layout.role(address), apart.role(address));
            prop_assert_eq!(layout.parent(address), apart.parent(address));
            prop_assert!(layout.children(address).eq(apart.children(address)));
            prop_assert_eq!(layout.ranks_of(address), apart.ranks_of(address));
            // There a process is a member.
            prop_assert_eq!(apart.process_of(address), Some(address));
            let role = apart.role(address).unwrap();
            prop_assert!(apart.roles(address).eq([(address, role)]));
        }
    }

    #[test]
    fn text_and_total_tell_the_layout(
        ranks in 1u32..60,
        hosts in 1u32..12,
        members in 2u32..12,
    ) {
        let layout = one_per_node(ranks, hosts, members);
        prop_assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
        let of_total = Layout::of_total(layout.total(), layout.fan_in(), policy(hosts), None);
        prop_assert_eq!(of_total.unwrap(), layout);
    }
}

#[test]
fn the_tree_that_the_source_shows() {
    let layout = one_per_node(4, 3, 2);
    let roles = |process| -> Vec<u32> {
        let roles = layout.roles(WorldRank(process));
        roles.map(|(address, _)| address.0).collect()
    };
    assert_eq!(
        [4, 9, 14].map(roles),
        [vec![4, 15], vec![9], vec![14, 16, 17]]
    );
    assert_eq!(layout.role(WorldRank(17)), Some(Role::Root));
}

#[test]
fn one_process_is_enough_for_one_node() {
    let layout: Layout = "4:node:tail".parse().unwrap();
    assert_eq!(layout.to_string(), "4:node,16:tail");
    assert_eq!((layout.total(), layout.members()), (5, 6));
    assert_eq!(
        (layout.process_of(layout.root()), layout.root().0),
        (Some(WorldRank(4)), 5)
    );
    assert_eq!(layout.ranks_per_place(), 4);
    let by_hand = |total, app| Layout::of_total(total, FanIn::default(), Policy::Tail, app);
    assert_eq!(by_hand(5, None), Ok(layout));
    // More processes than one per node are places of their own, and a root.
    let apart = by_hand(9, Some(6)).unwrap();
    assert_eq!(
        (apart.places(), apart.nodes(), apart.is_one_per_node()),
        (2, 1, false)
    );
    let error = by_hand(1, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "1 processes are too few: one rank and the tool process need 2; start at least 2"
    );
}
