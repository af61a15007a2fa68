//! OTFX: the events of one location in a buffer that never grows, never flushes and never touches a
//! file. When it is full it gives up the detail that its strategy values least, and counts it.
//!
//! ```text
//! arena    one allocation, cut into equal bins; made and touched when the buffer is made
//! bin      head (base time, next request number), then records; decodes alone: own dictionary,
//!          own base
//! level    a chain of bins, oldest to newest; records are appended to its newest
//! strategy says which level takes an event, and in which order levels go when no bin is free
//! ```
//!
//! Storing appends to an open bin; giving up moves whole bins back to the free list. Neither
//! allocates, and neither looks at a record that is already stored, so the cost of a removal
//! depends neither on the number of records nor on their size. The idea of bins as the unit of
//! removal is the Hierarchical Memory Buffer of Wagner, Doleschal and Knüpfer. Calls are fused
//! records as in [`invivo_proto::record`], regions are fused passes, in order of their end; no
//! strategy can part an enter from its leave. Times are ticks of the node's
//! clock, sizes are bytes.
//!
//! Definitions are kept beside a buffer, never in it: they are never given up. What a completion
//! says it says of itself, so it stands when its posting is gone; ids, request numbers and ordinals
//! are never used again, so a partner that was given up is missing and never mistaken.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arena;
mod begins;
mod bin;
mod buffer;
mod chains;
mod contents;
mod decode;
mod encoding;
mod event;
mod geometry;
mod iterations;
mod lambda;
mod ledger;
mod level;
mod pyramid;
mod reader;
mod strategy;
mod writer;

pub use begins::{Begins, Begun, Open, WINDOW_DEFAULT};
pub use bin::BinReader;
pub use buffer::{AlreadyFrozen, Buffer, Fill, Frozen, LevelStatus, Stored};
pub use chains::{ChainError, Chains};
pub use contents::{BIN_HEAD_BYTES, BinError, Contents, Head};
pub use event::{
    Attributes, Classes, EVENT_CLASSES, EventClass, Metric, OPAQUE_BYTES_MAX, OPAQUE_HEAD_BYTES,
    Opaque, Pass, Sample, VALUES_MAX,
};
pub use geometry::{
    BIN_BYTES_DEFAULT, BIN_BYTES_MAX, BIN_BYTES_MIN, BINS_PER_LEVEL_LEAST, BINS_PER_LEVEL_MIN,
    Geometry, Unfit,
};
pub use iterations::{SUMMARIES_MAX, Summaries};
pub use lambda::{Grid, lambda};
pub use ledger::{Ledger, Loss, REASONS, Reason};
pub use pyramid::{Cell, Pyramid};
pub use reader::Reader;
pub use strategy::{AtCap, Dimension, EventCap, FlightRecorder, LEVELS_MAX, Label, Rule, Strategy};
