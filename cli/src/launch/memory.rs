//! A rank's shared memory: a memfd, allocated whole and sealed before anybody else sees it. Only mapping it
//! needs unsafe code.

use invivo_proto::shm::{PACKETS_DEFAULT, Region, region_bytes};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One packet open and one on its way: below that nothing could be recorded.
const PACKETS_LEAST: usize = 2;

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The application's rank.
    pub rank: u32,
    /// Ranks of the application.
    pub ranks: u32,
    /// The tool place's world rank.
    pub place: u32,
}

/// A rank's memory as its supervisor holds it, until the supervisor ends.
pub struct Memory {
    fd: OwnedFd,
    region: Region,
}

impl Memory {
    /// Makes it; with little memory left, with the smallest pool that there can be.
    ///
    /// # Errors
    /// When even that much is not there, or the system knows no memfd.
    pub fn create(identity: Identity) -> std::io::Result<Memory> {
        Memory::of(identity, PACKETS_DEFAULT).or_else(|_| Memory::of(identity, PACKETS_LEAST))
    }

    fn of(identity: Identity, packets: usize) -> std::io::Result<Memory> {
        let bytes = region_bytes(packets);
        let fd = rustix::fs::memfd_create("invivo", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&fd, bytes as u64)?;
        // Every page now: a missing one would kill the application at the first touch (SIGBUS).
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes as u64)?;
        // Nobody who gets the descriptor can take the pages away again.
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let (protection, flags) = (
            rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
            rustix::mm::MapFlags::SHARED,
        );
        // SAFETY: a fresh mapping at an address that the kernel chooses; it is never unmapped.
        let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, &fd, 0) }?;
        let Identity { rank, ranks, place } = identity;
        // SAFETY: `bytes` zeroed (new), writable, page-aligned bytes for `packets` packets, mapped for good.
        let region = unsafe { Region::create(base.cast(), packets, rank, ranks, place) };
        Ok(Memory { fd, region })
    }

    /// The pages.
    pub fn region(&self) -> Region {
        self.region
    }
}

impl AsFd for Memory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Maps memory that somebody else made, as a place does.
#[cfg(test)]
pub fn map(fd: BorrowedFd<'_>) -> Region {
    let bytes = region_bytes(PACKETS_DEFAULT);
    let (protection, flags) = (
        rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
        rustix::mm::MapFlags::SHARED,
    );
    // SAFETY: a fresh mapping at an address that the kernel chooses; it is never unmapped.
    let base =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) }.expect("mapped");
    // SAFETY: `bytes` page-aligned bytes of a sealed memfd, mapped writable for good.
    unsafe { Region::attach(base.cast(), bytes) }.expect("a rank's memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::Ordering;

    #[test]
    fn the_smallest_pool_is_a_ranks_memory_too() {
        let memory = Memory::of(
            Identity {
                rank: 0,
                ranks: 1,
                place: 1,
            },
            PACKETS_LEAST,
        )
        .expect("memory");
        assert_eq!(memory.region().packets(), PACKETS_LEAST);
        assert!(memory.region().slot(PACKETS_LEAST).is_none());
    }

    #[test]
    fn memory_is_whole_sealed_and_says_whose_it_is() {
        let memory = Memory::create(Identity {
            rank: 3,
            ranks: 8,
            place: 8,
        })
        .expect("memory");
        let page = memory.region().page();
        assert_eq!(page.rank.load(Ordering::Relaxed), 3);
        assert_eq!(page.ranks.load(Ordering::Relaxed), 8);
        assert_eq!(page.place.load(Ordering::Relaxed), 8);
        assert_eq!(page.control.recording.load(Ordering::Relaxed), 1);
        let file = std::fs::File::from(memory.fd.try_clone().expect("a copy"));
        let meta = file.metadata().expect("metadata");
        assert_eq!(meta.size(), region_bytes(PACKETS_DEFAULT) as u64);
        assert!(meta.blocks() * 512 >= meta.size(), "every page is there");
        assert!(file.set_len(0).is_err(), "it cannot shrink");
        assert!(file.set_len(meta.size() * 2).is_err(), "it cannot grow");
    }
}
