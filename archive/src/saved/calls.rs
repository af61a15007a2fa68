//! The calls of one location and its visits of regions, in order of their ends or of their begins.

use super::bins::{BinAt, BinsReader, CHAINS_MAX};
use super::checksums;
use super::clock::Clock;
use super::format::{EVENTS_FOLDER, Location, OpenRegion};
use super::reader::{SavedError, SavedObservation, What, sum_of};
use invivo_otfx::{Begins, Begun, ChainError, Chains, Contents, Head, Pass, WINDOW_DEFAULT};
use invivo_proto::ids::RegionId;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A call of an observation, or a visit of a region.
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

    /// It was not left: its end is [`OPEN_END`].
    pub fn is_open(&self) -> bool {
        self.contents.head.end() == OPEN_END
    }
}

/// The end of what was not left, in ticks.
pub const OPEN_END: u64 = u64::MAX;

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
    /// There are visits of regions.
    has_visits: bool,
    /// Regions that were not left.
    open: Vec<OpenRegion>,
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
            has_visits: of.visits.is_some() || !of.open_regions.is_empty(),
            open: of.open_regions.clone(),
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
            if !matches!(
                contents.head,
                Head::Call(_) | Head::Rest { .. } | Head::Region(_)
            ) {
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

    /// Begins anew.
    fn rewind(&mut self) {
        self.chains = Chains::new(self.bins.len());
        self.bins.iter_mut().for_each(|(_, read)| *read = 0);
    }

    /// The same in order of their begins, with the regions that were not left.
    ///
    /// # Errors
    /// As of [`Calls::next_call`].
    pub fn by_begin(mut self) -> Result<ByBegin, SavedError> {
        let mut early: Vec<SavedCall> = (0..)
            .zip(&self.open)
            .map(|(depth, open)| self.visit(depth, open))
            .collect();
        if self.has_visits {
            // What is long ends behind more than anybody holds back: it is looked for before.
            let mut begins = begins();
            while let Some((call, late)) = self.next_begun(&mut begins)? {
                if late {
                    early.push(call);
                }
            }
            self.rewind();
        }
        early.sort_by_key(order);
        Ok(ByBegin {
            calls: self,
            begins: begins(),
            early: early.into(),
            next: None,
            late: 0,
        })
    }

    /// A region that was not left.
    fn visit(&self, depth: usize, open: &OpenRegion) -> SavedCall {
        let pass = Pass {
            region: RegionId(open.number),
            end: OPEN_END,
            duration: OPEN_END - open.begin_ticks,
        };
        SavedCall {
            contents: Contents {
                head: Head::Region(pass),
                occupant: open.occupant,
                depth: u8::try_from(depth).unwrap_or(u8::MAX),
                ..Contents::default()
            },
            job_ns: open.begin_ns..u64::MAX,
        }
    }

    /// What begins next, and whether it began before what was given before it.
    fn next_begun(&mut self, begins: &mut Begins) -> Result<Option<(SavedCall, bool)>, SavedError> {
        let mut failed = None;
        // The reader's own error is of bins that it reads itself; here it reads none.
        let begun = begins.next(|| match self.next_call() {
            Ok(call) => Ok(call.map(|call| call.contents)),
            Err(error) => {
                failed = Some(error);
                Ok(None)
            }
        });
        match (failed, begun) {
            (Some(error), _) => Err(error),
            (None, Ok(Some(Begun::Record { record, late }))) => Ok(Some((self.call(record), late))),
            _ => Ok(None),
        }
    }
}

fn begins() -> Begins {
    Begins::new(WINDOW_DEFAULT, &[])
}

/// What began together is given from the outside in.
fn order(call: &SavedCall) -> (u64, u8) {
    (call.contents.head.begin(), call.contents.depth)
}

/// Calls and visits of regions in order of their begins.
#[derive(Debug)]
pub struct ByBegin {
    calls: Calls,
    begins: Begins,
    /// What would come too late, in order.
    early: VecDeque<SavedCall>,
    /// Of the others the next one.
    next: Option<SavedCall>,
    late: u64,
}

impl ByBegin {
    /// The next one.
    ///
    /// # Errors
    /// As of [`Calls::next_call`].
    pub fn next_call(&mut self) -> Result<Option<SavedCall>, SavedError> {
        while self.next.is_none()
            && let Some((call, late)) = self.calls.next_begun(&mut self.begins)?
        {
            match late && self.calls.has_visits {
                // It was given.
                true => {}
                false => {
                    self.late += u64::from(late);
                    self.next = Some(call);
                }
            }
        }
        let is_early = |early: &mut SavedCall| match &self.next {
            Some(next) => order(early) <= order(next),
            None => true,
        };
        let early = self.early.pop_front_if(is_early);
        Ok(early.or_else(|| self.next.take()))
    }

    /// Calls so far that began before one that was given before them.
    pub fn late(&self) -> u64 {
        self.late
    }
}
