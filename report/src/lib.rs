//! The report at the end of a job, as one page of text, as JSON and as one line; the timeline of
//! its last seconds; and the tables that the report shares with the client's commands.
//!
//! ```text
//! contents now rows saved_file        what a report says, at the end or now, and reading one
//! text json html                      its forms
//! compare explain                     runs beside each other; what limits a job, in a sentence
//! death fault efficiency left_out     parts of these
//! timeline_pages timeline      pages become an observation, and that a picture and a file
//! analyses call_sites coverage functions histogram iterations matrix profile recording regions
//! selection status wait_states waits_by_site
//!                                     tables, sentences about an answer
//! table units glyphs terminal         columns, numbers with units, characters
//! ```
//!
//! Pure but for the timeline's file and a report that is read. Not here: gRPC, and colours of
//! terminals.

#![forbid(unsafe_code)]

pub mod analyses;
pub mod call_sites;
pub mod compare;
mod contents;
pub mod coverage;
pub mod death;
mod efficiency;
pub mod explain;
pub mod fault;
pub mod functions;
pub mod glyphs;
pub mod histogram;
mod html;
pub mod iterations;
mod json;
mod left_out;
pub mod matrix;
pub mod now;
pub mod profile;
pub mod recording;
pub mod regions;
pub mod rows;
mod saved_file;
pub mod selection;
pub mod status;
pub mod table;
pub mod terminal;
mod text;
pub mod timeline;
pub mod timeline_pages;
pub mod units;
pub mod wait_states;
pub mod waits_by_site;

pub use contents::Report;
pub use html::html;
pub use json::{VERSION as JSON_VERSION, Versioned, json};
pub use saved_file::{FILE_BYTES_MAX, ReadError, read};
pub use text::{one_line, text};

#[cfg(test)]
mod tests;
