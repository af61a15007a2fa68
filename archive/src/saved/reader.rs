//! Opens a saved observation: each of its files is checked against its checksum before anything of
//! it is believed.

use super::bins::FrameError;
use super::checksums::{self, Sum};
use super::contexts;
use super::format::{
    ABOUT_FILE, About, COMMUNICATORS_FILE, CommId, Communicator, Context, LOCATIONS_FILE, Location,
    Membership, Region, VERSION,
};
use super::groups::{Group, WORLD};
use invivo_otfx::BinError;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a line, or of the file about the whole: a rank with all communicators that can be told
/// has some 6 MB.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// What is wrong with a saved observation, and in which file.
#[derive(Debug)]
pub struct SavedError {
    pub file: PathBuf,
    pub what: What,
}

/// What is wrong.
#[derive(Debug)]
pub enum What {
    /// It cannot be read.
    Io(io::Error),
    /// There is no observation in the directory.
    NoObservation,
    /// It is of a newer version.
    Version(u32),
    /// Its bytes are not those that were written: another length or checksum.
    Checksum,
    /// Not what it must say, from this byte on.
    Malformed { offset: u64, why: String },
    /// A file of events.
    Frame(FrameError),
    /// A bin in a file of events.
    Bin {
        /// Where its content begins.
        offset: u64,
        error: BinError,
    },
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.what {
            What::Io(error) => write!(f, "cannot read {file}: {error}"),
            What::NoObservation => write!(
                f,
                "{file} is not there: the directory holds no observation that invivo save has \
                 written"
            ),
            What::Version(version) => write!(
                f,
                "{file}: the observation is of version {version}, and this invivo reads version \
                 {VERSION}; use the invivo that wrote it"
            ),
            What::Checksum => write!(
                f,
                "{file} is damaged: its length or checksum is another than when it was written"
            ),
            What::Malformed { offset, why } => {
                write!(f, "{file} is damaged at byte {offset}: {why}")
            }
            What::Frame(error) => write!(f, "{file}: {error}"),
            What::Bin { offset, error } => {
                write!(f, "{file}: in the bin at byte {offset}: {error}")
            }
        }
    }
}

impl std::error::Error for SavedError {}

/// A saved observation, without its events: those are read location by location.
#[derive(Debug)]
pub struct SavedObservation {
    dir: PathBuf,
    about: About,
    /// In the order of ranks and threads.
    locations: Vec<Location>,
    /// Communicators as they were told.
    told: Vec<Communicator>,
    groups: HashMap<CommId, Group>,
    /// What ranks call their communicators, in the order of the numbers.
    memberships: HashMap<u32, Vec<Membership>>,
    /// What ranks call their regions, in the order of the numbers.
    regions: HashMap<u32, Vec<Region>>,
    /// Calling contexts of ranks, checked, in the order of the numbers.
    pub(super) contexts: HashMap<u32, Vec<Context>>,
}

impl SavedObservation {
    /// Opens the observation in a directory.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(dir: &Path) -> Result<SavedObservation, SavedError> {
        let sums = sums(&dir.join(checksums::FILE))?;
        let about = {
            let mut lines = Lines::open(dir, ABOUT_FILE, &sums)?;
            let about: About = lines.whole()?;
            if about.version != VERSION {
                return Err(lines.wrong(What::Version(about.version)));
            }
            about
        };
        let mut communicators = Lines::open(dir, COMMUNICATORS_FILE, &sums)?;
        let mut groups = HashMap::from([(WORLD, Group::world(about.job.ranks))]);
        let mut told = Vec::new();
        while let Some(one) = communicators.next::<Communicator>()? {
            groups.insert(one.id, Group::of(&one));
            told.push(one);
        }
        let mut lines = Lines::open(dir, LOCATIONS_FILE, &sums)?;
        let (mut locations, mut memberships) = (Vec::new(), HashMap::new());
        let (mut regions, mut contexts) = (HashMap::new(), HashMap::new());
        while let Some(mut location) = lines.next::<Location>()? {
            if location.rank >= about.job.ranks {
                return Err(lines.malformed(format!("the job has no rank {}", location.rank)));
            }
            let of_rank = std::mem::take(&mut location.communicators);
            if !of_rank.is_empty() {
                memberships.insert(location.rank, of_rank);
            }
            let mut of_rank = std::mem::take(&mut location.regions);
            if !of_rank.is_empty() {
                of_rank.sort_unstable_by_key(|of| of.number);
                regions.insert(location.rank, of_rank);
            }
            let of_rank = std::mem::take(&mut location.contexts);
            if !of_rank.is_empty() {
                let of_rank = contexts::checked(of_rank);
                let of_rank = of_rank
                    .map_err(|error| lines.malformed(format!("rank {}: {error}", location.rank)))?;
                contexts.insert(location.rank, of_rank);
            }
            locations.push(location);
        }
        locations.sort_by_key(|location| (location.rank, location.thread));
        let place = |location: &Location| (location.rank, location.thread);
        let is_twice = locations
            .windows(2)
            .any(|pair| place(&pair[0]) == place(&pair[1]));
        if is_twice || locations.len() as u64 != about.locations {
            return Err(lines.malformed("other locations than were saved".to_owned()));
        }
        for of_rank in memberships.values_mut() {
            of_rank.sort_unstable_by_key(|of: &Membership| of.number);
        }
        Ok(SavedObservation {
            dir: dir.to_owned(),
            about,
            locations,
            told,
            groups,
            memberships,
            regions,
            contexts,
        })
    }

    /// What it is of.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Its locations, in the order of ranks and threads.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// The directory that it is in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A rank's membership in the communicator that it has given a number.
    pub fn membership(&self, rank: u32, number: u32) -> Option<&Membership> {
        let of_rank = self.memberships.get(&rank)?;
        let at = of_rank.binary_search_by_key(&number, |of| of.number).ok()?;
        of_rank.get(at)
    }

    /// All memberships of all ranks that were saved.
    pub fn memberships(&self) -> impl Iterator<Item = (u32, &Membership)> {
        let each = |(rank, of): (&u32, _)| (*rank, of);
        let of_ranks = self.memberships.iter().map(each);
        of_ranks
            .flat_map(|(rank, of): (u32, &Vec<Membership>)| of.iter().map(move |one| (rank, one)))
    }

    /// The communicators whose members are known, but for the world.
    pub fn communicators(&self) -> &[Communicator] {
        &self.told
    }

    /// A communicator's members; nothing where they are not known.
    pub fn group(&self, id: CommId) -> Option<&Group> {
        self.groups.get(&id)
    }

    /// The rank of the job that a peer is.
    pub fn peer(&self, of: &Membership, peer: i32) -> Option<u32> {
        self.group(of.peers)?.rank(u32::try_from(peer).ok()?)
    }

    /// A rank's region by its number.
    pub fn region(&self, rank: u32, number: u16) -> Option<&Region> {
        let of_rank = self.regions(rank);
        let at = of_rank.binary_search_by_key(&number, |of| of.number).ok()?;
        of_rank.get(at)
    }

    /// The name of a rank's region by its number.
    pub fn region_name(&self, rank: u32, number: u16) -> String {
        let known = self.region(rank, number);
        known.map_or_else(|| format!("region {number}"), |of| of.name.clone())
    }

    /// The regions that a rank has met, in the order of their numbers.
    pub fn regions(&self, rank: u32) -> &[Region] {
        self.regions.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// The name of a function by its number.
    pub fn function(&self, number: u16) -> &str {
        let name = self.about.functions.get(usize::from(number));
        name.map_or("unknown function", String::as_str)
    }
}

fn sums(path: &Path) -> Result<HashMap<String, Sum>, SavedError> {
    let wrong = |what| SavedError {
        file: path.to_owned(),
        what,
    };
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong(What::NoObservation),
        _ => wrong(What::Io(error)),
    })?;
    let mut text = String::new();
    let read = file
        .take(checksums::BYTES_MAX as u64)
        .read_to_string(&mut text);
    read.map_err(|error| wrong(What::Io(error)))?;
    let sums = checksums::read(&text).map_err(|offset| {
        wrong(What::Malformed {
            offset,
            why: "it is not as it was written".to_owned(),
        })
    })?;
    Ok(sums
        .into_iter()
        .map(|(name, sum)| (name.to_owned(), sum))
        .collect())
}

/// A text file whose checksum is right.
struct Lines {
    path: PathBuf,
    input: BufReader<File>,
    offset: u64,
}

impl Lines {
    fn open(dir: &Path, name: &str, sums: &HashMap<String, Sum>) -> Result<Lines, SavedError> {
        let path = dir.join(name);
        let wrong = |what| SavedError {
            file: path.clone(),
            what,
        };
        let said = sums.get(name).ok_or_else(|| wrong(What::Checksum))?;
        let open = || File::open(&path).map_err(|error| wrong(What::Io(error)));
        let found = sum_of(open()?).map_err(|error| wrong(What::Io(error)))?;
        if found != *said {
            return Err(wrong(What::Checksum));
        }
        let input = BufReader::new(open()?);
        Ok(Lines {
            path,
            input,
            offset: 0,
        })
    }

    fn wrong(&self, what: What) -> SavedError {
        SavedError {
            file: self.path.clone(),
            what,
        }
    }

    fn malformed(&self, why: String) -> SavedError {
        let offset = self.offset;
        self.wrong(What::Malformed { offset, why })
    }

    fn whole<T: DeserializeOwned>(&mut self) -> Result<T, SavedError> {
        let mut text = Vec::new();
        let read = (&mut self.input)
            .take(LINE_BYTES_MAX)
            .read_to_end(&mut text);
        read.map_err(|error| self.wrong(What::Io(error)))?;
        serde_json::from_slice(&text).map_err(|error| self.malformed(error.to_string()))
    }

    fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, SavedError> {
        let mut line = Vec::new();
        let read = (&mut self.input)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line);
        let bytes = read.map_err(|error| self.wrong(What::Io(error)))?;
        if bytes == 0 {
            return Ok(None);
        }
        let value =
            serde_json::from_slice(&line).map_err(|error| self.malformed(error.to_string()))?;
        self.offset += bytes as u64;
        Ok(Some(value))
    }
}

/// Length and checksum of a file.
pub(super) fn sum_of(file: File) -> io::Result<Sum> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0);
    loop {
        let some = input.fill_buf()?;
        if some.is_empty() {
            let crc32 = crc.finalize();
            return Ok(Sum { bytes, crc32 });
        }
        crc.update(some);
        let length = some.len();
        bytes += length as u64;
        input.consume(length);
    }
}
