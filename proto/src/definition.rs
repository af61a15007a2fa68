//! Definitions: table entries that give numbers their names, from a rank to its place and up the
//! tree.
//!
//! They travel through the shared ring, are never dropped, and climb the tree as they are.
//! Hand-written bytes, because the shim writes them.

use crate::ids::{CommId, CommLocal, Rank, RegionId, SiteId};
use crate::varint::{self, VarintError};

/// The longest encoded definition: entries of the ring are at most a quarter of it.
pub const DEFINITION_BYTES_MAX: usize = crate::shm::RING_BYTES / 4;

/// Call sites that a rank numbers: large programs call MPI from some hundred places. Calls from
/// more are of [`SiteId::OTHERS`].
pub const SITES_MAX: u16 = 4096;
/// Bytes of a marked region's name.
pub const REGION_NAME_BYTES_MAX: usize = 128;
/// Files with call sites or instrumented functions that a rank numbers.
pub const MODULES_MAX: u32 = 256;
/// Bytes of a file's path.
pub const PATH_BYTES_MAX: usize = 256;
/// Bytes of a build id; linkers write 8 to 20.
pub const BUILD_ID_BYTES_MAX: usize = 32;

/// A run of ranks `first, first + stride, ...`, `count` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "control",
    derive(bincode::Encode, bincode::Decode, serde::Serialize, serde::Deserialize)
)]
pub struct Run {
    /// The first rank.
    pub first: Rank,
    /// Distance of neighbours, negative for a falling run.
    pub stride: i32,
    pub count: u32,
}

/// One definition. Runs of a group come in pieces, as the ring's entries are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition<'a> {
    /// This rank's number for a communicator, reported by each member.
    Communicator {
        /// The rank's own number.
        local: CommLocal,
        /// The job's number.
        id: CommId,
        /// The rank in it.
        rank: u32,
        /// How many ranks are in it (of an intercommunicator: in the local group).
        size: u32,
        /// Of an intercommunicator: the id that the *remote* side knows it by. Peers are ranks
        /// there.
        remote: Option<CommId>,
    },
    /// Members of a communicator, as ranks of the application's world in communicator order;
    /// reported by its rank 0 alone. `start` is the communicator rank of the first member here.
    Group {
        id: CommId,
        /// Communicator rank of the first member in `runs`.
        start: u32,
        /// Encoded runs, see [`Runs`].
        runs: Runs<'a>,
    },
    /// The communicator has a name.
    Name {
        id: CommId,
        /// The name as the application gave it (no trailing zero); may be any bytes.
        name: &'a [u8],
    },
    /// This rank's number for a communicator with processes that are no ranks of the job: spawned
    /// ones, or others that it has connected to. Peers on it are not told apart.
    Outside {
        /// The rank's own number.
        local: CommLocal,
    },
    /// A file with code that this rank has loaded.
    Module {
        /// The rank's own number for it, from 1.
        number: u32,
        /// What its linker wrote to distinguish it from others of its name; may be empty.
        build_id: &'a [u8],
        /// Its path; may be any bytes.
        path: &'a [u8],
    },
    /// Where calls are made from.
    Site {
        /// The rank's own number for it.
        site: SiteId,
        /// The file's number; 0 where the code is in no file.
        module: u32,
        /// An address within the call instruction, as the file was linked for.
        offset: u64,
    },
    /// A region of the program: one that it marks has a name, an instrumented function has none.
    Region {
        /// The rank's own number for it.
        region: RegionId,
        /// The file's number; 0 where the function is in no file.
        module: u32,
        /// The function's address, as the file was linked for.
        offset: u64,
        /// The name as the program gave it; may be any bytes.
        name: &'a [u8],
    },
}

/// The runs of a group, still encoded: for each a varint `first`, a zigzag `stride`, a varint
/// `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs<'a>(pub &'a [u8]);

/// Why bytes are no definition, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// Offset in the entry.
    pub offset: usize,
    /// What is wrong there.
    pub why: &'static str,
}

impl core::fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "definition: {} at offset {}", self.why, self.offset)
    }
}

impl core::error::Error for DefinitionError {}

const COMMUNICATOR: u8 = 1;
const GROUP: u8 = 2;
const NAME: u8 = 3;
const OUTSIDE: u8 = 4;
const MODULE: u8 = 5;
const SITE: u8 = 6;
const REGION: u8 = 7;

/// A bounded writer of definition bytes: what does not fit makes the whole definition fail.
struct Out<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    fn number(&mut self, value: u64) -> Option<()> {
        // `varint::put` writes unchecked, so room for the longest number is required.
        let room = self.bytes.get_mut(self.at..self.at + varint::MAX_BYTES)?;
        // SAFETY: `room` has MAX_BYTES bytes.
        let end = unsafe { varint::put(room.as_mut_ptr(), value) };
        self.at += end as usize - room.as_ptr() as usize;
        Some(())
    }

    fn id(&mut self, id: CommId) -> Option<()> {
        self.number(u64::from(id.leader.0))?;
        self.number(u64::from(id.counter))
    }

    fn all(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes
            .get_mut(self.at..self.at + bytes.len())?
            .copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}

impl<'a> Definition<'a> {
    /// Writes the definition; `None` where `out` is too small (10 bytes of slack are asked for).
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let mut out = Out { bytes: out, at: 0 };
        match *self {
            Definition::Communicator {
                local,
                id,
                rank,
                size,
                remote,
            } => {
                out.number(u64::from(COMMUNICATOR))?;
                out.number(u64::from(local.0))?;
                out.id(id)?;
                out.number(u64::from(rank))?;
                out.number(u64::from(size))?;
                out.number(u64::from(remote.is_some()))?;
                if let Some(remote) = remote {
                    out.id(remote)?;
                }
            }
            Definition::Group { id, start, runs } => {
                out.number(u64::from(GROUP))?;
                out.id(id)?;
                out.number(u64::from(start))?;
                out.all(runs.0)?;
            }
            Definition::Name { id, name } => {
                out.number(u64::from(NAME))?;
                out.id(id)?;
                out.all(name)?;
            }
            Definition::Outside { local } => {
                out.number(u64::from(OUTSIDE))?;
                out.number(u64::from(local.0))?;
            }
            Definition::Module {
                number,
                build_id,
                path,
            } => {
                out.number(u64::from(MODULE))?;
                out.number(u64::from(number))?;
                out.number(build_id.len() as u64)?;
                out.all(build_id)?;
                out.all(path)?;
            }
            Definition::Site {
                site,
                module,
                offset,
            } => {
                out.number(u64::from(SITE))?;
                out.number(u64::from(site.0))?;
                out.number(u64::from(module))?;
                out.number(offset)?;
            }
            Definition::Region {
                region,
                module,
                offset,
                name,
            } => {
                out.number(u64::from(REGION))?;
                out.number(u64::from(region.0))?;
                out.number(u64::from(module))?;
                out.number(offset)?;
                out.all(name)?;
            }
        }

        Some(out.at)
    }

    /// Reads a definition that fills `bytes`.
    ///
    /// # Errors
    /// What is wrong and where.
    pub fn decode(bytes: &'a [u8]) -> Result<Definition<'a>, DefinitionError> {
        if bytes.len() > DEFINITION_BYTES_MAX {
            return Err(DefinitionError {
                offset: 0,
                why: "longer than a definition may be",
            });
        }

        let mut at = 0;
        let kind: u8 = number(bytes, &mut at)?;
        let definition = match kind {
            COMMUNICATOR => {
                let local = CommLocal(number(bytes, &mut at)?);
                let id = comm_id(bytes, &mut at)?;
                let rank = number(bytes, &mut at)?;
                let size = number(bytes, &mut at)?;
                let remote = match number::<u8>(bytes, &mut at)? {
                    0 => None,
                    1 => Some(comm_id(bytes, &mut at)?),
                    _ => {
                        return Err(DefinitionError {
                            offset: at,
                            why: "a flag that is neither 0 nor 1",
                        });
                    }
                };
                ends(bytes, at)?;
                Definition::Communicator {
                    local,
                    id,
                    rank,
                    size,
                    remote,
                }
            }
            GROUP => {
                let id = comm_id(bytes, &mut at)?;
                let start = number(bytes, &mut at)?;
                let runs = Runs(&bytes[at..]);
                let offset = at;
                // Checked once here, so that later iterations over the runs cannot fail.
                for run in runs.iter() {
                    run.map_err(|e| DefinitionError {
                        offset: offset + e.offset,
                        ..e
                    })?;
                }
                Definition::Group { id, start, runs }
            }
            NAME => Definition::Name {
                id: comm_id(bytes, &mut at)?,
                name: &bytes[at..],
            },
            OUTSIDE => {
                let local = CommLocal(number(bytes, &mut at)?);
                ends(bytes, at)?;
                Definition::Outside { local }
            }
            MODULE => {
                let number = number(bytes, &mut at)?;
                let length: u64 = self::number(bytes, &mut at)?;
                let rest = &bytes[at..];
                let length = usize::try_from(length).ok();
                let parts = length.and_then(|length| rest.split_at_checked(length));
                let (build_id, path) = parts.ok_or(DefinitionError {
                    offset: at,
                    why: "build id is cut off",
                })?;
                Definition::Module {
                    number,
                    build_id,
                    path,
                }
            }
            SITE => {
                let site = SiteId(number(bytes, &mut at)?);
                let module = number(bytes, &mut at)?;
                let offset = number(bytes, &mut at)?;
                ends(bytes, at)?;
                Definition::Site {
                    site,
                    module,
                    offset,
                }
            }
            REGION => {
                let region = RegionId(number(bytes, &mut at)?);
                let module = number(bytes, &mut at)?;
                let offset = number(bytes, &mut at)?;
                let name = &bytes[at..];
                if name.len() > REGION_NAME_BYTES_MAX {
                    return Err(DefinitionError {
                        offset: at,
                        why: "name longer than that of a region may be",
                    });
                }
                Definition::Region {
                    region,
                    module,
                    offset,
                    name,
                }
            }
            _ => {
                return Err(DefinitionError {
                    offset: 0,
                    why: "unknown kind",
                });
            }
        };

        Ok(definition)
    }
}

impl<'a> Runs<'a> {
    /// Appends `run`; `None` where it does not fit. `at` is moved behind it.
    pub fn encode(run: Run, out: &mut [u8], at: &mut usize) -> Option<()> {
        let mut out = Out {
            bytes: out,
            at: *at,
        };
        out.number(u64::from(run.first.0))?;
        out.number(varint::zigzag(i64::from(run.stride)))?;
        out.number(u64::from(run.count))?;
        *at = out.at;
        Some(())
    }

    /// The runs one by one; ends at the first error.
    pub fn iter(self) -> impl Iterator<Item = Result<Run, DefinitionError>> + 'a {
        let bytes = self.0;
        let mut at = 0;
        core::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let run = (|| {
                let first = Rank(number(bytes, &mut at)?);
                let offset = at;
                let stride = varint::unzigzag(number(bytes, &mut at)?)
                    .try_into()
                    .map_err(|_| DefinitionError {
                        offset,
                        why: "stride too large",
                    })?;
                let count: u32 = number(bytes, &mut at)?;
                // In 64 bits: a stride times a count overflows 32.
                let last = i64::from(first.0) + i64::from(stride) * (i64::from(count) - 1);
                if count == 0 || u32::try_from(last).is_err() {
                    return Err(DefinitionError {
                        offset,
                        why: "run is empty or leaves the world",
                    });
                }
                Ok(Run {
                    first,
                    stride,
                    count,
                })
            })();
            // Nothing behind an error can be trusted, and the iterator must end.
            if run.is_err() {
                at = bytes.len();
            }
            Some(run)
        })
    }
}

fn number<T: TryFrom<u64>>(bytes: &[u8], at: &mut usize) -> Result<T, DefinitionError> {
    let offset = *at;
    let value = varint::get(bytes, at).map_err(|e| match e {
        VarintError::Truncated => DefinitionError {
            offset: *at,
            why: "ends early",
        },
        VarintError::Overflow => DefinitionError {
            offset: *at,
            why: "number of more than 64 bits",
        },
    })?;
    value.try_into().map_err(|_| DefinitionError {
        offset,
        why: "number too large for its field",
    })
}

/// Nothing follows.
fn ends(bytes: &[u8], at: usize) -> Result<(), DefinitionError> {
    if at == bytes.len() {
        return Ok(());
    }
    Err(DefinitionError {
        offset: at,
        why: "bytes behind the end",
    })
}

fn comm_id(bytes: &[u8], at: &mut usize) -> Result<CommId, DefinitionError> {
    Ok(CommId {
        leader: Rank(number(bytes, at)?),
        counter: number(bytes, at)?,
    })
}
