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
    /// How many keys more the slots have room for.
    room: usize,
    entries: Vec<Entry<T>>,
    /// The first entry that nobody has.
    free: u32,
    /// The key that was looked up last, and the entry of its first value; [`NONE`] where that has
    /// been taken out.
    recent: (u64, u32),
    /// Called when the table has moved in memory.
    moved: fn(TableAddress),
}

impl<T: Copy + Default> HandleTable<T> {
    /// An empty table, without memory. `moved` is called with its new address each time that it
    /// grows.
    pub const fn new(moved: fn(TableAddress)) -> Self {
        HandleTable {
            slots: Vec::new(),
            room: 0,
            entries: Vec::new(),
            free: NONE,
            recent: (0, NONE),
            moved,
        }
    }

    fn report_moved(&self) {
        (self.moved)(TableAddress {
            slots: (self.slots.as_ptr() as u64, self.slots.len() as u64),
            entries: (self.entries.as_ptr() as u64, self.entries.capacity() as u64),
        });
    }

    /// The slot of this number, counted around.
    #[inline(always)]
    fn slot(&mut self, at: usize) -> &mut Slot {
        let at = at & self.slots.len().wrapping_sub(1);
        // SAFETY: there are slots wherever one is asked for, a power of two.
        unsafe { self.slots.get_unchecked_mut(at) }
    }

    /// The entry of this number.
    #[inline(always)]
    fn entry(&mut self, number: u32) -> &mut Entry<T> {
        // SAFETY: numbers of entries come from slots, from entries and from `free`, which name only
        // entries that there are; entries are never removed.
        unsafe { self.entries.get_unchecked_mut(number as usize) }
    }

    /// The slot of `key`, or the free one where it belongs. There must be slots.
    #[inline(always)]
    fn place(&mut self, key: u64) -> usize {
        // At most half of the slots are taken, so that the search ends at a free one.
        let mut at = home(key, self.slots.len());
        loop {
            let slot = self.slot(at);
            if slot.key == key || slot.last == NONE {
                return at & (self.slots.len() - 1);
            }
            at += 1;
        }
    }

    /// The slot of `key`, if it has values.
    #[inline(always)]
    fn find(&mut self, key: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let at = self.place(key);
        (self.slot(at).last != NONE).then_some(at)
    }

    /// Adds a value behind those of the same key. Tables grow by doubling and never
    /// shrink.
    ///
    /// Inlined, so that a value of many fields is written where it is to lie: a copy of what was
    /// just written field by field would wait for all of them.
    #[inline(always)]
    pub fn insert(&mut self, key: u64, value: T) {
        if self.free == NONE {
            self.extend();
        }
        let new = self.free;
        let entry = self.entry(new);
        entry.value = value;
        self.free = entry.next;
        if self.room == 0 {
            self.grow();
        }
        let at = self.place(key);
        let last = self.slot(at).last;
        // A key's values are a ring, of which the slot names the last: the first comes behind it.
        let first = if last == NONE {
            self.room -= 1;
            new
        } else {
            core::mem::replace(&mut self.entry(last).next, new)
        };
        self.entry(new).next = first;
        *self.slot(at) = Slot { key, last: new };
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let doubled = (self.slots.len() * 2).max(SLOTS_MIN);
        self.room += (doubled - self.slots.len()) / 2;
        // Only slots move: entries keep their numbers, by which slots name them.
        let old = core::mem::replace(&mut self.slots, vec![FREE; doubled]);
        for slot in old.into_iter().filter(|slot| slot.last != NONE) {
            let at = self.place(slot.key);
            *self.slot(at) = slot;
        }
        self.report_moved();
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
    #[inline(always)]
    pub fn get(&mut self, key: u64) -> Option<&mut T> {
        let (recent, first) = self.recent;
        let first = if recent == key && first != NONE {
            first
        } else {
            self.first(key)?
        };
        Some(&mut self.entry(first).value)
    }

    /// The entry of the first value of this key, which is remembered: most programs ask for the
    /// same one over and over.
    #[inline(never)]
    fn first(&mut self, key: u64) -> Option<u32> {
        let at = self.find(key)?;
        let last = self.slot(at).last;
        let first = self.entry(last).next;
        self.recent = (key, first);
        Some(first)
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
        let last = self.slot(at).last;
        let first = self.entry(last).next;
        let free = self.free;
        let entry = self.entry(first);
        let (result, stays) = work(&mut entry.value);
        if !stays {
            let next = core::mem::replace(&mut entry.next, free);
            self.free = first;
            self.recent.1 = NONE;
            if first == last {
                self.room += 1;
                self.slot(at).last = NONE;
                if self.slot(at + 1).last != NONE {
                    self.close(at);
                }
            } else {
                self.entry(last).next = next;
            }
        }
        Some(result)
    }

    /// Closes the gap that a slot leaves which is free now.
    #[inline(never)]
    fn close(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut at = (gap + 1) & mask;
        while self.slot(at).last != NONE {
            let slot = *self.slot(at);
            let home = home(slot.key, self.slots.len());
            // A key may move into the gap unless its home lies behind the gap.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                *self.slot(gap) = slot;
                gap = at;
            }
            at = (at + 1) & mask;
        }
        *self.slot(gap) = FREE;
    }
}
