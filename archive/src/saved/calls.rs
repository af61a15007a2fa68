//! The calls of one location, in order of their ends or of their begins.

use super::bins::{BinAt, BinsReader, CHAINS_MAX};
use super::checksums;
use super::clock::Clock;
use super::format::{EVENTS_FOLDER, Location};
use super::reader::{SavedError, SavedObservation, What, sum_of};
use invivo_otfx::{Begins, Begun, ChainError, Chains, Contents, Head, WINDOW_DEFAULT};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A call of an observation.
#[derive(Clone, Debug)]
pub struct SavedCall {
    /// What it was, with times in ticks.
    pub contents: Contents,
    /// When it began and ended, in job time.
    pub job_ns: Range<u64>,
}

impl SavedCall {
    /// The call was given up by the buffer, and more of what it completed was not: that is all
    /// that is known of it.
    pub fn is_rest(&self) -> bool {
        matches!(self.contents.head, Head::Rest { .. })
    }
}

/// The calls of a location that lie in the observation's interval.
#[derive(Debug)]
pub struct Calls {
    path: PathBuf,
    file: File,
    /// Where the bins of each chain are, and how many of them have been read.
    bins: Vec<(Vec<BinAt>, usize)>,
    chains: Chains,
    clock: Clock,
    interval: Range<u64>,
}

/// What went wrong while chains are read: the file, or a bin of a chain.
enum ReadError {
    Io(io::Error),
    Chain(ChainError),
}

impl From<ChainError> for ReadError {
    fn from(error: ChainError) -> ReadError {
        ReadError::Chain(error)
    }
}

impl SavedObservation {
    /// The calls of one of its locations. The file of events is checked from begin to end first.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn calls(&self, of: &Location) -> Result<Calls, SavedError> {
        let name = format!("{EVENTS_FOLDER}/{}.{}.bins", of.rank, of.thread);
        let path = self.dir().join(&name);
        let wrong = |what| SavedError {
            file: path.clone(),
            what,
        };
        let malformed = |why: &str| {
            wrong(What::Malformed {
                offset: 0,
                why: why.to_owned(),
            })
        };
        // No path of a damaged file is followed.
        if of.events.file != name {
            return Err(malformed("another file of events is named"));
        }
        let io = |error| wrong(What::Io(error));
        let file = File::open(&path).map_err(io)?;
        let (reader, place) =
            BinsReader::new(BufReader::new(&file)).map_err(|error| wrong(What::Frame(error)))?;
        if place != (of.rank, of.thread) || of.events.chains > CHAINS_MAX {
            return Err(malformed("it is of another location"));
        }
        let mut bins = vec![(Vec::new(), 0); of.events.chains as usize];
        let mut reader = reader;
        let mut content = Vec::new();
        while let Some(bin) = reader
            .next(&mut content)
            .map_err(|error| wrong(What::Frame(error)))?
        {
            let chain = bins.get_mut(bin.chain as usize);
            let (chain, _) =
                chain.ok_or_else(|| malformed("it has more chains than were saved"))?;
            chain.push(bin);
        }
        let sum = sum_of(File::open(&path).map_err(io)?).map_err(io)?;
        if sum.bytes != of.events.bytes || checksums::hex(sum.crc32) != of.events.crc32 {
            return Err(wrong(What::Checksum));
        }
        let about = self.about();
        Ok(Calls {
            chains: Chains::new(bins.len()),
            clock: Clock::of(&of.clock).ok_or_else(|| malformed("its clock runs backwards"))?,
            interval: about.from_ns..about.to_ns,
            path,
            file,
            bins,
        })
    }
}

impl Calls {
    /// The next call, in order of their ends.
    ///
    /// # Errors
    /// What is wrong with the file of events.
    pub fn next_call(&mut self) -> Result<Option<SavedCall>, SavedError> {
        loop {
            let Some(contents) = self.record()? else {
                return Ok(None);
            };
            if !matches!(contents.head, Head::Call(_) | Head::Rest { .. }) {
                continue;
            }
            let call = self.call(contents);
            if call.job_ns.end >= self.interval.start && call.job_ns.start < self.interval.end {
                return Ok(Some(call));
            }
        }
    }

    /// The job time of ticks, in ns, as of the times of its calls.
    pub fn job_ns(&self, ticks: u64) -> u64 {
        self.clock.job_ns(ticks)
    }

    fn call(&self, contents: Contents) -> SavedCall {
        let (begin, end) = (contents.head.begin(), contents.head.end());
        SavedCall {
            job_ns: self.clock.job_ns(begin)..self.clock.job_ns(end),
            contents,
        }
    }

    fn record(&mut self) -> Result<Option<Contents>, SavedError> {
        let (bins, file) = (&mut self.bins, &self.file);
        let read = self.chains.next(|chain, into: &mut Vec<u8>| {
            let (bins, read) = &mut bins[chain];
            let Some(bin) = bins.get(*read) else {
                return Ok(false);
            };
            *read += 1;
            into.resize(bin.bytes as usize, 0);
            file.read_exact_at(into, bin.offset)
                .map_err(ReadError::Io)?;
            Ok::<_, ReadError>(true)
        });
        let error = match read {
            Ok(contents) => return Ok(contents.cloned()),
            Err(ReadError::Io(error)) => What::Io(error),
            Err(ReadError::Chain(ChainError { chain, error })) => {
                let (bins, read) = &self.bins[chain];
                let bin = read.checked_sub(1).and_then(|at| bins.get(at));
                let offset = bin.map_or(0, |bin| bin.offset);
                What::Bin { offset, error }
            }
        };
        Err(SavedError {
            file: self.path.clone(),
            what: error,
        })
    }

    /// The same calls in order of their begins.
    pub fn by_begin(self) -> ByBegin {
        ByBegin {
            calls: self,
            begins: Begins::new(WINDOW_DEFAULT, &[]),
            late: 0,
        }
    }
}

/// Calls in order of their begins.
#[derive(Debug)]
pub struct ByBegin {
    calls: Calls,
    begins: Begins,
    late: u64,
}

impl ByBegin {
    /// The next call.
    ///
    /// # Errors
    /// As of [`Calls::next_call`].
    pub fn next_call(&mut self) -> Result<Option<SavedCall>, SavedError> {
        let (calls, begins) = (&mut self.calls, &mut self.begins);
        let mut failed = None;
        // The reader's own error is of bins that it reads itself; here it reads none.
        let begun = begins.next(|| match calls.next_call() {
            Ok(call) => Ok(call.map(|call| call.contents)),
            Err(error) => {
                failed = Some(error);
                Ok(None)
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        match begun {
            Ok(Some(Begun::Record { record, late })) => {
                self.late += u64::from(late);
                Ok(Some(self.calls.call(record)))
            }
            _ => Ok(None),
        }
    }

    /// Calls so far that began before one that was given before them.
    pub fn late(&self) -> u64 {
        self.late
    }
}
