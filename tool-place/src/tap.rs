//! A tap for tests: everything that the place takes is written to files as well.
//!
//! Tests and benchmarks so know the full record of a run. It writes without bounds, and is there
//! only with the feature `test-hooks`: without it there is no value of [`Tap`], and the compiler
//! leaves out what would be done with one.

#[cfg(not(any(test, feature = "test-hooks")))]
mod absent;
#[cfg(any(test, feature = "test-hooks"))]
mod files;

#[cfg(not(any(test, feature = "test-hooks")))]
pub use absent::{Tap, Taps};
#[cfg(any(test, feature = "test-hooks"))]
pub use files::{Tap, Taps};
