//! Reads bins that were moved out of their buffer, as by [`crate::Frozen::next_bin`]: each chain in
//! its order, all merged in order of their records' ends, as [`crate::Reader`] merges those of a
//! buffer.

use crate::contents::{BinError, Contents};
use crate::decode::Cursor;
use alloc::vec::Vec;

/// A bin that is none: where it came from, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainError {
    /// Which chain.
    pub chain: usize,
    /// What is wrong with the bin of it that was fetched last.
    pub error: BinError,
}

impl core::fmt::Display for ChainError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "in chain {}: {}", self.chain, self.error)
    }
}

impl core::error::Error for ChainError {}

/// The position of a reader in some chains. It holds one bin of each.
#[derive(Debug)]
pub struct Chains {
    chains: Vec<Chain>,
    /// The one whose record was lent.
    lent: Option<usize>,
}

#[derive(Debug)]
struct Chain {
    bytes: Vec<u8>,
    cursor: Cursor,
    /// The next record, whole.
    pending: Contents,
    is_pending: bool,
    is_over: bool,
}

impl Chains {
    /// At the begin of so many chains.
    pub fn new(chains: usize) -> Chains {
        let chain = || Chain {
            bytes: Vec::new(),
            cursor: Cursor::new(),
            pending: Contents::default(),
            is_pending: false,
            is_over: false,
        };
        Chains {
            chains: core::iter::repeat_with(chain).take(chains).collect(),
            lent: None,
        }
    }

    /// The next record. Of records with the same end, those of lower chains come first. `fetch`
    /// puts the next bin of a chain into an empty vector, or says that there is none.
    ///
    /// # Errors
    /// Those of `fetch`; and what is no bin.
    pub fn next<E: From<ChainError>>(
        &mut self,
        mut fetch: impl FnMut(usize, &mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<Option<&Contents>, E> {
        if let Some(lent) = self.lent.take() {
            self.chains[lent].is_pending = false;
        }
        let mut first: Option<(u64, usize)> = None;
        for (number, chain) in self.chains.iter_mut().enumerate() {
            if !chain.is_pending {
                chain.advance(number, &mut fetch)?;
            }
            let end = chain.pending.head.end();
            if chain.is_pending && first.is_none_or(|(least, _)| end < least) {
                first = Some((end, number));
            }
        }
        self.lent = first.map(|(_, number)| number);
        Ok(self.lent.map(|number| &self.chains[number].pending))
    }
}

impl Chain {
    /// Reads the next record with all its continuations.
    fn advance<E: From<ChainError>>(
        &mut self,
        number: usize,
        fetch: &mut impl FnMut(usize, &mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let wrong = |error| ChainError {
            chain: number,
            error,
        };
        while !self.is_over {
            if self.cursor.at_end(&self.bytes) {
                self.bytes.clear();
                if !fetch(number, &mut self.bytes)? {
                    self.is_over = true;
                    return Ok(());
                }
                self.cursor.begin(&self.bytes).map_err(wrong)?;
            } else if !self.is_pending {
                let read = self.cursor.next(&self.bytes, &mut self.pending);
                self.is_pending = read.map_err(wrong)?;
            } else if self.cursor.at_continuation(&self.bytes) {
                // More of the record, which may begin in the bin before.
                let read = self.cursor.continuation(&self.bytes, &mut self.pending);
                read.map_err(wrong)?;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }
}
