//! The version of JSON that Invivo prints or writes, and the report as such.

use crate::contents::Report;
use serde::Serialize;

/// The version of all JSON that Invivo prints or writes. A field that is added leaves it; one that
/// goes or means something else raises it.
pub const VERSION: u32 = 1;

/// An object with its version as the first field.
#[derive(Serialize)]
pub struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

impl<T> Versioned<T> {
    /// `value`, which must be an object.
    pub fn new(value: T) -> Versioned<T> {
        Versioned {
            version: VERSION,
            value,
        }
    }
}

/// The report as one JSON object, indented, with a newline at its end.
pub fn json(report: &Report) -> String {
    // Names are fixed and numbers are numbers: this cannot fail.
    serde_json::to_string_pretty(&Versioned::new(report)).unwrap_or_default() + "\n"
}
