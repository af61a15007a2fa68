//! What trees of call paths share: how one is made of its list, and how a path that is too deep is
//! cut.

use alloc::vec::Vec;
use invivo_proto::control::stacks::{DEPTH_MAX, Frame};

/// Of a path that is too deep, three quarters from the outside and one from the inside: the
/// program's structure, and where the thread is; `gap` stands for the rest.
pub fn shortened<T>(mut path: Vec<T>, gap: T) -> Vec<T> {
    if path.len() > DEPTH_MAX {
        let inner = DEPTH_MAX / 4;
        let outer = DEPTH_MAX - 1 - inner;
        path.splice(outer..path.len() - inner, [gap]);
    }
    path
}

/// A tree of functions below their callers; its root stands for nobody.
pub trait Callees: Default {
    /// Adds a function with all that is below it, to one of the same frame where there is one.
    fn put(&mut self, frame: Frame, one: Self);
}

/// The tree of a list in which each node, with its depth, stands before those below it. One that is
/// deeper than it can be counts as one below the node before it.
pub fn of_list<T: Callees>(nodes: impl IntoIterator<Item = (u8, Frame, T)>) -> T {
    let mut path: Vec<(Frame, T)> = Vec::new();
    let mut tree = T::default();
    for (depth, frame, one) in nodes {
        close(&mut tree, &mut path, usize::from(depth).min(DEPTH_MAX - 1));
        path.push((frame, one));
    }
    close(&mut tree, &mut path, 0);
    tree
}

/// Hangs what is deeper than `depth` below its callers.
fn close<T: Callees>(tree: &mut T, path: &mut Vec<(Frame, T)>, depth: usize) {
    // A node is complete when the next one is not deeper; it is then put below its caller.
    while path.len() > depth {
        let Some((frame, one)) = path.pop() else {
            return;
        };
        let above = path.last_mut().map_or(&mut *tree, |(_, above)| above);
        above.put(frame, one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one that looks at each position of the answer.
        #[test]
        fn a_deep_path_keeps_both_ends(length in 0usize..400) {
            let whole: Vec<usize> = (1..=length).collect();
            let short = shortened(whole, 0);
            prop_assert_eq!(short.len(), length.min(128));
            for (position, step) in short.iter().enumerate() {
                let expected = match position {
                    _ if length <= 128 => position + 1,
                    0..95 => position + 1,
                    95 => 0,
                    _ => length - (127 - position),
                };
                prop_assert_eq!(*step, expected);
            }
        }
    }
}
