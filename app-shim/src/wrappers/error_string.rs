//! The wrapper of `MPI_Error_string`: texts name the world and not what stands in for it.
#![allow(non_snake_case)]

use super::macros::special;
use crate::family::*;
use crate::world::error_text::name_world;
use crate::world::worlds::worlds;
use core::ffi::{c_char, c_int, c_void};

special!(
    MPI_Error_string,
    PMPI_Error_string,
    (errorcode: c_int, string: *mut c_char, resultlen: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's; after success MPI has written the text and its
        // length.
        unsafe {
            let result = real(errorcode, string, resultlen);
            if let Some(worlds) = worlds().filter(|_| result == SUCCESS) {
                let length = usize::try_from(*resultlen).unwrap_or(0);
                let text = core::slice::from_raw_parts_mut(string.cast::<u8>(), length);
                let named = name_world(text, worlds.application);
                // The text may be shorter now.
                *string.add(named) = 0;
                *resultlen = named as c_int;
            }
            result
        }
    }
);
