//! Members that wait for the others of their collective: one list for each collective, all of them
//! in one table, so that a collective that comes and goes takes no memory of its own.

use super::at_sites::At;
use super::meeting::Arrival;
use alloc::vec::Vec;

/// Members that wait at one place for others of their collective, some 16 MB: seconds of a place
/// whose ranks do nothing else. When more would wait, the older half of them is given up.
pub const WAITING_MAX: usize = 1 << 18;

/// A list of members; 0 is the empty one.
pub type List = u32;

#[derive(Clone, Copy, Debug)]
struct Entry {
    member: Arrival,
    at: At,
    next: List,
}

// What the memory that the limit states is computed from.
const _: () = assert!(size_of::<Entry>() == 40);

/// All members that wait.
#[derive(Clone, Debug, Default)]
pub struct Members {
    all: Vec<Entry>,
    free: List,
    len: usize,
}

impl Members {
    /// Members that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Puts a member before those of a list; the list.
    #[inline]
    pub fn push(&mut self, list: List, member: Arrival, at: At) -> List {
        let entry = Entry {
            member,
            at,
            next: list,
        };
        self.len += 1;
        let Some(index) = self.free.checked_sub(1) else {
            self.all.push(entry);
            return self.all.len() as List;
        };
        let free = &mut self.all[index as usize];
        self.free = free.next;
        *free = entry;
        index + 1
    }

    /// Takes a list out, and gives each of its members.
    #[inline]
    pub fn take(&mut self, list: List, mut each: impl FnMut(&Arrival, At)) {
        let mut next = list;
        while let Some(at) = next.checked_sub(1) {
            let entry = &mut self.all[at as usize];
            each(&entry.member, entry.at);
            next = entry.next;
            entry.next = self.free;
            self.free = at + 1;
            self.len -= 1;
        }
    }

    /// All members, to be changed. Free entries are among them: their content is not used.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Arrival> {
        self.all.iter_mut().map(|entry| &mut entry.member)
    }
}
