//! The file of events of one location: bins as they were in the buffer, each framed and with a
//! checksum. Numbers are little-endian.
//!
//! ```text
//! 0    "INVIVOEV"
//! 8    version, u32
//! 12   rank, u32
//! 16   thread, u32
//! 20   CRC-32 of the bytes before, u32
//! 24   frames
//!
//! bin  chain, u32 | bytes, u32 | CRC-32 of chain, bytes and content, u32 | content
//! end  0xffffffff | number of bins, u32 | CRC-32 of the eight bytes before, u32; nothing follows
//! ```
//!
//! What a bin holds is drawn in `otfx/src/bin.rs`. A file without its end was cut off.

use std::fmt;
use std::io::{self, Read, Write};

const MAGIC: [u8; 8] = *b"INVIVOEV";
/// The version of this form and of the bins in it.
pub const VERSION: u32 = 1;
/// Bytes before the first frame.
pub const HEAD_BYTES: usize = 24;
/// Bytes of a frame before its content.
pub const FRAME_BYTES: usize = 12;
/// Bytes of a bin: far more than buffers have ([`invivo_otfx::BIN_BYTES_MAX`]), so that a damaged
/// length takes no memory.
pub const CONTENT_BYTES_MAX: u32 = 1 << 20;
/// Chains of a location: levels of a strategy, and those of former ones.
pub const CHAINS_MAX: u32 = 1 << 10;
/// The chain of the frame that is the end.
const END: u32 = u32::MAX;

/// What is wrong with a file of events, and where.
#[derive(Debug)]
pub struct FrameError {
    /// Bytes from the file's begin.
    pub offset: u64,
    pub what: FrameFault,
}

/// What is wrong.
#[derive(Debug)]
pub enum FrameFault {
    /// It cannot be read.
    Io(io::Error),
    /// It ends here.
    Truncated,
    /// It does not begin as such a file does.
    NoEvents,
    /// It is of another version.
    Version(u32),
    /// Its bytes are not those that were written.
    Checksum,
    /// A number that cannot be: of bytes, or of a chain.
    Number(u32),
    /// Another number of bins than its end says.
    Bins { found: u64, said: u32 },
    /// Bytes behind its end.
    Trailing,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match &self.what {
            FrameFault::Io(error) => write!(f, "at byte {offset}: {error}"),
            FrameFault::Truncated => write!(f, "at byte {offset}: it is cut off there"),
            FrameFault::NoEvents => write!(f, "at byte {offset}: it is no file of events"),
            FrameFault::Version(version) => write!(
                f,
                "at byte {offset}: it is of version {version}, and version {VERSION} can be read"
            ),
            FrameFault::Checksum => write!(
                f,
                "at byte {offset}: damaged, its checksum is another than when it was written"
            ),
            FrameFault::Number(number) => {
                write!(f, "at byte {offset}: damaged, {number} cannot be there")
            }
            FrameFault::Bins { found, said } => write!(
                f,
                "at byte {offset}: damaged, {found} bins of {said} are there"
            ),
            FrameFault::Trailing => write!(f, "at byte {offset}: bytes behind its end"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The head of a file.
pub fn head(rank: u32, thread: u32) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    for (at, number) in [(8, VERSION), (12, rank), (16, thread)] {
        head[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    let crc = crc32fast::hash(&head[..20]);
    head[20..].copy_from_slice(&crc.to_le_bytes());
    head
}

fn frame(first: u32, second: u32, content: &[u8]) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..4].copy_from_slice(&first.to_le_bytes());
    frame[4..8].copy_from_slice(&second.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..8]);
    crc.update(content);
    frame[8..].copy_from_slice(&crc.finalize().to_le_bytes());
    frame
}

/// Writes a bin.
///
/// # Errors
/// When `out` takes no more, or the bin is longer than any can be.
pub fn write_bin(out: &mut impl Write, chain: u32, content: &[u8]) -> io::Result<()> {
    let bytes = u32::try_from(content.len()).unwrap_or(u32::MAX);
    if chain >= CHAINS_MAX || bytes > CONTENT_BYTES_MAX {
        return Err(io::Error::other(format!(
            "a bin of chain {chain} with {bytes} bytes was sent, and none can be like that"
        )));
    }
    out.write_all(&frame(chain, bytes, content))?;
    out.write_all(content)
}

/// Writes the end behind so many bins.
///
/// # Errors
/// When `out` takes no more.
pub fn write_end(out: &mut impl Write, bins: u64) -> io::Result<()> {
    let bins = u32::try_from(bins).map_err(|_| io::Error::other("more than 2^32 bins"))?;
    out.write_all(&frame(END, bins, &[]))
}

/// Where a bin's content lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinAt {
    pub chain: u32,
    /// Bytes from the file's begin.
    pub offset: u64,
    pub bytes: u32,
}

/// Reads a file of events from its begin to its end.
#[derive(Debug)]
pub struct BinsReader<R> {
    input: R,
    offset: u64,
    bins: u64,
    is_over: bool,
}

impl<R: Read> BinsReader<R> {
    /// Begins with the head: the reader, and the rank and thread that the file is of.
    ///
    /// # Errors
    /// What is wrong with the head.
    pub fn new(input: R) -> Result<(BinsReader<R>, (u32, u32)), FrameError> {
        let mut reader = BinsReader {
            input,
            offset: 0,
            bins: 0,
            is_over: false,
        };
        let mut head = [0; HEAD_BYTES];
        reader.fill(&mut head)?;
        let at = |offset, what| FrameError { offset, what };
        if head[..8] != MAGIC {
            return Err(at(0, FrameFault::NoEvents));
        }
        let version = number(&head[8..]);
        if version != VERSION {
            return Err(at(8, FrameFault::Version(version)));
        }
        if crc32fast::hash(&head[..20]) != number(&head[20..]) {
            return Err(at(0, FrameFault::Checksum));
        }
        Ok((reader, (number(&head[12..]), number(&head[16..]))))
    }

    /// Reads the next bin into `content`; where it lies, or nothing behind the last.
    ///
    /// # Errors
    /// What is wrong, and where. Nothing follows then.
    pub fn next(&mut self, content: &mut Vec<u8>) -> Result<Option<BinAt>, FrameError> {
        if self.is_over {
            return Ok(None);
        }
        let read = self.read(content);
        self.is_over = !matches!(read, Ok(Some(_)));
        read
    }

    fn read(&mut self, content: &mut Vec<u8>) -> Result<Option<BinAt>, FrameError> {
        let begin = self.offset;
        let at = |offset, what| FrameError { offset, what };
        let mut head = [0; FRAME_BYTES];
        self.fill(&mut head)?;
        let (chain, bytes, crc) = (number(&head), number(&head[4..]), number(&head[8..]));
        content.clear();
        if chain != END {
            if chain >= CHAINS_MAX {
                return Err(at(begin, FrameFault::Number(chain)));
            }
            if bytes > CONTENT_BYTES_MAX {
                return Err(at(begin + 4, FrameFault::Number(bytes)));
            }
            content.resize(bytes as usize, 0);
            self.fill(content)?;
        }
        let mut found = crc32fast::Hasher::new();
        found.update(&head[..8]);
        found.update(content);
        if found.finalize() != crc {
            return Err(at(begin, FrameFault::Checksum));
        }
        if chain == END {
            if self.bins != u64::from(bytes) {
                let (found, said) = (self.bins, bytes);
                return Err(at(begin, FrameFault::Bins { found, said }));
            }
            let behind = self.offset;
            return match self.fill(&mut [0]) {
                Ok(()) => Err(at(behind, FrameFault::Trailing)),
                Err(error) if matches!(error.what, FrameFault::Truncated) => Ok(None),
                Err(error) => Err(error),
            };
        }
        self.bins += 1;
        Ok(Some(BinAt {
            chain,
            offset: begin + FRAME_BYTES as u64,
            bytes,
        }))
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), FrameError> {
        let read = self.input.read_exact(into);
        read.map_err(|error| FrameError {
            offset: self.offset,
            what: match error.kind() {
                io::ErrorKind::UnexpectedEof => FrameFault::Truncated,
                _ => FrameFault::Io(error),
            },
        })?;
        self.offset += into.len() as u64;
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[..4]);
    u32::from_le_bytes(four)
}
