//! The directory of dealt-out ranks against a table of all of them.

use invivo_proto::control::places::Places;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::directory::Directory;
use invivo_tbon::layout::{FanIn, Layout, NodeCount};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// The layouts of all tool processes of a job, by the node of each process, and the table: the
/// place of each rank.
fn job(node_of: &[usize]) -> (Vec<Layout>, Vec<WorldRank>) {
    let mut nodes: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (world, &node) in node_of.iter().enumerate() {
        nodes.entry(node).or_default().push(world as u32);
    }
    // A node of one process is none: its neighbour takes it.
    while nodes.len() > 1 && nodes.values().any(|node| node.len() < 2) {
        let (_, first) = nodes.pop_first().unwrap();
        nodes.first_entry().unwrap().get_mut().extend(first);
    }
    let mut tools = Vec::new();
    for node in nodes.values_mut() {
        node.sort();
        let tool = WorldRank(node.pop().unwrap());
        tools.push((tool, node.clone()));
    }
    let counts: Vec<NodeCount> = tools
        .iter()
        .map(|(tool, ranks)| NodeCount::of(*tool, ranks).unwrap())
        .collect();
    let total = node_of.len() as u32;
    let found = |(tool, ranks): &(WorldRank, Vec<u32>)| {
        Layout::found(total, FanIn::default(), counts.clone(), *tool, ranks).unwrap()
    };
    let layouts: Vec<Layout> = tools.iter().map(found).collect();
    let place = |rank| {
        let world = layouts[0].world_of(Rank(rank)).0;
        tools
            .iter()
            .find(|(_, ranks)| ranks.contains(&world))
            .unwrap()
            .0
    };
    let table = (0..layouts[0].app()).map(place).collect();
    (layouts, table)
}

proptest! {
    #[test]
    fn every_place_finds_every_rank(
        node_of in prop::collection::vec(0usize..7, 4..60),
        turns in prop::collection::vec(any::<u32>(), 1..50),
    ) {
        let (layouts, table) = job(&node_of);
        let mut places: BTreeMap<WorldRank, Directory> = BTreeMap::new();
        for (at, layout) in layouts.iter().enumerate() {
            let me = (0..layout.places()).map(|index| layout.place(index));
            let me = me.filter(|&me| layout.ranks_at(me).is_some());
            // Where ranks are in blocks all places are known, and there is no directory.
            if layout.knows_all_places() {
                for (rank, &place) in table.iter().enumerate() {
                    prop_assert_eq!(layout.known_place_of(Rank(rank as u32)), Some(place));
                }
                return Ok(());
            }
            let me: Vec<WorldRank> = me.collect();
            prop_assert_eq!(me.len(), 1, "{} knows its own ranks alone", at);
            places.insert(me[0], Directory::new(*layout, me[0]).unwrap());
        }

        // Messages overtake each other between different pairs, never within one.
        let mut mail: BTreeMap<(WorldRank, WorldRank), VecDeque<Places>> = BTreeMap::new();
        let mut turns = turns.into_iter().cycle();
        let mut questions = 0;
        for _ in 0..10_000 {
            for (&me, directory) in &mut places {
                for (to, message) in directory.take() {
                    prop_assert!(to != me);
                    questions += usize::from(message == Places::Where);
                    mail.entry((me, to)).or_default().push_back(message);
                }
            }
            mail.retain(|_, waiting| !waiting.is_empty());
            let turn = turns.next().unwrap() as usize;
            let Some((&(from, to), _)) = mail.iter().nth(turn % mail.len().max(1)) else {
                break;
            };
            let message = mail.get_mut(&(from, to)).unwrap().pop_front().unwrap();
            let receiver = places.get_mut(&to).unwrap();
            prop_assert!(receiver.receive(from, message).is_ok());
            // Somebody looks for a rank meanwhile: known or not, never wrong.
            let rank = turn % table.len();
            let found = receiver.place_of(Rank(rank as u32));
            prop_assert!(found.is_none_or(|found| found == table[rank]));
        }
        prop_assert!(questions <= places.len() * places.len(), "each slice is asked for once");

        let all = places.keys().copied().collect::<Vec<_>>();
        for me in all {
            for (rank, &place) in table.iter().enumerate() {
                let rank = Rank(rank as u32);
                if places.get_mut(&me).unwrap().place_of(rank).is_none() {
                    // Ask, and carry until it is answered.
                    let asked: Vec<_> = places.get_mut(&me).unwrap().take().collect();
                    for (to, message) in asked {
                        places.get_mut(&to).unwrap().receive(me, message).unwrap();
                        let answers: Vec<_> = places.get_mut(&to).unwrap().take().collect();
                        for (back, answer) in answers {
                            places.get_mut(&back).unwrap().receive(to, answer).unwrap();
                        }
                    }
                }
                prop_assert_eq!(places.get_mut(&me).unwrap().place_of(rank), Some(place));
            }
            prop_assert_eq!(places.get_mut(&me).unwrap().place_of(Rank(table.len() as u32)), None);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (layouts, _) = job(&[0, 1, 0, 1, 0, 1]);
    let [a, b] = [0, 1].map(|index| layouts[0].place(index));
    let mut directory = Directory::new(layouts[0], a).expect("dealt out");
    let refused =
        |directory: &mut Directory, from, message| directory.receive(from, message).is_err();
    assert!(
        refused(&mut directory, WorldRank(0), Places::Where),
        "no place"
    );
    assert!(
        refused(&mut directory, b, Places::There(vec![0, 1])),
        "not asked"
    );
    assert!(
        refused(&mut directory, b, Places::Here(vec![Rank(3)])),
        "not its slice"
    );
    assert_eq!(directory.place_of(Rank(3)), None);
    assert!(
        refused(&mut directory, b, Places::There(vec![0])),
        "too short"
    );
    assert_eq!(directory.place_of(Rank(3)), None);
    assert!(
        refused(&mut directory, b, Places::There(vec![0, 9])),
        "no such place"
    );
}
