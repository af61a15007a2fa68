//! The tree of tool processes: who is who in it, and what each of them does with a message.
//!
//! Nothing here knows MPI, a clock, a socket or a file. Time is an argument in nanoseconds, messages come in,
//! actions come out; the drivers in `tool-place` and `analysis-node` and the simulator carry them out.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod layout;
