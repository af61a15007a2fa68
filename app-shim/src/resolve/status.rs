//! What a status of the standard ABI holds beside its three fields, which only MPI knows.

use super::pmpi;
use super::predefined::type_byte;
use crate::family::{SUCCESS, Status};

impl Status {
    /// Bytes received.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        let mut bytes = 0;
        // SAFETY: MPI wrote the status; the function writes one number.
        let result = unsafe { pmpi::get_count_c(self, type_byte(), &mut bytes) };
        if result == SUCCESS {
            u64::try_from(bytes).unwrap_or(0)
        } else {
            0
        }
    }

    /// Whether the operation was cancelled.
    #[inline(always)]
    pub fn is_cancelled(&self) -> bool {
        let mut flag = 0;
        // SAFETY: MPI wrote the status; the function writes one number.
        let result = unsafe { pmpi::test_cancelled(self, &mut flag) };
        result == SUCCESS && flag != 0
    }
}
