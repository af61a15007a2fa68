//! A recorded call of an MPI function by name, for wrappers that are not generated.

use crate::record::call::Call;
use crate::track::sites::Caller;
use core::ffi::CStr;
use invivo_proto::mpi::FUNCTIONS;

/// Runs `real` within a recorded call of the function `number`, as every recorded wrapper does.
#[inline(always)]
pub fn recorded<R>(number: u16, caller: Caller, real: impl FnOnce() -> R) -> R {
    let Some(mut call) = Call::enter(number, caller) else {
        return real();
    };
    call.calling();
    let result = real();
    call.called();
    call.leave();
    result
}

/// The number of a function, found by its name when the shim is compiled.
pub const fn number_of(name: &CStr) -> u16 {
    let wanted = name.to_bytes();
    let mut index = 1;
    while index < FUNCTIONS.len() {
        if is_equal(FUNCTIONS[index].name.as_bytes(), wanted) {
            return index as u16;
        }
        index += 1;
    }
    panic!("no such function in the table")
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
