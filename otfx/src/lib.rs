//! OTFX: the events of one location in a buffer that never grows, never flushes and never touches a file.
//! When it is full it gives up the detail that its strategy values least, and counts it.
//!
//! ```text
//! arena    one allocation, cut into equal bins; made and touched when the buffer is made
//! bin      head (base time, next request number), then records; decodes alone: own dictionary, own base
//! level    a chain of bins, oldest to newest; records are appended to its newest
//! strategy says which level takes an event, and what goes when no bin is free
//! ```
//!
//! Storing appends to an open bin; giving up moves whole bins back to the free list. Neither allocates, and
//! neither looks at a record that is already stored, so the cost of a removal depends neither on the number
//! of records nor on their size. The idea of bins as the unit of removal is the Hierarchical Memory Buffer of
//! Wagner, Doleschal and Knüpfer; records are those of [`invivo_proto::record`], fused calls, in order of
//! their end. Times are ticks of the node's clock, sizes are bytes.
//!
//! Definitions are kept beside a buffer, never in it: they are never given up.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arena;
mod bin;
mod buffer;
mod geometry;
mod level;
mod reader;
mod strategy;
mod writer;

pub use bin::{BIN_HEAD_BYTES, BinError, BinReader};
pub use buffer::{Buffer, Fill, Ledger, Stored};
pub use geometry::{BIN_BYTES_DEFAULT, BIN_BYTES_MAX, BIN_BYTES_MIN, BINS_PER_LEVEL_MIN, Geometry, TooSmall};
pub use level::Levels;
pub use reader::{Head, Reader, Record};
pub use strategy::{Event, FlightRecorder, Removal, Strategy};
