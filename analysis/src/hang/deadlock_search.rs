//! Solves a wait-for graph: which nodes can never get what they need, and a cycle among these.
//!
//! A node waits for *all* of its needs, and each need is met by *any* of its targets (the AND-OR
//! model of deadlock). What can go on is found from the nodes that are free: whoever has a target
//! that can go on in each of its needs can go on, too. What is never reached is stuck, and stays so
//! whatever the others do.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// It may go on and meet whoever needs it.
    Free,
    /// It will never do anything for anybody, and needs nothing.
    Gone,
    /// It waits for all of these; each is met by any of its targets, and one without targets by
    /// nobody.
    Waits(Vec<Vec<usize>>),
}

/// Which nodes wait and can never go on. Takes time in proportion to the number of targets.
pub fn stuck(nodes: &[Node]) -> Vec<bool> {
    // Whom a target's going on helps: the node and which of its needs.
    let mut helps: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes.len()];
    let mut unmet: Vec<usize> = vec![0; nodes.len()];
    let mut met: Vec<Vec<bool>> = vec![Vec::new(); nodes.len()];
    let mut can = vec![false; nodes.len()];
    let mut reached = VecDeque::new();

    // Nodes that can go on at once start the queue; the others are entered with each of their
    // targets.
    for (at, node) in nodes.iter().enumerate() {
        match node {
            Node::Free => reached.push_back(at),
            Node::Gone => {}
            Node::Waits(needs) => {
                unmet[at] = needs.len();
                met[at] = vec![false; needs.len()];
                // An AND over nothing is met.
                if needs.is_empty() {
                    reached.push_back(at);
                }
                for (need, targets) in needs.iter().enumerate() {
                    for &target in targets {
                        helps[target].push((at, need));
                    }
                }
            }
        }
    }

    // Each edge is visited once: its target is reached at most once.
    while let Some(at) = reached.pop_front() {
        can[at] = true;
        for (node, need) in core::mem::take(&mut helps[at]) {
            // One need may list several targets; only the first of them that goes on counts.
            if !core::mem::replace(&mut met[node][need], true) {
                unmet[node] -= 1;
                if unmet[node] == 0 {
                    reached.push_back(node);
                }
            }
        }
    }

    nodes
        .iter()
        .zip(can)
        .map(|(node, can)| matches!(node, Node::Waits(_)) && !can)
        .collect()
}

/// Targets of the needs of a stuck node that nobody can meet.
pub fn hopeless<'a>(
    nodes: &'a [Node],
    stuck: &'a [bool],
    at: usize,
) -> impl Iterator<Item = &'a [usize]> {
    let needs = match &nodes[at] {
        Node::Waits(needs) => needs.as_slice(),
        Node::Free | Node::Gone => &[],
    };
    let is_hopeless = move |targets: &&Vec<usize>| {
        targets
            .iter()
            .all(|&to| stuck[to] || nodes[to] == Node::Gone)
    };
    needs.iter().filter(is_hopeless).map(Vec::as_slice)
}

/// Nodes of a cycle from which a shorter one is looked for.
const SHORTENED_MAX: usize = 16;

/// A cycle of stuck nodes, each of which needs the next in vain; it begins with its lowest node.
/// `skip` are left out. None that leads through its own first few nodes is shorter.
pub fn cycle(nodes: &[Node], stuck: &[bool], skip: &[bool]) -> Option<Vec<usize>> {
    let next = |at: usize| {
        let targets = hopeless(nodes, stuck, at).flatten().copied();
        targets.filter(|&to| stuck[to] && !skip[to])
    };

    let mut best = any_cycle(nodes.len(), |at| stuck[at] && !skip[at], next)?;
    // Each turn makes it shorter.
    while let Some(shorter) = best
        .iter()
        .take(SHORTENED_MAX)
        .filter_map(|&from| shortest_through(nodes.len(), from, next))
        .min_by_key(Vec::len)
        .filter(|found| found.len() < best.len())
    {
        best = shorter;
    }

    // The same cycle always begins with the same node, so that repeated answers agree.
    let lowest = best.iter().enumerate().min_by_key(|&(_, node)| node)?.0;
    best.rotate_left(lowest);
    Some(best)
}

/// Depth first, without recursion: a path that comes upon itself.
fn any_cycle<I: Iterator<Item = usize>>(
    count: usize,
    begins: impl Fn(usize) -> bool,
    next: impl Fn(usize) -> I,
) -> Option<Vec<usize>> {
    let mut seen = vec![false; count];
    let mut on_path = vec![false; count];
    for start in (0..count).filter(|&at| begins(at)) {
        if seen[start] {
            continue;
        }
        // A node seen before was searched to its end without finding a cycle, so it is never
        // entered again.
        seen[start] = true;
        on_path[start] = true;
        let mut path = vec![(start, next(start))];
        while let Some((at, targets)) = path.last_mut() {
            let Some(to) = targets.next() else {
                on_path[*at] = false;
                path.pop();
                continue;
            };
            if on_path[to] {
                let cycle = path.iter().map(|(at, _)| *at);
                return Some(cycle.skip_while(|&at| at != to).collect());
            }
            if !core::mem::replace(&mut seen[to], true) {
                on_path[to] = true;
                path.push((to, next(to)));
            }
        }
    }

    None
}

/// Breadth first: a shortest way from a node back to itself.
fn shortest_through<I: Iterator<Item = usize>>(
    count: usize,
    from: usize,
    next: impl Fn(usize) -> I,
) -> Option<Vec<usize>> {
    let mut before: Vec<Option<usize>> = vec![None; count];
    let mut reached = VecDeque::from([from]);
    while let Some(at) = reached.pop_front() {
        for to in next(at) {
            if to == from {
                let mut way = vec![at];
                while way.last() != Some(&from) {
                    way.push(before[*way.last()?]?);
                }
                way.reverse();
                return Some(way);
            }
            if before[to].is_none() {
                before[to] = Some(at);
                reached.push_back(to);
            }
        }
    }

    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODES: usize = 7;

    fn nodes() -> impl Strategy<Value = Vec<Node>> {
        let need = prop::collection::vec(0..NODES, 0..3);
        let node = prop_oneof![
            1 => Just(Node::Free),
            1 => Just(Node::Gone),
            6 => prop::collection::vec(need, 0..3).prop_map(Node::Waits),
        ];
        prop::collection::vec(node, NODES)
    }

    /// The largest set of waiting nodes each of which has a need that only members of the set or
    /// gone nodes could meet, by trying all sets.
    fn by_trying(nodes: &[Node]) -> Vec<bool> {
        let holds = |set: usize| {
            let outside = |to: usize| set >> to & 1 == 0 && nodes[to] != Node::Gone;
            (0..NODES)
                .filter(|at| set >> at & 1 == 1)
                .all(|at| match &nodes[at] {
                    Node::Waits(needs) => {
                        needs.iter().any(|need| !need.iter().any(|&to| outside(to)))
                    }
                    Node::Free | Node::Gone => false,
                })
        };

        let union = (0..1usize << NODES)
            .filter(|&set| holds(set))
            .fold(0, |a, b| a | b);
        (0..NODES).map(|at| union >> at & 1 == 1).collect()
    }

    /// The length of the shortest cycle, by following all ways.
    fn shortest(nodes: &[Node], stuck: &[bool]) -> Option<usize> {
        let step = |from: usize| -> Vec<usize> {
            let targets = hopeless(nodes, stuck, from).flatten().copied();
            targets.filter(|&to| stuck[to]).collect()
        };

        (0..NODES)
            .filter(|&at| stuck[at])
            .filter_map(|at| {
                let mut front = vec![at];
                (1..=NODES).find(|_| {
                    front = front.iter().flat_map(|&from| step(from)).collect();
                    front.sort_unstable();
                    front.dedup();
                    front.contains(&at)
                })
            })
            .min()
    }

    proptest! {
        #[test]
        fn stuck_is_what_no_set_of_helpers_frees(nodes in nodes()) {
            prop_assert_eq!(stuck(&nodes), by_trying(&nodes));
        }

        #[test]
        fn a_cycle_is_found_where_there_is_one(nodes in nodes()) {
            let stuck = stuck(&nodes);
            let found = cycle(&nodes, &stuck, &[false; NODES]);
            prop_assert_eq!(found.is_some(), shortest(&nodes, &stuck).is_some());
            let Some(found) = found else { return Ok(()) };
            prop_assert_eq!(found.iter().min(), found.first());
            let mut of_each = found.clone();
            of_each.sort_unstable();
            of_each.dedup();
            prop_assert_eq!(of_each.len(), found.len());
            for (n, &at) in found.iter().enumerate() {
                let to = found[(n + 1) % found.len()];
                prop_assert!(
                    stuck[at] && hopeless(&nodes, &stuck, at).any(|need| need.contains(&to))
                );
            }
        }

        #[test]
        fn the_shortest_of_a_few_is_found(nodes in nodes()) {
            // A shortest cycle may lie apart from the one that is found.
            let stuck = stuck(&nodes);
            if let Some(found) = cycle(&nodes, &stuck, &[false; NODES]) {
                let through = found.iter().filter_map(|&from| {
                    let next = |at: usize| {
                        let targets = hopeless(&nodes, &stuck, at).flatten().copied();
                        targets.filter(|&to| stuck[to])
                    };
                    shortest_through(NODES, from, next)
                });
                prop_assert_eq!(through.map(|way| way.len()).min(), Some(found.len()));
            }
        }
    }

    #[test]
    fn a_wait_for_any_is_stuck_only_when_all_are() {
        let waits =
            |needs: &[&[usize]]| Node::Waits(needs.iter().map(|need| need.to_vec()).collect());
        let mut nodes = vec![waits(&[&[1, 2]]), waits(&[&[0]]), Node::Free];
        assert_eq!(stuck(&nodes), [false; 3]);
        nodes[2] = Node::Gone;
        assert_eq!(stuck(&nodes), [true, true, false]);
        assert_eq!(cycle(&nodes, &stuck(&nodes), &[false; 3]), Some(vec![0, 1]));
        nodes[2] = waits(&[&[0], &[1]]);
        assert_eq!(stuck(&nodes), [true; 3]);
    }

    #[test]
    fn what_waits_for_the_gone_is_stuck_without_a_cycle() {
        let nodes = [Node::Waits(vec![vec![1]]), Node::Gone];
        assert_eq!(stuck(&nodes), [true, false]);
        assert_eq!(cycle(&nodes, &stuck(&nodes), &[false; 2]), None);
    }
}
