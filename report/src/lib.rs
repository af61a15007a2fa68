//! The report at the end of a job, as one page of text, as JSON and as one line; the timeline of
//! its last seconds; and the tables that the report shares with the client's commands.
//!
//! ```text
//! text json death fault left_out      the report
//! timeline_pages timeline      pages become an observation, and that a picture and a file
//! analyses coverage functions matrix recording status      tables and sentences about an answer
//! table units glyphs terminal         columns, numbers with units, characters
//! ```
//!
//! Pure but for the timeline's file. Not here: gRPC and colours.

#![forbid(unsafe_code)]

pub mod analyses;
pub mod call_sites;
pub mod coverage;
pub mod death;
pub mod fault;
pub mod functions;
pub mod glyphs;
mod json;
mod left_out;
pub mod matrix;
pub mod recording;
pub mod status;
pub mod table;
pub mod terminal;
mod text;
pub mod timeline;
pub mod timeline_pages;
pub mod units;

pub use json::{VERSION as JSON_VERSION, Versioned, json};
pub use text::{one_line, text};

#[cfg(test)]
mod tests;
