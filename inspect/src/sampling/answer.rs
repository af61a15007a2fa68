//! Makes an answer of the paths that were seen: a tree by function, in parts that fit a message.
//!
//! It is made bit by bit, so that rings are emptied in between.

use crate::sampling::namer::{Namer, nameless};
use crate::sampling::path::{Modules, Step};
use crate::sampling::paths::{Seen, SeenPath};
use invivo_analysis::call_paths::shortened;
use invivo_analysis::profile::{Path, Tree};
use invivo_proto::control::local::{FromSupervisor, PROFILE_PART_MAX};
use invivo_proto::control::profile::{NODES_MAX, Node, Sampled};
use invivo_proto::control::stacks::Frame;
use invivo_proto::ids::Rank;

/// Paths that are added in one go: a millisecond or two.
const PATHS_AT_A_TIME: usize = 256;
/// Nodes of the tree of paths that were added up by name; some hundred bytes each.
const FOLDED_NODES_MAX: usize = 1 << 18;
/// The file that the kernel counts as.
const KERNEL: &str = "[kernel]";

/// Names of what was seen.
pub struct Names<'n> {
    pub namer: &'n Namer,
    pub modules: &'n Modules,
}

impl Names<'_> {
    /// A path by name; false where a name is missing.
    pub fn path(&self, steps: &[Step]) -> (Path, bool) {
        let nowhere = |module: &str| {
            let (module, name) = (module.to_owned(), String::new());
            (Frame::Function { module, name }, None)
        };
        let (mut path, mut is_named) = (Path::new(), true);
        for step in steps {
            match *step {
                Step::Lost => path.push((Frame::Lost, None)),
                Step::LeftOut => path.push((Frame::LeftOut, None)),
                Step::Nowhere => path.push(nowhere("")),
                Step::Kernel => path.push(nowhere(KERNEL)),
                Step::Code { module, offset } => match self.namer.at((module, offset)) {
                    Some(named) => path.extend(named.iter().cloned()),
                    None => {
                        is_named = false;
                        let module = self.modules.get(module);
                        path.push(module.map_or(nowhere(""), |module| nameless(module, offset)));
                    }
                },
            }
        }
        (shortened(path, (Frame::LeftOut, None)), is_named)
    }
}

/// Paths that are added up by name, for good.
#[derive(Clone, Default)]
pub struct Folded {
    tree: Tree,
    /// Samples with a frame that had no name.
    unnamed: u64,
    nodes: usize,
}

impl Folded {
    /// Whether its tree is as large as it may become.
    pub fn is_full(&self) -> bool {
        self.nodes >= FOLDED_NODES_MAX
    }

    /// Adds paths as long as there is room, and gives how many.
    pub fn add(&mut self, paths: &[SeenPath], names: &Names<'_>) -> usize {
        let room = paths.iter().take_while(|(path, seen)| {
            let has_room = !self.is_full();
            if has_room {
                self.add_path(path, *seen, names);
            }
            has_room
        });
        room.count()
    }

    fn add_path(&mut self, path: &[Step], seen: Seen, names: &Names<'_>) {
        let (path, is_named) = names.path(path);
        self.nodes += self.tree.add(&path, seen.ns);
        if !is_named {
            self.unnamed = self.unnamed.saturating_add(seen.samples);
        }
    }
}

/// An answer that is being made.
pub struct Answering {
    profile: u32,
    seen: Sampled,
    all: Folded,
    rest: Vec<SeenPath>,
}

impl Answering {
    /// Of these paths, to this question.
    pub fn new(profile: u32, seen: Sampled, all: Folded, rest: Vec<SeenPath>) -> Answering {
        Answering {
            profile,
            seen,
            all,
            rest,
        }
    }

    /// Adds some paths; false when that was all.
    pub fn go_on(&mut self, names: &Names<'_>) -> bool {
        let some = self.rest.len().saturating_sub(PATHS_AT_A_TIME);
        for (path, seen) in self.rest.drain(some..) {
            self.all.add_path(&path, seen, names);
        }
        !self.rest.is_empty()
    }

    /// The answer.
    pub fn parts(self, rank: Rank) -> Vec<FromSupervisor> {
        let seen = Sampled {
            unnamed: self.all.unnamed,
            ..self.seen
        };
        let (nodes, _) = self.all.tree.into_nodes(rank, NODES_MAX);
        parts(self.profile, seen, nodes)
    }
}

/// At least one part, because what was seen is told with it.
fn parts(profile: u32, seen: Sampled, nodes: Vec<Node>) -> Vec<FromSupervisor> {
    let count = nodes.len().div_ceil(PROFILE_PART_MAX).max(1);
    let mut nodes = nodes.into_iter();
    let part = |number: usize| FromSupervisor::Profiled {
        profile,
        seen: Ok(seen),
        nodes: nodes.by_ref().take(PROFILE_PART_MAX).collect(),
        // A few dozen.
        rest: (count - 1 - number) as u32,
    };
    (0..count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::local::Module;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Places of the file 0 below this offset have names, every third the same one.
    const NAMED: u64 = 9;

    fn frame(name: &str) -> Frame {
        let (module, name) = ("a".to_owned(), name.to_owned());
        Frame::Function { module, name }
    }

    fn namer() -> Namer {
        let named = |offset| {
            let frame = frame(&format!("f{}", offset % 3));
            let line = Some(format!("a.c:{offset}"));
            ((0, offset), Arc::new(vec![(frame, line)]))
        };
        Namer::knowing((0..NAMED).map(named).collect())
    }

    fn modules() -> Modules {
        let mut modules = Modules::default();
        let (path, build_id) = ("/opt/a".to_owned(), Vec::new());
        modules.number(Module { path, build_id });
        modules
    }

    fn step() -> impl Strategy<Value = Step> {
        let code = (0..NAMED + 3).prop_map(|offset| Step::Code { module: 0, offset });
        prop_oneof![8 => code, 1 => Just(Step::Kernel), 1 => Just(Step::Nowhere)]
    }

    fn answer(folded: Folded, rest: &[SeenPath], names: &Names<'_>) -> (u64, Vec<Node>) {
        let mut answering = Answering::new(1, Sampled::default(), folded, rest.to_vec());
        while answering.go_on(names) {}
        let (mut unnamed, mut all) = (0, Vec::new());
        for part in answering.parts(Rank(0)) {
            if let FromSupervisor::Profiled {
                seen: Ok(seen),
                nodes,
                ..
            } = part
            {
                unnamed = seen.unnamed;
                all.extend(nodes);
            }
        }
        (unnamed, all)
    }

    proptest! {
        #[test]
        fn paths_that_were_folded_count_as_the_others(
            paths in prop::collection::vec(
                (prop::collection::vec(step(), 1..6), 1u64..5), 0..300),
            folded in 0usize..300,
        ) {
            let paths: Vec<SeenPath> = paths
                .into_iter()
                .map(|(path, samples)| (path.into(), Seen { samples, ns: samples * 7 }))
                .collect();
            let (namer, modules) = (namer(), modules());
            let names = Names { namer: &namer, modules: &modules };
            let (first, rest) = paths.split_at(folded.min(paths.len()));
            let mut folded = Folded::default();
            folded.add(first, &names);
            let told = answer(folded, rest, &names);
            prop_assert_eq!(&told, &answer(Folded::default(), &paths, &names));

            let sum = |counts: fn(&[Step]) -> bool| {
                let counted = paths.iter().filter(|(path, _)| counts(path));
                counted.map(|(_, seen)| seen.samples).sum::<u64>()
            };
            let has_no_name = |path: &[Step]| path.iter().any(|step| {
                matches!(step, Step::Code { offset, .. } if *offset >= NAMED)
            });
            prop_assert_eq!(told.0, sum(has_no_name));
            let begins = |path: &[Step]| {
                matches!(path[0], Step::Code { offset, .. } if offset < NAMED && offset % 3 == 1)
            };
            let node = told.1.iter().find(|node| node.depth == 0 && node.frame == frame("f1"));
            prop_assert_eq!(node.map_or(0, |node| node.ns), 7 * sum(begins));
        }
    }

    #[test]
    fn folded_paths_have_bounds() {
        let (namer, modules) = (namer(), modules());
        let names = Names {
            namer: &namer,
            modules: &modules,
        };
        let seen = Seen { samples: 1, ns: 1 };
        let path = |first: u64, last: u64| -> SeenPath {
            let code = |offset| Step::Code { module: 0, offset };
            let mut path = vec![code(1); 100];
            path.extend([code(first), code(last)]);
            (path.into(), seen)
        };
        // By name they are few.
        let mut folded = Folded::default();
        let few: Vec<SeenPath> = (0..4000).map(|at| path(at % NAMED, at % 4)).collect();
        folded.add(&few, &names);
        assert!(!folded.is_full());

        // Each goes another way soon: nearly every step needs a node.
        let bits = |number: u64| -> SeenPath {
            let code = |bit: u64| Step::Code {
                module: 0,
                offset: number >> bit & 1,
            };
            ((0..60).map(code).collect::<Vec<_>>().into(), seen)
        };
        let mut folded = Folded::default();
        let mut number = 1u64;
        let mut paths = 0;
        while !folded.is_full() && paths < 20_000 {
            // Numbers in no order: a linear congruential generator by Knuth.
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            folded.add(&[bits(number >> 4)], &names);
            paths += 1;
        }
        assert!(folded.is_full());
        let (nodes, _) = folded.tree.into_nodes(Rank(0), usize::MAX);
        assert!(nodes.len() <= FOLDED_NODES_MAX + 60, "{}", nodes.len());
    }

    #[test]
    fn parts_hold_all_nodes_in_their_order() {
        let node = |ns| Node {
            depth: 0,
            frame: Frame::Lost,
            ns,
            own_ns: 0,
            most: (Rank(0), ns),
            lines: Default::default(),
        };
        for count in [0, 1, PROFILE_PART_MAX, PROFILE_PART_MAX + 1, NODES_MAX] {
            let nodes: Vec<Node> = (0..count as u64).map(node).collect();
            let (mut came, mut rests) = (Vec::new(), Vec::new());
            for part in parts(9, Sampled::default(), nodes.clone()) {
                let FromSupervisor::Profiled {
                    profile: 9,
                    nodes,
                    rest,
                    ..
                } = part
                else {
                    panic!("another message");
                };
                assert!(nodes.len() <= PROFILE_PART_MAX);
                came.extend(nodes);
                rests.push(rest);
            }
            assert_eq!(came, nodes);
            let expected: Vec<u32> = (0..rests.len() as u32).rev().collect();
            assert_eq!(rests, expected);
        }
    }
}
