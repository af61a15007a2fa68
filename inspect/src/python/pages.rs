//! Memory of a process by pages: each is read once, into room that was there before.

use crate::memory::ProcessMemory;

/// Bytes of a page, as on every system that we run on.
const PAGE_BYTES: usize = 4096;
/// Pages of one look. The newest thousand calls of Python lie in some thirty of them, before 3.11
/// in more than two hundred; each takes a thread that stands still for us about a microsecond.
const PAGES_MAX: usize = 256;

/// Room for pages, and what of it is used.
pub struct Pages {
    room: Vec<u8>,
    /// Where the pages lie in the process, in the order of the room.
    addresses: Vec<u64>,
}

impl Pages {
    /// Room that is written to, so that the kernel does not have to find it while a thread is
    /// stopped.
    pub fn room() -> Pages {
        Pages {
            room: vec![1; PAGES_MAX * PAGE_BYTES],
            addresses: Vec::with_capacity(PAGES_MAX),
        }
    }

    /// A word of the process.
    pub fn word(&mut self, memory: &ProcessMemory, address: u64) -> Option<u64> {
        self.bytes(memory, address).map(u64::from_ne_bytes)
    }

    /// A number of four bytes.
    pub fn number(&mut self, memory: &ProcessMemory, address: u64) -> Option<i32> {
        self.bytes(memory, address).map(i32::from_ne_bytes)
    }

    /// A byte.
    pub fn byte(&mut self, memory: &ProcessMemory, address: u64) -> Option<u8> {
        self.bytes(memory, address).map(|[byte]: [u8; 1]| byte)
    }

    fn bytes<const N: usize>(&mut self, memory: &ProcessMemory, address: u64) -> Option<[u8; N]> {
        let within = (address % PAGE_BYTES as u64) as usize;
        if within + N > PAGE_BYTES {
            // No compiler lays a number out like that: the address is garbage.
            return None;
        }
        let page = self.page(memory, address - within as u64)?;
        page.get(within..within + N)?.try_into().ok()
    }

    fn page(&mut self, memory: &ProcessMemory, address: u64) -> Option<&[u8]> {
        // The newest first: a call's words are neighbours.
        let known = self.addresses.iter().rposition(|known| *known == address);
        let at = match known {
            Some(at) => at,
            None if self.addresses.len() < PAGES_MAX => {
                let at = self.addresses.len();
                let room = &mut self.room[at * PAGE_BYTES..(at + 1) * PAGE_BYTES];
                if memory.read_some(address, room) < PAGE_BYTES {
                    return None;
                }
                self.addresses.push(address);
                at
            }
            None => return None,
        };
        self.room.get(at * PAGE_BYTES..(at + 1) * PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_few_pages() {
        let us = ProcessMemory::of(rustix::process::getpid()).expect("we may read ourselves");
        let numbers: Vec<u64> = (0..300_000).collect();
        let at = |index: usize| &raw const numbers[index] as u64;
        let mut pages = Pages::room();
        for index in [0, 1, 2, 511, 700, 0] {
            assert_eq!(pages.word(&us, at(index)), Some(index as u64));
            assert_eq!(pages.number(&us, at(index)), Some(index as i32));
            assert_eq!(pages.byte(&us, at(index)), Some(index as u8));
        }
        assert!(pages.addresses.len() <= 3);
        assert_eq!(pages.word(&us, 8), None, "nothing is there");
        assert_eq!(pages.word(&us, u64::MAX - 3), None, "and nothing behind");
        let read = numbers.iter().step_by(512).enumerate();
        let read = read.filter(|(index, _)| pages.word(&us, at(index * 512)).is_some());
        assert!(read.count() <= PAGES_MAX, "the room is bounded");
    }
}
