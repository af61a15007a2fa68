//! What a wrapper passes on for each argument: the application's world for `MPI_COMM_WORLD`,
//! entries of ours for callbacks, and everything else as it is.

use super::callbacks::{self, Passing};
use super::worlds;
use crate::family::{AttributeFn, Comm, Datatype, Handle, HandlerFn, Message, Request};
use core::ffi::c_int;

/// An argument of a wrapped function.
pub trait Substitute: Copy {
    /// The argument of the MPI library's call.
    #[inline(always)]
    fn substituted(self) -> Self {
        self
    }
}

impl Substitute for Comm {
    #[inline(always)]
    fn substituted(self) -> Self {
        worlds::substituted(self)
    }
}
impl Substitute for HandlerFn {
    #[inline(always)]
    fn substituted(self) -> Self {
        HandlerFn(callbacks::entry(self.0, Passing::Pointer))
    }
}
impl Substitute for AttributeFn {
    #[inline(always)]
    fn substituted(self) -> Self {
        AttributeFn(callbacks::entry(self.0, Passing::Value))
    }
}
impl Substitute for Datatype {}
impl Substitute for Request {}
impl Substitute for Message {}
impl Substitute for Handle {}
impl Substitute for c_int {}
impl Substitute for i64 {}
impl Substitute for f64 {}
impl<T> Substitute for *const T {}
impl<T> Substitute for *mut T {}
