//! Reads chains of bins: each in its order, all merged in order of their records' ends, oldest
//! first.

use crate::arena::{Arena, BinId};
use crate::contents::{BinError, Contents};
use crate::decode::Cursor;
use crate::level::{Chain, Level};
use crate::strategy::Label;
use alloc::vec::Vec;

/// Reads records one by one; each lives until the next is asked for.
#[derive(Debug)]
pub struct Reader<'a> {
    arena: &'a Arena,
    merge: Merge,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(arena: &'a Arena, former: &[Chain], levels: &[Level]) -> Self {
        Reader {
            arena,
            merge: Merge::new(former, levels),
        }
    }

    /// The same, without the bins whose records ended before `ticks`.
    pub(crate) fn since(arena: &'a Arena, former: &[Chain], levels: &[Level], ticks: u64) -> Self {
        let mut reader = Reader::new(arena, former, levels);
        reader.merge.skip(arena, ticks, |_| ());
        reader
    }

    /// Reads no other levels than these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(Label) -> bool) {
        self.merge.chains.retain(|chain| is_kept(chain.label));
    }

    /// The next record. Of records with the same end, those of lower levels come first.
    ///
    /// # Errors
    /// When memory does not hold what was written, which is a fault of this program. Nothing
    /// follows then.
    #[allow(clippy::should_implement_trait)] // It lends.
    pub fn next(&mut self) -> Result<Option<&Contents>, BinError> {
        self.merge.next(self.arena, |_| ())
    }
}

/// The position of a reader in all levels. It does not hold the arena, so that writing may go on in
/// between, as long as nobody gives its bins back.
#[derive(Debug)]
pub(crate) struct Merge {
    chains: Vec<ChainReader>,
    /// The one whose record was lent.
    lent: Option<usize>,
}

/// Reads one chain, as long as it was when the reader was made.
#[derive(Debug)]
struct ChainReader {
    label: Label,
    /// The bin that is being read, and what comes behind it.
    bin: Option<BinId>,
    newest: BinId,
    newest_used: u32,
    begun: bool,
    cursor: Cursor,
    /// The next record, whole.
    pending: Contents,
    is_pending: bool,
}

impl Merge {
    pub fn new(former: &[Chain], levels: &[Level]) -> Self {
        let former = former.iter().map(|chain| (chain, None));
        let levels = levels
            .iter()
            .map(|level| (&level.chain, level.open.map(|_| level.writer.used() as u32)));
        let reader = |(chain, open_used): (&Chain, Option<u32>)| {
            Some(ChainReader {
                label: chain.label,
                bin: Some(chain.oldest()?),
                newest: chain.newest()?,
                // The open bin may grow while the reader lives; it is read as far as it was filled
                // at this moment.
                newest_used: open_used.unwrap_or(u32::MAX),
                begun: false,
                cursor: Cursor::new(),
                pending: Contents::default(),
                is_pending: false,
            })
        };

        Merge {
            chains: former.chain(levels).filter_map(reader).collect(),
            lent: None,
        }
    }

    /// The next record; `passed` is called with each bin that will not be read again.
    pub fn next(
        &mut self,
        arena: &Arena,
        mut passed: impl FnMut(BinId),
    ) -> Result<Option<&Contents>, BinError> {
        if let Some(lent) = self.lent.take() {
            // The record that was lent last is no longer in use.
            self.chains[lent].is_pending = false;
        }

        let mut first: Option<(u64, usize)> = None;
        for (index, chain) in self.chains.iter_mut().enumerate() {
            if !chain.is_pending {
                chain.advance(arena, &mut passed)?;
            }
            let end = chain.pending.head.end();
            // Strictly less: of equal ends the lower level comes first.
            if chain.is_pending && first.is_none_or(|(least, _)| end < least) {
                first = Some((end, index));
            }
        }

        self.lent = first.map(|(_, index)| index);
        Ok(self.lent.map(|index| &self.chains[index].pending))
    }

    /// Leaves out the bins whose records ended before `ticks`, as long as nothing was read;
    /// `passed` is called with each.
    pub fn skip(&mut self, arena: &Arena, ticks: u64, mut passed: impl FnMut(BinId)) {
        for chain in &mut self.chains {
            chain.skip(arena, ticks, &mut passed);
        }
    }

    /// Appends the next bin of the first chain that has one; the chain's number, and the bin, which
    /// will not be read again.
    pub fn next_bin(&mut self, arena: &Arena, into: &mut Vec<u8>) -> Option<(u32, BinId)> {
        let (number, chain) = (0..)
            .zip(&mut self.chains)
            .find(|(_, one)| one.bin.is_some())?;
        let bin = chain.bin?;
        into.extend_from_slice(chain.bytes(arena, bin));
        chain.bin = chain.behind(arena, bin);
        Some((number, bin))
    }

    /// Bytes in the bins that are still to be read.
    pub fn bytes_left(&self, arena: &Arena) -> u64 {
        let mut bytes = 0;
        for chain in &self.chains {
            let mut at = chain.bin;
            while let Some(bin) = at {
                bytes += chain.bytes(arena, bin).len() as u64;
                at = chain.behind(arena, bin);
            }
        }
        bytes
    }

    /// The bins that are still to be read, or half read.
    pub fn left(&self, arena: &Arena, mut each: impl FnMut(BinId)) {
        for chain in &self.chains {
            let mut at = chain.bin;
            while let Some(bin) = at {
                at = chain.behind(arena, bin);
                each(bin);
            }
        }
    }
}

impl ChainReader {
    /// The bin behind this one.
    fn behind(&self, arena: &Arena, bin: BinId) -> Option<BinId> {
        if bin == self.newest {
            None
        } else {
            arena.info(bin).next
        }
    }

    /// Passes over the bins whose records ended before `ticks`, as long as nothing of the chain was
    /// read. What is known of the newest bin holds only when it is closed, so it is never passed
    /// over.
    fn skip(&mut self, arena: &Arena, ticks: u64, passed: &mut impl FnMut(BinId)) {
        while let Some(bin) = self.bin
            && bin != self.newest
            && arena.info(bin).last_end < ticks
        {
            self.bin = self.behind(arena, bin);
            passed(bin);
        }
    }

    fn bytes<'a>(&self, arena: &'a Arena, bin: BinId) -> &'a [u8] {
        let used = if bin == self.newest && self.newest_used != u32::MAX {
            self.newest_used
        } else {
            arena.info(bin).used
        };
        arena.written(bin, used)
    }

    /// Reads the next record with all its continuations.
    fn advance(&mut self, arena: &Arena, passed: &mut impl FnMut(BinId)) -> Result<(), BinError> {
        let read = self.read(arena, passed);
        if read.is_err() {
            self.is_pending = false;
            // After an error the rest is skipped; a frozen view must still give its bins back.
            while let Some(bin) = self.bin {
                self.bin = self.behind(arena, bin);
                passed(bin);
            }
        }
        read
    }

    fn read(&mut self, arena: &Arena, passed: &mut impl FnMut(BinId)) -> Result<(), BinError> {
        while let Some(bin) = self.bin {
            let bytes = self.bytes(arena, bin);
            if !self.begun {
                self.cursor.begin(bytes)?;
                self.begun = true;
            }
            if self.is_pending {
                // More of the record may stand at the begin of this bin.
                if !self.cursor.at_end(bytes) {
                    // Another record begins: the pending one is whole.
                    if !self.cursor.at_continuation(bytes) {
                        return Ok(());
                    }
                    self.cursor.continuation(bytes, &mut self.pending)?;
                    continue;
                }
            } else if self.cursor.next(bytes, &mut self.pending)? {
                self.is_pending = true;
                continue;
            }
            self.begun = false;
            self.bin = self.behind(arena, bin);
            passed(bin);
        }

        Ok(())
    }
}
