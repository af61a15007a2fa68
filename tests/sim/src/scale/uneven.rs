//! A job on nodes of different sizes whose processes a launcher has dealt out at random: every tool
//! process finds the tree by itself, from what it is told in the roll call and by its own node.

use invivo_proto::control::places::Places;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::directory::Directory;
use invivo_tbon::layout::{FanIn, Layout, NodeCount, RollCallError, local};
use std::collections::BTreeMap;

/// Ranks that a place looks for, each at another node.
const LOOK_UPS: u32 = 8;

/// The layout as each tool process finds it, by place: `ranks` ranks on `nodes` nodes, a number
/// that is even.
///
/// # Errors
/// When a tool process finds none.
pub fn layouts(
    ranks: u32,
    nodes: u32,
    fan_in: FanIn,
    seed: u64,
) -> Result<Vec<Layout>, RollCallError> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let processes = deal(ranks, nodes, &mut rng);
    let total = ranks + nodes;
    let mut tools = Vec::new();
    for on_node in &processes {
        let tool = on_node.last().copied().unwrap_or(u32::MAX);
        tools.push((WorldRank(tool), local::ranks(on_node, tool)));
    }
    let mut counts: Vec<NodeCount> = tools
        .iter()
        .filter_map(|(tool, here)| NodeCount::of(*tool, here))
        .collect();
    counts.sort_unstable_by_key(|count| count.tool);

    // The numbers of the roll call are the same at all: one copy of them stands for all here.
    let mut first: Option<Layout> = None;
    let mut layouts = Vec::new();
    for (tool, here) in &tools {
        let layout = match first {
            None => Layout::found(total, fan_in, counts.clone(), *tool, here)?,
            Some(first) => first.seen_from(*tool, here)?,
        };
        first.get_or_insert(layout);
        layouts.push((layout.place_index(*tool), layout));
    }
    layouts.sort_unstable_by_key(|(place, _)| *place);
    Ok(layouts.into_iter().map(|(_, layout)| layout).collect())
}

/// The processes of each node, ascending: one more than it has ranks, in no order.
fn deal(ranks: u32, nodes: u32, rng: &mut fastrand::Rng) -> Vec<Vec<u32>> {
    let each = ranks / nodes;
    let mut node_of = Vec::new();
    for pair in 0..nodes / 2 {
        // One has as many more as the other has fewer.
        let more = rng.u32(0..=each / 2);
        for (node, here) in [(2 * pair, each + more), (2 * pair + 1, each - more)] {
            node_of.extend(std::iter::repeat_n(node as usize, here as usize + 1));
        }
    }
    rng.shuffle(&mut node_of);
    let mut processes = vec![Vec::new(); nodes as usize];
    for (world, node) in (0..).zip(node_of) {
        processes[node].push(world);
    }
    processes
}

/// What does not hold of the directory of all ranks, a sentence each: every place finds the places
/// of ranks anywhere, and none is told of more than its slice and the slices that it asks for.
pub fn check_directory(layouts: &[Layout], seed: u64) -> Vec<String> {
    let Some(first) = layouts.first() else {
        return vec!["there is no place".to_owned()];
    };
    let mut rng = fastrand::Rng::with_seed(seed);
    let me = |place: usize| first.place(place as u32);
    let places = layouts.iter().enumerate();
    let directories = places.map(|(place, layout)| Directory::new(*layout, me(place)));
    let Some(mut directories): Option<Vec<Directory>> = directories.collect() else {
        return vec!["the ranks are not dealt out".to_owned()];
    };
    let index: BTreeMap<WorldRank, usize> = (0..layouts.len()).map(|at| (me(at), at)).collect();
    let mut told = vec![0; layouts.len()];
    let mut carry = |directories: &mut Vec<Directory>| -> Result<(), &'static str> {
        loop {
            let mut moved = false;
            for from in 0..directories.len() {
                let sent: Vec<(WorldRank, Places)> = directories[from].take().collect();
                for (to, message) in sent {
                    moved = true;
                    let at = index[&to];
                    told[at] += match &message {
                        Places::Here(ranks) => ranks.len(),
                        Places::Where => 0,
                        Places::There(places) => places.len(),
                    };
                    directories[at].receive(me(from), message)?;
                }
            }
            if !moved {
                return Ok(());
            }
        }
    };

    let mut violations: Vec<String> = Vec::new();
    violations.extend(carry(&mut directories).err().map(str::to_owned));
    let wanted: Vec<Vec<Rank>> = (0..directories.len())
        .map(|_| {
            (0..LOOK_UPS)
                .map(|_| Rank(rng.u32(0..first.app())))
                .collect()
        })
        .collect();
    for (directory, wanted) in directories.iter_mut().zip(&wanted) {
        for &rank in wanted {
            directory.place_of(rank);
        }
    }
    violations.extend(carry(&mut directories).err().map(str::to_owned));
    for (directory, wanted) in directories.iter_mut().zip(&wanted) {
        for &rank in wanted {
            let found = directory.place_of(rank);
            let serves = |place: WorldRank| {
                let ranks = layouts[index[&place]].ranks_at(place);
                ranks.is_some_and(|ranks| ranks.contains(rank))
            };
            if !found.is_some_and(serves) {
                violations.push(format!("rank {rank} is said to report to {found:?}"));
            }
        }
    }
    let slice = first.app().div_ceil(first.places()) as usize;
    let most = told.into_iter().max().unwrap_or(0);
    if most > slice * (1 + LOOK_UPS as usize) {
        violations.push(format!(
            "a place was told of {most} ranks, and a slice has {slice}"
        ));
    }
    violations
}
