//! Random numbers of the system.

use rustix::rand::{GetRandomFlags, getrandom};
use tonic::Status;

/// Fills `bytes`.
///
/// # Errors
/// When the system has none.
pub fn fill(bytes: &mut [u8]) -> Result<(), Status> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).map_err(|error| {
            Status::internal(format!("the system has no random numbers: {error}"))
        })?;
    }
    Ok(())
}

/// An id that nobody else has: random, and never 0, which means none.
///
/// # Errors
/// When the system has no random numbers.
pub fn id() -> Result<u64, Status> {
    let mut bytes = [0u8; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes).max(1))
}
