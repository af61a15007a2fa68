//! Names communicators in the whole job, so that members agree on a name without telling each
//! other.
//!
//! All members of a communicator make new ones of it in the same order, so that its name and the
//! number in that order are known to all of them. The communicators that one such call makes have
//! no member in common (the parts of a split): their rank 0 tells them apart. So a name is a list
//! of numbers and a rank. The list begins where the chain of such calls does: at the world, or at a
//! communicator that its rank 0 has numbered itself and told the others (*led*).
//!
//! The list lies in 32 bits, in Elias' delta code, which gives small numbers few bits. What has no
//! room is led: nobody shortens a name, so that no two are the same.

use crate::ids::{CommId, Rank};
use core::fmt;

/// The code of the list that holds a single 0, the world's, which counts as 0.
const WORLD_CODE: u32 = 0b11;

impl CommId {
    /// `MPI_COMM_WORLD` of the application.
    pub const WORLD: CommId = CommId {
        leader: Rank(0),
        counter: 0,
    };

    /// The id of a communicator that `leader` has given a number of its own, from 1. None where the
    /// numbers are used up, after some millions.
    pub fn led(leader: Rank, number: u32) -> Option<CommId> {
        Some(CommId {
            leader,
            counter: append(1, u64::from(number) + 1)? - WORLD_CODE,
        })
    }

    /// The id of a communicator with the rank 0 `leader` that was made of this one, by the
    /// `ordinal`-th call that all its members made in the same order, from 1. None where it must be
    /// led.
    pub fn made_of(self, ordinal: u64, leader: Rank) -> Option<CommId> {
        let code = self.counter.checked_add(WORLD_CODE)?;
        // Numbers of different leaders are the same: below one of them only its own chain goes on.
        let begins_at_world = self.numbers().next() == Some(0);
        if ordinal == 0 || !(begins_at_world || leader == self.leader) {
            return None;
        }
        Some(CommId {
            leader,
            counter: append(code, ordinal)? - WORLD_CODE,
        })
    }

    /// The list of numbers. Of bytes that are no id it is what can be read of them.
    pub fn numbers(self) -> Numbers {
        let code = u64::from(self.counter) + u64::from(WORLD_CODE);
        Numbers {
            code,
            left: code.ilog2(),
            is_first: true,
        }
    }
}

/// A rank, where the chain begins, and what was made of what: `3.0/5/2` is the second made of the
/// fifth made of the world, and its rank 0 is rank 3.
impl fmt::Display for CommId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.leader)?;
        for (index, number) in self.numbers().enumerate() {
            write!(f, "{}{number}", if index == 0 { '.' } else { '/' })?;
        }
        Ok(())
    }
}

/// Appends a number, from 1, to a code, unless it has no room.
fn append(code: u32, number: u64) -> Option<u32> {
    let low_bits = number.checked_ilog2()?;
    let length = low_bits + 1;
    // The length of the length in zeroes, the length, and the number without its first bit.
    let bits = low_bits + 2 * length.ilog2() + 1;
    if code.leading_zeros() < bits {
        return None;
    }
    let low = number as u32 & ((1 << low_bits) - 1);
    Some(code << bits | length << low_bits | low)
}

/// The numbers of an id, from the first.
#[derive(Clone, Debug)]
pub struct Numbers {
    code: u64,
    /// How many of its low bits are not read yet.
    left: u32,
    is_first: bool,
}

impl Numbers {
    fn bits(&mut self, count: u32) -> Option<u64> {
        self.left = self.left.checked_sub(count)?;
        Some(self.code >> self.left & ((1 << count) - 1))
    }
}

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut zeroes = 0;
        while self.bits(1)? == 0 {
            zeroes += 1;
        }
        let low_bits = (1 << zeroes | self.bits(zeroes)?) - 1;
        let low_bits = u32::try_from(low_bits)
            .ok()
            .filter(|bits| *bits < u64::BITS)?;
        let number = 1 << low_bits | self.bits(low_bits)?;
        // The first counts from 0.
        Some(number - u64::from(core::mem::take(&mut self.is_first)))
    }
}
