//! How things look as text: pure functions from messages to strings, used by the commands and by
//! the report.

pub mod audit;
pub mod buffers;
pub mod command;
pub mod coverage;
pub mod functions;
pub mod matrix;
pub mod messages;
pub mod recording;
pub mod records;
pub mod stacks;
pub mod status;
pub mod table;
pub mod timeline;
pub mod units;
pub mod waits;
