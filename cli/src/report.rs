//! The report at the end of a job: what the root hands over, as one page of text, as JSON, and as
//! one line.

pub mod death;
mod json;
mod text;

pub use json::json;
pub use text::{one_line, text};

#[cfg(test)]
mod tests;
