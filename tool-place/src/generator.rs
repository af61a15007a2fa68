//! Generated samples for tests, in place of a sampler's: they show how buffers thin samples.
//!
//! They are there only with the feature `test-hooks`: without it there is no value of
//! [`Generator`], and the compiler leaves out what would be done with one.

#[cfg(not(any(test, feature = "test-hooks")))]
mod absent;
#[cfg(any(test, feature = "test-hooks"))]
mod counting;

#[cfg(not(any(test, feature = "test-hooks")))]
pub use absent::Generator;
#[cfg(any(test, feature = "test-hooks"))]
pub use counting::Generator;
