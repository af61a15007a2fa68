//! Saved observations: a directory that holds what buffers held at one moment, and everything that
//! is needed to read it.
//!
//! ```text
//! DIR/observation.json    what it is of: job, interval, functions, configuration
//! DIR/locations.jsonl     a line for each location: its clock, communicators, ledger, losses,
//!                         and its file of events with length and checksum
//! DIR/communicators.jsonl a line for each communicator whose members are known
//! DIR/events/R.T.bins     the bins of rank R, thread T
//! DIR/CHECKSUMS           length and CRC-32 of the three files above
//! ```
//!
//! ```text
//! bins      the file of events: framed bins, each with a checksum
//! groups    members of communicators
//! format    what the other files say, as types
//! checksums the lines of CHECKSUMS
//! writer    a directory that appears whole or not at all
//! reader    an observation opened and checked
//! calls     the calls of a location, in order of their ends, in job time
//! ```

pub mod bins;
pub mod calls;
mod checksums;
mod clock;
pub mod format;
pub mod groups;
mod reader;
mod view;
mod writer;

pub use reader::{SavedError, SavedObservation, What};
pub use writer::Writer;
