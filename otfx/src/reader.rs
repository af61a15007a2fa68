//! Reads a buffer: the records of all levels, merged in order of their end, oldest first.

use crate::arena::{Arena, BinId};
use crate::bin::{BinError, BinReader};
use crate::level::Level;
use alloc::vec::Vec;
use invivo_proto::record::{Call, Decoded, Part};

/// What a record's parts belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A kept call.
    Call(Call),
    /// A call that was given up while the rest of it, in the next bin, was not: history is clipped here. Its
    /// completions stand for themselves.
    Clipped {
        /// The end of the call.
        end: u64,
    },
}

/// A record as it was stored, its continuations joined again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The call.
    pub head: Head,
    /// What it did beside its head's facts.
    pub parts: &'a [Part],
}

/// Reads records one by one; each lives until the next is asked for.
#[derive(Debug)]
pub struct Reader<'a> {
    levels: Vec<LevelReader<'a>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(arena: &'a Arena, levels: &[Level]) -> Self {
        let levels = levels
            .iter()
            .map(|level| LevelReader::new(arena, level))
            .collect();
        Reader { levels }
    }

    /// The next record. Of records with the same end, those of lower levels come first.
    ///
    /// # Errors
    /// When memory does not hold what was written, which is a fault of this program. Nothing follows then.
    #[allow(clippy::should_implement_trait)] // It lends.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, BinError> {
        let mut first: Option<(u64, usize)> = None;
        for (index, level) in self.levels.iter_mut().enumerate() {
            if let Some(end) = level.peek()?
                && first.is_none_or(|(least, _)| end < least)
            {
                first = Some((end, index));
            }
        }
        match first {
            Some((_, index)) => self.levels[index].take(),
            None => Ok(None),
        }
    }
}

/// Reads one level.
#[derive(Debug)]
struct LevelReader<'a> {
    arena: &'a Arena,
    next_bin: Option<BinId>,
    bin: Option<BinReader<'a>>,
    /// Read but for its parts.
    pending: Option<Decoded>,
    parts: Vec<Part>,
}

impl<'a> LevelReader<'a> {
    fn new(arena: &'a Arena, level: &Level) -> Self {
        LevelReader {
            arena,
            next_bin: level.oldest(),
            bin: None,
            pending: None,
            parts: Vec::new(),
        }
    }

    /// The end of the record that [`LevelReader::take`] gives next.
    fn peek(&mut self) -> Result<Option<u64>, BinError> {
        if self.pending.is_none() {
            self.pending = self.advance()?;
        }
        Ok(self.pending.map(|decoded| match decoded {
            Decoded::Call(call, _) => call.end,
            Decoded::Continuation { end, .. } => end,
        }))
    }

    fn take(&mut self) -> Result<Option<Record<'_>>, BinError> {
        let Some(decoded) = self.pending.take() else {
            return Ok(None);
        };
        self.parts.clear();
        let head = match decoded {
            Decoded::Call(call, parts) => {
                self.read_parts(parts)?;
                Head::Call(call)
            }
            Decoded::Continuation { end, parts } => {
                self.read_parts(parts)?;
                Head::Clipped { end }
            }
        };
        loop {
            match self.advance()? {
                Some(Decoded::Continuation { parts, .. }) => self.read_parts(parts)?,
                other => {
                    self.pending = other;
                    return Ok(Some(Record {
                        head,
                        parts: &self.parts,
                    }));
                }
            }
        }
    }

    fn read_parts(&mut self, parts: usize) -> Result<(), BinError> {
        if let Some(bin) = &mut self.bin {
            for _ in 0..parts {
                match bin.part() {
                    Ok(part) => self.parts.push(part),
                    Err(error) => return self.fail(error),
                }
            }
        }
        Ok(())
    }

    /// The head of the next record, in this bin or the next.
    fn advance(&mut self) -> Result<Option<Decoded>, BinError> {
        loop {
            if let Some(bin) = &mut self.bin {
                match bin.record() {
                    Ok(Some(decoded)) => return Ok(Some(decoded)),
                    Ok(None) => self.bin = None,
                    Err(error) => return self.fail(error),
                }
            }
            let Some(bin) = self.next_bin else { return Ok(None) };
            self.next_bin = self.arena.info(bin).next;
            match BinReader::new(self.arena.written(bin)) {
                Ok(reader) => self.bin = Some(reader),
                Err(error) => return self.fail(error),
            }
        }
    }

    fn fail<T>(&mut self, error: BinError) -> Result<T, BinError> {
        self.bin = None;
        self.next_bin = None;
        Err(error)
    }
}
