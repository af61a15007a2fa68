//! What a test says about itself: what it found, and what it could not test here.
//!
//! `cargo xtask test --all` reads these lines, and writes them into the manual's page of long
//! tests.

use std::io::Write;

/// Says what a test that passes has found: numbers and times, in one line.
pub fn remark(text: &str) {
    line("remark", text);
}

/// Says that this machine does not allow a test, and why; with `CI=true`, which says that all must
/// be tested, it is a failure. The test then returns.
pub fn not_tested(text: &str) {
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "not tested: {text}"
    );
    line("not tested", text);
}

fn line(kind: &str, text: &str) {
    // What a program has said may have several lines.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Not by `eprintln!`: the test runner keeps that to itself when a test passes.
    let _ = writeln!(std::io::stderr(), "\n*** {kind}: {text} ***");
}
