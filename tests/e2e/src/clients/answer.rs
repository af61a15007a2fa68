//! Reads numbers out of the JSON answers of a job.

use serde_json::Value;

/// A number in an answer. 64-bit numbers are strings where protobuf's own rules made the JSON.
pub fn number(answer: &Value, pointer: &str) -> u64 {
    let value = answer
        .pointer(pointer)
        .unwrap_or_else(|| panic!("no {pointer} in {answer}"));
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.unwrap_or_else(|| panic!("{pointer} is no number in {answer}"))
}

/// Both sides of the ledger in an answer: calls entered, and calls of which it is known where their
/// records are. In a job at rest they are equal.
pub fn entered_and_placed(answer: &Value) -> (u64, u64) {
    let part = |name: &str| number(answer, &format!("/coverage/ledger/{name}"));
    let parts = [
        "open",
        "in_flight",
        "kept",
        "reduced",
        "dropped/no_packet",
        "dropped/no_location",
        "dropped_by_place",
        "reset",
        "not_selected",
    ];
    (part("entered"), parts.iter().map(|name| part(name)).sum())
}
