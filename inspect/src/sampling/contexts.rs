//! Numbers calling contexts, in the order in which they are met, and says which are new.

use invivo_analysis::profile::Path;
use invivo_proto::control::contexts::{CONTEXTS_MAX, CONTEXTS_PART_MAX, Context};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::stacks::Frame;
use std::collections::{BTreeMap, VecDeque};

/// Contexts that were met. Their frames are as short as their namer makes them.
pub struct ContextTree {
    /// By number: the contexts that are called from there. The first is no context.
    below: Vec<BTreeMap<Frame, u32>>,
    /// The last ones, which are not told yet.
    untold: VecDeque<Context>,
    contexts_max: u32,
}

impl ContextTree {
    /// Nothing was met yet.
    pub fn new() -> ContextTree {
        ContextTree::within(CONTEXTS_MAX)
    }

    fn within(contexts_max: u32) -> ContextTree {
        ContextTree {
            below: vec![BTreeMap::new()],
            untold: VecDeque::new(),
            contexts_max,
        }
    }

    /// The number of a path's context; 0 where it has no frame. Where there is no room for it, that
    /// of the innermost caller that has one. Lines do not count.
    pub fn number(&mut self, path: &Path) -> u32 {
        let mut at = 0;
        for (frame, _) in path {
            let below = self.below.get(at as usize);
            let known = below.and_then(|below| below.get(frame)).copied();
            let Some(next) = known.or_else(|| self.add(at, frame)) else {
                return at;
            };
            at = next;
        }
        at
    }

    /// Another context; nothing where there is no room for it.
    fn add(&mut self, parent: u32, frame: &Frame) -> Option<u32> {
        let number = u32::try_from(self.below.len()).ok()?;
        if number > self.contexts_max {
            return None;
        }
        let below = self.below.get_mut(parent as usize)?;
        below.insert(frame.clone(), number);
        self.below.push(BTreeMap::new());
        let frame = frame.clone();
        self.untold.push_back(Context { parent, frame });
        Some(number)
    }

    /// The next ones that are new, as a message; then they are not any more.
    pub fn tell(&mut self) -> Option<FromSupervisor> {
        let first = u32::try_from(self.below.len() - self.untold.len()).ok()?;
        let some = self.untold.len().min(CONTEXTS_PART_MAX);
        let contexts: Vec<Context> = self.untold.drain(..some).collect();
        (some > 0).then_some(FromSupervisor::Contexts { first, contexts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let function = (0u8..3).prop_map(|number| Frame::Function {
            module: "a".to_owned(),
            name: format!("f{number}"),
        });
        prop_oneof![6 => function, 1 => Just(Frame::Lost), 1 => Just(Frame::LeftOut)]
    }

    fn path() -> impl Strategy<Value = Path> {
        let line = prop::option::of((0u8..3).prop_map(|line| format!("a.c:{line}")));
        prop::collection::vec((frame(), line), 0..6)
    }

    proptest! {
        /// Against a list of the paths that were met, each with its callers.
        #[test]
        fn contexts_are_numbered_as_they_are_met(
            paths in prop::collection::vec((path(), any::<bool>()), 0..60),
            contexts_max in 0u32..80,
        ) {
            let mut tree = ContextTree::within(contexts_max);
            let mut naive: Vec<Vec<Frame>> = Vec::new();
            let mut told: Vec<Context> = Vec::new();
            let mut hear = |tree: &mut ContextTree| {
                while let Some(message) = tree.tell() {
                    let FromSupervisor::Contexts { first, contexts } = message else {
                        panic!("another message");
                    };
                    assert_eq!(first as usize, told.len() + 1, "without a gap");
                    assert!((1..=CONTEXTS_PART_MAX).contains(&contexts.len()));
                    told.extend(contexts);
                }
            };
            for (path, is_told) in paths {
                let whole: Vec<Frame> = path.iter().map(|(frame, _)| frame.clone()).collect();
                let mut expected = 0;
                for depth in 1..=whole.len() {
                    let outer = &whole[..depth];
                    let known = naive.iter().position(|known| known == outer);
                    match known {
                        Some(at) => expected = at + 1,
                        None if naive.len() < contexts_max as usize => {
                            naive.push(outer.to_vec());
                            expected = naive.len();
                        }
                        None => break,
                    }
                }
                prop_assert_eq!(tree.number(&path) as usize, expected);
                if is_told {
                    hear(&mut tree);
                }
            }
            hear(&mut tree);
            // What was told is the same.
            let mut heard: Vec<Vec<Frame>> = vec![Vec::new()];
            for context in told {
                let mut whole = heard[context.parent as usize].clone();
                whole.push(context.frame);
                heard.push(whole);
            }
            prop_assert_eq!(&heard[1..], &naive[..]);
        }
    }

    #[test]
    fn contexts_have_a_bound() {
        let mut tree = ContextTree::new();
        let path = |number: u32| -> Path {
            let (module, name) = (String::new(), format!("f{number}"));
            vec![
                (Frame::Lost, None),
                (Frame::Function { module, name }, None),
            ]
        };
        for number in 0..CONTEXTS_MAX + 9 {
            let expected = if number + 2 <= CONTEXTS_MAX {
                number + 2
            } else {
                1
            };
            assert_eq!(tree.number(&path(number)), expected);
        }
        assert_eq!(tree.number(&path(3)), 5, "it is still known");
    }
}
