//! What samples took from the rank so far: the sampler writes it down where its supervisor reads it
//! whenever it likes. No message wakes anybody for that, and it is still there when the sampler is
//! gone.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

const BYTES: usize = size_of::<u64>();

/// A time that only grows, shared by two processes.
pub struct Tally(File);

impl Tally {
    /// Nothing yet.
    ///
    /// # Errors
    /// When the system has no memory or descriptor for it.
    pub fn new() -> io::Result<Tally> {
        let memory = memfd_create("invivo-tally", MemfdFlags::CLOEXEC)?;
        Ok(Tally(File::from(memory)))
    }

    /// For a child to keep.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// It is so much now.
    pub fn write(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Twice, so that one that is read while it is written can be told. What cannot be written
        // is in the next.
        let _ = self.0.write_all_at(&[ns.to_ne_bytes(); 2].concat(), 0);
    }

    /// How much it is; nothing where that cannot be told right now.
    pub fn read(&self) -> Option<Duration> {
        let mut bytes = [0; 2 * BYTES];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        let (first, second) = bytes.split_at(BYTES);
        let ns = u64::from_ne_bytes(first.try_into().ok()?);
        (first == second).then(|| Duration::from_nanos(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tally = Tally::new().expect("memory");
        assert_eq!(tally.read(), None);
        let other = Tally(tally.0.try_clone().expect("a descriptor"));
        for ms in [7, 8] {
            other.write(Duration::from_millis(ms));
            assert_eq!(tally.read(), Some(Duration::from_millis(ms)));
        }
        // In the middle of the next one.
        other.0.write_all_at(&[9; BYTES], 0).expect("room");
        assert_eq!(tally.read(), None);
    }
}
