//! A multimap from MPI's handles to what is known of them.
//!
//! It works in constant time however many values share a handle.
//!
//! Several live requests can have one handle: both families give a shared one to operations that
//! are complete at once, and a program may post thousands of small sends before it waits for any.
//! Values of one key queue up: the one that was put in first is found and taken first. Other
//! processes read it, too: its layout in memory is that of [`invivo_proto::handles`].

use invivo_proto::handles::{Entry, NONE, Slot, home};

/// The empty slot.
const FREE: Slot = Slot { key: 0, last: NONE };

/// Slots of a table at first: room for half as many keys; a power of two.
const SLOTS_MIN: usize = 256;

/// Where a table lies in memory, for processes that read it from outside.
pub struct TableAddress {
    /// The address of its first slot, and their number.
    pub slots: (u64, u64),
    /// The address of its first entry, and for how many there is room.
    pub entries: (u64, u64),
}

/// Keys in an open-addressing table (linear probing, at most half full), values in a slab.
pub struct HandleTable<T> {
    slots: Vec<Slot>,
    keys: usize,
    entries: Vec<Entry<T>>,
    free: u32,
    /// Called when the table has moved in memory.
    moved: fn(TableAddress),
}

impl<T: Copy + Default> HandleTable<T> {
    /// An empty table, without memory. `moved` is called with its new address each time that it
    /// grows.
    pub const fn new(moved: fn(TableAddress)) -> Self {
        HandleTable {
            slots: Vec::new(),
            keys: 0,
            entries: Vec::new(),
            free: NONE,
            moved,
        }
    }

    fn report_moved(&self) {
        (self.moved)(TableAddress {
            slots: (self.slots.as_ptr() as u64, self.slots.len() as u64),
            entries: (self.entries.as_ptr() as u64, self.entries.capacity() as u64),
        });
    }

    fn home(&self, key: u64) -> usize {
        home(key, self.slots.len())
    }

    /// The slot of `key`, or the free one where it belongs. There must be slots.
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        // At most half of the slots are taken, so that the search ends at a free one.
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        while self.slots[at].last != NONE && self.slots[at].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// The slot of `key`, if it has values.
    #[inline(always)]
    fn find(&self, key: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let at = self.slot(key);
        (self.slots[at].last != NONE).then_some(at)
    }

    /// Adds a value behind those of the same key. Tables grow by doubling and never
    /// shrink.
    ///
    /// Inlined, so that a value of many fields is written where it is to lie: a copy of what was
    /// just written field by field would wait for all of them.
    #[inline(always)]
    pub fn insert(&mut self, key: u64, value: T) {
        let new = self.entry();
        self.entries[new as usize].value = value;
        self.link(key, new);
    }

    #[inline(never)]
    fn link(&mut self, key: u64, new: u32) {
        if self.keys * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.slot(key);
        let last = self.slots[at].last;
        // A key's values are a ring, of which the slot names the last: the first comes behind it.
        if last == NONE {
            self.keys += 1;
            self.entries[new as usize].next = new;
        } else {
            self.entries[new as usize].next = self.entries[last as usize].next;
            self.entries[last as usize].next = new;
        }
        self.slots[at] = Slot { key, last: new };
    }

    #[cold]
    fn grow(&mut self) {
        let doubled = (self.slots.len() * 2).max(SLOTS_MIN);
        // Only slots move: entries keep their numbers, by which slots name them.
        let old = core::mem::replace(&mut self.slots, vec![FREE; doubled]);
        for slot in old.into_iter().filter(|slot| slot.last != NONE) {
            let at = self.slot(slot.key);
            self.slots[at] = slot;
        }
        self.report_moved();
    }

    /// An entry that nobody has.
    #[inline(always)]
    fn entry(&mut self) -> u32 {
        if self.free == NONE {
            self.extend();
        }
        let entry = self.free;
        self.free = self.entries[entry as usize].next;
        entry
    }

    /// Makes one more entry, which is free.
    #[cold]
    #[inline(never)]
    fn extend(&mut self) {
        let is_full = self.entries.len() == self.entries.capacity();
        self.free = self.entries.len() as u32;
        self.entries.push(Entry {
            value: T::default(),
            next: NONE,
        });
        // Without slots the first ones are about to be made, and both are reported then.
        if is_full && !self.slots.is_empty() {
            self.report_moved();
        }
    }

    /// The first value of this key.
    pub fn get(&mut self, key: u64) -> Option<&mut T> {
        let at = self.find(key)?;
        let first = self.entries[self.slots[at].last as usize].next;
        Some(&mut self.entries[first as usize].value)
    }

    /// Takes the first value of this key out.
    pub fn remove(&mut self, key: u64) -> Option<T> {
        self.look(key, |value| (*value, false))
    }

    /// Shows `work` the first value of this key. Gives the first of what `work` gives, and takes
    /// the value out unless the second is true. One search for both, and no copy of what nobody
    /// wants.
    #[inline(always)]
    pub fn look<R>(&mut self, key: u64, work: impl FnOnce(&mut T) -> (R, bool)) -> Option<R> {
        let at = self.find(key)?;
        let last = self.slots[at].last;
        let first = self.entries[last as usize].next;
        let entry = &mut self.entries[first as usize];
        let (result, stays) = work(&mut entry.value);
        if !stays {
            let next = core::mem::replace(&mut entry.next, self.free);
            self.free = first;
            if first == last {
                self.keys -= 1;
                self.close(at);
            } else {
                self.entries[last as usize].next = next;
            }
        }
        Some(result)
    }

    /// Frees a slot and closes the gap.
    fn close(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut at = (gap + 1) & mask;
        while self.slots[at].last != NONE {
            let home = self.home(self.slots[at].key);
            // A key may move into the gap unless its home lies behind the gap.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = (at + 1) & mask;
        }
        self.slots[gap] = FREE;
    }
}
