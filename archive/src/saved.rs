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
//! records   all that the bins of a location hold, in order of their ends, in job time
//! calls     of these the calls and visits of regions, in order of their ends or begins
//! samples   of these the samples
//! contexts  the calling contexts of ranks, checked; call_paths: those of samples by name
//! ```

pub mod bins;
pub mod call_paths;
pub mod calls;
mod checksums;
mod clock;
pub mod contexts;
pub mod format;
pub mod groups;
mod reader;
pub mod records;
pub mod samples;
mod saved_call;
mod view;
mod writer;

pub use reader::{SavedError, SavedObservation, What};
pub use writer::Writer;
