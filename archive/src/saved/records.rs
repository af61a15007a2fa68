//! The records of one location, as its bins have them: calls, visits of regions and samples.

use super::bins::{BinAt, BinsReader, CHAINS_MAX};
use super::checksums;
use super::clock::Clock;
use super::format::{EVENTS_FOLDER, Location};
use super::reader::{SavedError, SavedObservation, What, sum_of};
use super::saved_call::SavedCall;
use invivo_otfx::{ChainError, Chains, Contents, Head};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The records of a location that lie in the observation's interval.
#[derive(Debug)]
pub struct Records {
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
    /// All records of one of its locations. The file of events is checked from begin to end first.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn records(&self, of: &Location) -> Result<Records, SavedError> {
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
        Ok(Records {
            chains: Chains::new(bins.len()),
            clock: Clock::of(&of.clock).ok_or_else(|| malformed("its clock runs backwards"))?,
            interval: about.from_ns..about.to_ns,
            path,
            file,
            bins,
        })
    }
}

impl Records {
    /// The next call, visit or sample, in order of their ends. Of a sample begin and end are when
    /// it was taken.
    ///
    /// # Errors
    /// What is wrong with the file of events.
    pub fn next_record(&mut self) -> Result<Option<SavedCall>, SavedError> {
        self.next_of(|head| {
            matches!(
                head,
                Head::Call(_) | Head::Rest { .. } | Head::Region(_) | Head::Sample { .. }
            )
        })
    }

    /// The next one that is wanted, in order of their ends.
    pub(super) fn next_of(
        &mut self,
        is_wanted: impl Fn(&Head) -> bool,
    ) -> Result<Option<SavedCall>, SavedError> {
        loop {
            let Some(contents) = self.record(&is_wanted)? else {
                return Ok(None);
            };
            let call = self.call(contents);
            if call.job_ns.end >= self.interval.start && call.job_ns.start < self.interval.end {
                return Ok(Some(call));
            }
        }
    }

    /// The job time of ticks, in ns, as of the times of its records.
    pub fn job_ns(&self, ticks: u64) -> u64 {
        self.clock.job_ns(ticks)
    }

    /// A record with its job time.
    pub(super) fn call(&self, contents: Contents) -> SavedCall {
        let (begin, end) = (contents.head.begin(), contents.head.end());
        SavedCall {
            job_ns: self.clock.job_ns(begin)..self.clock.job_ns(end),
            contents,
        }
    }

    /// The next record that is wanted, wherever it lies in time.
    fn record(
        &mut self,
        is_wanted: &impl Fn(&Head) -> bool,
    ) -> Result<Option<Contents>, SavedError> {
        loop {
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
                // What is not wanted is not copied.
                Ok(Some(contents)) if !is_wanted(&contents.head) => continue,
                Ok(contents) => return Ok(contents.cloned()),
                Err(ReadError::Io(error)) => What::Io(error),
                Err(ReadError::Chain(ChainError { chain, error })) => {
                    let (bins, read) = &self.bins[chain];
                    let bin = read.checked_sub(1).and_then(|at| bins.get(at));
                    let offset = bin.map_or(0, |bin| bin.offset);
                    What::Bin { offset, error }
                }
            };
            return Err(SavedError {
                file: self.path.clone(),
                what: error,
            });
        }
    }

    /// Begins anew.
    pub(super) fn rewind(&mut self) {
        self.chains = Chains::new(self.bins.len());
        self.bins.iter_mut().for_each(|(_, read)| *read = 0);
    }
}
