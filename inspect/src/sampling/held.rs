//! Holds samples until their paths have names, and gives them on with the numbers of their calling
//! contexts.
//!
//! A thread's samples stay in their order: those behind one that waits do so, too.

use crate::sampling::answer::Names;
use crate::sampling::contexts::ContextTree;
use crate::sampling::path::Step;
use crate::sampling::paths::PATHS_MAX;
use invivo_proto::control::contexts::Taken;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sample of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct One {
    /// The thread, as the kernel numbers it.
    pub tid: u32,
    /// How often the frequency was halved.
    pub halvings: u32,
    /// The sample; its context is not known at first.
    pub taken: Taken,
}

impl One {
    fn within(mut self, context: u32) -> One {
        self.taken.context = context;
        self
    }
}

/// A sample that waits.
struct Waiting {
    one: One,
    path: Arc<[Step]>,
    since: Instant,
}

/// Samples that wait for names.
pub struct Held {
    /// The contexts of those that were given on.
    pub contexts: ContextTree,
    /// Those of paths that have all their names: most samples are of such.
    known: HashMap<Arc<[Step]>, u32>,
    /// By thread; none is empty.
    waiting: BTreeMap<u32, VecDeque<Waiting>>,
    samples: usize,
}

impl Held {
    /// Nothing yet.
    pub fn new() -> Held {
        Held {
            contexts: ContextTree::new(),
            known: HashMap::new(),
            waiting: BTreeMap::new(),
            samples: 0,
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.samples
    }

    /// Takes a sample, and gives it back where it need not wait.
    pub fn add(&mut self, one: One, path: &[Step], now: Instant) -> Option<One> {
        if !self.waiting.contains_key(&one.tid)
            && let Some(context) = self.known.get(path)
        {
            return Some(one.within(*context));
        }
        let waiting = Waiting {
            one,
            path: path.into(),
            since: now,
        };
        self.waiting.entry(one.tid).or_default().push_back(waiting);
        self.samples += 1;
        None
    }

    /// Gives on what has its names by now, or has waited for so long: then as it is.
    pub fn release(
        &mut self,
        names: &Names<'_>,
        now: Instant,
        patience: Duration,
        mut each: impl FnMut(One),
    ) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for queue in waiting.values_mut() {
            while let Some(first) = queue.front() {
                let is_late = now.saturating_duration_since(first.since) >= patience;
                let Some(context) = self.context(&first.path, names, is_late) else {
                    break;
                };
                each(first.one.within(context));
                queue.pop_front();
                self.samples -= 1;
            }
        }
        waiting.retain(|_, queue| !queue.is_empty());
        self.waiting = waiting;
    }

    /// The context of a path, if it has its names; or in any case.
    fn context(&mut self, path: &Arc<[Step]>, names: &Names<'_>, in_any: bool) -> Option<u32> {
        if let Some(context) = self.known.get(path) {
            return Some(*context);
        }
        let (by_name, is_named) = names.path(path);
        if !is_named && !in_any {
            return None;
        }
        let context = self.contexts.number(&by_name);
        // Another time it may have its names.
        if is_named {
            if self.known.len() >= PATHS_MAX {
                self.known.clear();
            }
            self.known.insert(path.clone(), context);
        }
        Some(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::namer::Namer;
    use crate::sampling::path::Modules;
    use invivo_proto::control::local::{FromSupervisor, Module};
    use invivo_proto::control::stacks::Frame;
    use proptest::prelude::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn frame(name: &str) -> Frame {
        let (module, name) = ("a".to_owned(), name.to_owned());
        Frame::Function { module, name }
    }

    /// Knows the names of these offsets.
    fn namer(known: &[u64]) -> Namer {
        let named = |offset: &u64| {
            let name = frame(&format!("f{offset}"));
            ((0, *offset), Arc::new(vec![(name, None)]))
        };
        Namer::knowing(known.iter().map(named).collect())
    }

    fn modules() -> Modules {
        let mut modules = Modules::default();
        let (path, build_id) = ("/opt/a".to_owned(), Vec::new());
        modules.number(Module { path, build_id });
        modules
    }

    fn one(tid: u32, ordinal: u64) -> One {
        let taken = Taken {
            at_ns: ordinal * 10,
            ordinal,
            context: 0,
        };
        let halvings = 0;
        One {
            tid,
            halvings,
            taken,
        }
    }

    fn code(offset: u64) -> Step {
        Step::Code { module: 0, offset }
    }

    /// The contexts that were told, by name, from the innermost on.
    fn names_of(held: &mut Held) -> BTreeMap<u32, Vec<Frame>> {
        let mut all = BTreeMap::from([(0, Vec::new())]);
        while let Some(FromSupervisor::Contexts { first, contexts }) = held.contexts.tell() {
            for (number, context) in (first..).zip(contexts) {
                let mut path = vec![context.frame];
                path.extend(all[&context.parent].clone());
                all.insert(number, path);
            }
        }
        all
    }

    #[test]
    fn a_sample_waits_for_its_name_or_a_second() {
        let (modules, begun) = (modules(), Instant::now());
        let mut held = Held::new();
        for (tid, ordinal, offset) in [(1, 1, 5), (1, 2, 6), (2, 1, 6)] {
            let path = [code(offset)];
            assert_eq!(held.add(one(tid, ordinal), &path, begun), None);
        }
        let mut came = Vec::new();
        let mut release = |held: &mut Held, known: &[u64], after: Duration| {
            let namer = namer(known);
            let names = Names {
                namer: &namer,
                modules: &modules,
            };
            let mut now = Vec::new();
            held.release(&names, begun + after, PATIENCE, |one| now.push(one));
            came.extend(now.iter().map(|one| (one.tid, one.taken)));
            now.iter().map(|one| one.tid).collect::<Vec<_>>()
        };
        let (soon, late) = (PATIENCE / 2, PATIENCE);
        assert!(release(&mut held, &[], soon).is_empty());
        // The first thread's second one stands behind one without a name.
        assert_eq!(release(&mut held, &[6], soon), [2]);
        assert_eq!(held.len(), 2);
        assert_eq!(release(&mut held, &[6], late), [1, 1]);
        assert_eq!(held.len(), 0);

        // The path is known; the one without a name is not.
        let again = held.add(one(1, 3), &[code(6)], begun).expect("known");
        assert_eq!(held.add(one(2, 2), &[code(5)], begun), None);
        let names = names_of(&mut held);
        let of = |taken: &Taken| names[&taken.context].clone();
        assert_eq!(of(&came[0].1), [frame("f6")]);
        assert_eq!(of(&came[1].1), [frame("")]);
        assert_eq!(of(&came[2].1), [frame("f6")]);
        assert_eq!(again.taken.context, came[0].1.context);
    }

    proptest! {
        /// Whenever names come: none is lost, each thread's stay in order, and each has its path.
        #[test]
        fn every_sample_comes_once_in_its_threads_order(
            samples in prop::collection::vec(
                (0u32..3, prop::collection::vec(0u64..4, 0..4)), 0..60),
            known_after in prop::collection::vec(0usize..60, 4),
        ) {
            let (modules, begun) = (modules(), Instant::now());
            let mut held = Held::new();
            let mut came: Vec<One> = Vec::new();
            for (turn, (tid, offsets)) in samples.iter().enumerate() {
                let path: Vec<Step> = offsets.iter().copied().map(code).collect();
                came.extend(held.add(one(*tid, turn as u64), &path, begun));
                let is_known = |at: &u64| known_after[*at as usize] <= turn;
                let known: Vec<u64> = (0..4).filter(is_known).collect();
                let namer = namer(&known);
                let names = Names { namer: &namer, modules: &modules };
                held.release(&names, begun, PATIENCE, |one| came.push(one));
                prop_assert_eq!(came.len() + held.len(), turn + 1);
                for one in came.iter().rev().take_while(|one| one.taken.ordinal == turn as u64) {
                    let path = &samples[one.taken.ordinal as usize].1;
                    prop_assert!(path.iter().all(|offset| known.contains(offset)));
                }
            }
            let namer = namer(&[]);
            let names = Names { namer: &namer, modules: &modules };
            held.release(&names, begun + PATIENCE, PATIENCE, |one| came.push(one));
            prop_assert_eq!(came.len(), samples.len());
            for thread in 0..3 {
                let of: Vec<u64> = came
                    .iter()
                    .filter(|one| one.tid == thread)
                    .map(|one| one.taken.ordinal)
                    .collect();
                prop_assert!(of.windows(2).all(|two| two[0] < two[1]), "{:?}", of);
            }
            let names = names_of(&mut held);
            for one in came {
                let path = &names[&one.taken.context];
                let offsets = &samples[one.taken.ordinal as usize].1;
                prop_assert_eq!(path.len(), offsets.len());
                for (frame_of, offset) in path.iter().zip(offsets.iter().rev()) {
                    let named = frame(&format!("f{offset}"));
                    prop_assert!(*frame_of == named || *frame_of == frame(""));
                }
            }
        }
    }
}
