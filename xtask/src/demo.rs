//! `cargo xtask demo`: runs a real job as a newcomer would, and shows every command before it runs.

mod blackbox;
mod example;
mod tour;

use anyhow::Result;

/// Runs the tour, or the demonstration of a rank that dies; the tree must have been built.
pub fn run(black_box: bool) -> Result<()> {
    if black_box {
        blackbox::run()
    } else {
        tour::run()
    }
}
