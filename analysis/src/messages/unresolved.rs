//! Endpoints whose channel is not known yet, because a definition or a group is still on its way.

use super::endpoint::Endpoint;
use super::marks::Side;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use hashbrown::HashMap;
use invivo_proto::ids::{CommLocal, Rank};
use rustc_hash::FxBuildHasher;

/// Endpoints that wait for the definition of their communicator or for its group: some 4 MB.
/// Further ones are given up.
pub const UNRESOLVED_MAX: usize = 1 << 16;

/// A rank, its number of the communicator, and its peer there. What one of these waits for, all
/// behind it do, so that they keep their order.
pub type Key = (Rank, CommLocal, i32);

/// One endpoint that waits.
#[derive(Clone, Copy, Debug)]
pub struct Unresolved {
    pub side: Side,
    pub tag: i32,
    pub endpoint: Endpoint,
}

#[derive(Clone, Debug, Default)]
pub struct Unknown {
    by_key: HashMap<Key, VecDeque<Unresolved>, FxBuildHasher>,
    len: usize,
    /// Keys by which something waits since they were asked for; none of them twice in a row.
    new_keys: Vec<Key>,
}

impl Unknown {
    /// Whether others wait already that must go first.
    #[inline]
    pub fn waits(&self, key: &Key) -> bool {
        // Mostly nothing waits at all: that costs no hash.
        self.len != 0 && self.by_key.contains_key(key)
    }

    /// Lets one wait; false when there is no room.
    pub fn push(&mut self, key: Key, one: Unresolved) -> bool {
        if self.len >= UNRESOLVED_MAX {
            return false;
        }
        self.len += 1;
        let waiting = self.by_key.entry(key).or_default();
        if waiting.is_empty() && self.new_keys.len() < UNRESOLVED_MAX {
            self.new_keys.push(key);
        }
        waiting.push_back(one);
        true
    }

    /// What waits by one key is taken out, all of it.
    pub fn take(&mut self, key: &Key) -> VecDeque<Unresolved> {
        let taken = self.by_key.remove(key).unwrap_or_default();
        self.len -= taken.len();
        taken
    }

    /// Keys by which something has begun to wait since the last call.
    pub fn take_new_keys(&mut self) -> Vec<Key> {
        core::mem::take(&mut self.new_keys)
    }

    /// All keys by which something waits.
    pub fn keys(&self) -> Vec<Key> {
        self.by_key.keys().copied().collect()
    }

    /// All that wait, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Unresolved> {
        self.by_key.values_mut().flatten()
    }

    /// All that wait.
    pub fn iter(&self) -> impl Iterator<Item = &Unresolved> {
        self.by_key.values().flatten()
    }
}
