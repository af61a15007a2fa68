//! Equal parts of a limit: what one holder (a token) can take at most of what all share, so that
//! there is something left for the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What each holder has taken; clones share it.
#[derive(Clone, Debug)]
pub struct Shares<K: Ord> {
    most: usize,
    taken: Arc<Mutex<BTreeMap<K, usize>>>,
}

/// What a holder has taken, given back when this is dropped.
#[derive(Debug)]
pub struct Share<K: Ord + Copy> {
    shares: Shares<K>,
    holder: K,
    amount: usize,
}

impl<K: Ord + Copy> Shares<K> {
    /// Of which each holder takes `most` at once.
    pub fn new(most: usize) -> Shares<K> {
        Shares {
            most,
            taken: Arc::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part for a holder; nothing where that would be too much.
    pub fn take(&self, holder: K, amount: usize) -> Option<Share<K>> {
        let mut taken = self.taken();
        let before = taken.get(&holder).copied().unwrap_or(0);
        let after = before.checked_add(amount).filter(|all| *all <= self.most)?;
        taken.insert(holder, after);
        Some(Share {
            shares: self.clone(),
            holder,
            amount,
        })
    }
}

impl<K: Ord + Copy> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        let rest = taken.get(&self.holder).map_or(0, |all| all - self.amount);
        // Only holders that have something are kept: there may be many in the life of a job.
        if rest == 0 {
            taken.remove(&self.holder);
        } else {
            taken.insert(self.holder, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_cannot_take_the_part_of_others() {
        let shares = Shares::new(3);
        let (two, one) = (shares.take("a", 2), shares.take("a", 1));
        assert!(two.is_some() && one.is_some());
        assert!(shares.take("a", 1).is_none() && shares.take("a", usize::MAX).is_none());
        let other = shares.take("b", 3).expect("its own part");
        drop(two);
        assert!(shares.take("a", 3).is_none());
        assert!(shares.take("a", 2).is_some(), "given back");
        drop((one, other));
        assert!(shares.taken().is_empty(), "nobody is remembered");
    }
}
