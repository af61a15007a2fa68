//! A frozen view of the twin: copies, and which bins are held for them.

use super::level::Level;
use super::{Naive, is_record};
use invivo_otfx::Contents;
use std::collections::{BTreeSet, VecDeque};

/// What a view still has to read, by chain.
#[derive(Debug)]
pub struct View {
    pub(super) chains: Vec<ViewChain>,
    lent: Option<usize>,
}

#[derive(Debug)]
pub(super) struct ViewChain {
    pub(super) bins: VecDeque<(u64, VecDeque<Contents>)>,
    pending: Option<Contents>,
}

impl Naive {
    pub fn freeze(&mut self) {
        while self.free() < self.geometry.bins as usize / 4 {
            if self.make_room(self.levels.len() - 1, false).is_err() {
                break;
            }
        }
        let chain = |level: &Level| ViewChain {
            bins: level
                .bins
                .iter()
                .map(|bin| (bin.id, bin.items.iter().cloned().collect()))
                .collect(),
            pending: None,
        };
        let chains = self
            .all()
            .filter(|level| !level.bins.is_empty())
            .map(chain)
            .collect();
        self.frozen = Some(View { chains, lent: None });
    }

    /// The view's next record.
    pub fn read_frozen(&mut self) -> Option<Contents> {
        let view = self.frozen.as_mut()?;
        if let Some(lent) = view.lent.take() {
            view.chains[lent].pending = None;
        }
        for chain in &mut view.chains {
            if chain.pending.is_none() {
                chain.advance(&mut self.detached);
            }
        }
        let end = |index: &usize| {
            view.chains[*index]
                .pending
                .as_ref()
                .map(|record| record.head.end())
        };
        view.lent = (0..view.chains.len())
            .filter(|index| end(index).is_some())
            .min_by_key(end);
        view.chains[view.lent?].pending.clone()
    }

    pub fn thaw(&mut self) {
        self.frozen = None;
        self.detached.clear();
    }
}

impl ViewChain {
    /// Takes the next record with its continuations. A bin is done with as soon as its last record
    /// is taken.
    fn advance(&mut self, detached: &mut BTreeSet<u64>) {
        while let Some((id, items)) = self.bins.front_mut() {
            match (items.front(), &mut self.pending) {
                (Some(item), Some(pending)) if !is_record(item) => {
                    pending.parts.extend(&item.parts);
                    items.pop_front();
                }
                (Some(_), Some(_)) => return,
                (Some(_), pending) => *pending = items.pop_front(),
                (None, _) => {
                    detached.remove(id);
                    self.bins.pop_front();
                }
            }
        }
    }
}
