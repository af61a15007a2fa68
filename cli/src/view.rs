//! Answers as text: pure functions from messages to strings. What the report at a job's end shows,
//! too, is in the crate `report`.

pub mod audit;
pub mod buffers;
pub mod command;
pub mod hang;
pub mod messages;
pub mod records;
pub mod stacks;
