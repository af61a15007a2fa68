//! Made-up samples for tests, in the sampler's stead: buffers can be seen to thin them in real
//! runs.
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
