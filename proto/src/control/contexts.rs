//! Samples one by one: when each was taken, and the calling context in which the thread was.
//!
//! A calling context is a function with the functions that called it. A rank's contexts are a tree,
//! of which each node has a number, in the order in which they are met.

use super::stacks::Frame;
use alloc::collections::BTreeMap;
use bincode::{Decode, Encode};

/// Contexts of a rank. What is met beyond them counts as its caller.
pub const CONTEXTS_MAX: u32 = 16_384;
/// Contexts in one message of a supervisor: with the longest names they fit into it.
pub const CONTEXTS_PART_MAX: usize = 40;
/// Samples in one message of a supervisor.
pub const SAMPLES_PART_MAX: usize = 1024;

/// Contexts by their numbers, from 1. One that stands here has its callers here, too.
pub type Contexts = BTreeMap<u32, Context>;

/// A calling context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Context {
    /// The number of the caller's context, which is lower; 0 where there is no caller.
    pub parent: u32,
    /// The function, or what else is there.
    pub frame: Frame,
}

/// A sample, as its sampler tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Taken {
    /// When it was taken, by `CLOCK_MONOTONIC`, in ns.
    pub at_ns: u64,
    /// The number of the thread's sample, in units of the first interval, from 1: after n halvings
    /// a multiple of 2^n.
    pub ordinal: u64,
    /// Where the thread was; 0 where that is not known.
    pub context: u32,
}
