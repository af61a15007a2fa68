//! Answers as JSON.

use invivo_report::Versioned;
use serde::Serialize;
use tonic::Status;

/// One line of JSON with its version, as `--json` prints it.
///
/// # Errors
/// When a message cannot be written as JSON, which none is.
pub fn text(answer: &impl Serialize) -> Result<String, Status> {
    serde_json::to_string(&Versioned::new(answer))
        .map_err(|error| Status::internal(format!("an answer cannot be written as JSON: {error}")))
}
