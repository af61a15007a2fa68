//! A rank's shared memory: a memfd, allocated whole and sealed before anybody else sees it. Only
//! mapping it needs unsafe code.

use invivo_config::BackPressure;
use invivo_proto::control::selection::{Rule, off_at_first};
use invivo_proto::shm::{PACKETS_DEFAULT, Region, region_bytes};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One packet open and one on its way: below that nothing could be recorded.
const PACKETS_LEAST: usize = 2;

/// The rank that a memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankIdentity {
    /// The application's rank.
    pub rank: u32,
    /// Ranks of the application.
    pub ranks: u32,
    /// The tool place's world rank.
    pub place: u32,
}

impl RankIdentity {
    /// Of a rank that finds it out in `MPI_Init`: no ranks, and the world rank in place of the
    /// other numbers.
    pub fn to_be_found(world: u32) -> RankIdentity {
        RankIdentity {
            rank: world,
            ranks: 0,
            place: world,
        }
    }
}

/// What the rank finds in it at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartState {
    /// The gate is closed: the rank waits at the leave of its `MPI_Init`, until its place opens the
    /// gate or [`UNATTENDED`] is over.
    pub held: bool,
    /// Calls are recorded.
    pub recording: bool,
    /// What it does when no packet is free.
    pub back_pressure: BackPressure,
    /// What of regions and functions it records.
    pub rules: Vec<Rule>,
}

impl Default for StartState {
    /// It runs, and is recorded.
    fn default() -> StartState {
        StartState {
            held: false,
            recording: true,
            back_pressure: BackPressure::default(),
            rules: Vec::new(),
        }
    }
}

/// A gate that is closed from the beginning opens after this time if no place takes over: by then
/// every process of the job should have started.
const UNATTENDED: Duration = Duration::from_secs(60);
/// The generation of a gate that is closed from the start.
const FIRST_GENERATION: u32 = 1;

/// A rank's memory as its supervisor holds it, until the supervisor ends.
pub struct SharedMemory {
    fd: OwnedFd,
    region: Region,
}

impl SharedMemory {
    /// Makes it; with little memory left, with the smallest pool that there can be.
    ///
    /// # Errors
    /// When even that much is not there, or the system knows no memfd.
    pub fn create(
        identity: RankIdentity,
        start_state: &StartState,
    ) -> std::io::Result<SharedMemory> {
        let memory = SharedMemory::of(identity, PACKETS_DEFAULT)
            .or_else(|_| SharedMemory::of(identity, PACKETS_LEAST))?;
        let control = &memory.region.page().control;
        control
            .recording
            .store(u32::from(start_state.recording), Ordering::Relaxed);
        control
            .back_pressure
            .store(start_state.back_pressure.word(), Ordering::Relaxed);
        if !start_state.rules.is_empty() {
            let off = off_at_first(&start_state.rules);
            for (word, off) in control.off.words.iter().zip(off) {
                word.store(off, Ordering::Relaxed);
            }
            // From the start regions end that were not recorded when they began.
            control.has_selection.store(1, Ordering::Relaxed);
        }
        if start_state.held {
            // The time before the gate word: whoever sees the gate closed must see its time.
            let until = monotonic_ns() + UNATTENDED.as_nanos() as u64;
            control.gate_until_ns.store(until, Ordering::Relaxed);
            control.gate.store(FIRST_GENERATION, Ordering::Release);
        }
        Ok(memory)
    }

    fn of(identity: RankIdentity, packets: usize) -> std::io::Result<SharedMemory> {
        let bytes = region_bytes(packets);
        let fd =
            rustix::fs::memfd_create("invivo", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
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
        let base =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, &fd, 0) }?;
        let RankIdentity { rank, ranks, place } = identity;
        // SAFETY: `bytes` zeroed (new), writable, page-aligned bytes for `packets` packets, mapped
        // for good.
        let region = unsafe { Region::create(base.cast(), packets, rank, ranks, place) };
        Ok(SharedMemory { fd, region })
    }

    /// The pages.
    pub fn region(&self) -> Region {
        self.region
    }
}

/// `CLOCK_MONOTONIC` in ns, by which gates open.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    #[cfg(feature = "test-hooks")]
    let ns = invivo_proto::clock::skew::here().ns(ns);
    ns
}

impl AsFd for SharedMemory {
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
    let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) }
        .expect("mapped");
    // SAFETY: `bytes` page-aligned bytes of a sealed memfd, mapped writable for good.
    unsafe { Region::attach(base.cast(), bytes) }.expect("a rank's memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::selection::Selection;
    use invivo_proto::ids::RegionId;
    use invivo_proto::mpi::INIT;
    use invivo_proto::record::REGIONS_END;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_smallest_pool_is_a_ranks_memory_too() {
        let memory = SharedMemory::of(
            RankIdentity {
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
        let identity = RankIdentity {
            rank: 3,
            ranks: 8,
            place: 8,
        };
        let memory = SharedMemory::create(identity, &StartState::default()).expect("memory");
        let page = memory.region().page();
        assert_eq!(page.rank.load(Ordering::Relaxed), 3);
        assert_eq!(page.ranks.load(Ordering::Relaxed), 8);
        assert_eq!(page.place.load(Ordering::Relaxed), 8);
        assert_eq!(page.control.recording.load(Ordering::Relaxed), 1);
        assert_eq!(page.control.gate.load(Ordering::Relaxed), 0);
        let file = std::fs::File::from(memory.fd.try_clone().expect("a copy"));
        let meta = file.metadata().expect("metadata");
        assert_eq!(meta.size(), region_bytes(PACKETS_DEFAULT) as u64);
        assert!(meta.blocks() * 512 >= meta.size(), "every page is there");
        assert!(file.set_len(0).is_err(), "it cannot shrink");
        assert!(file.set_len(meta.size() * 2).is_err(), "it cannot grow");
    }
    /// A rank may begin unobserved and held for a limited time.
    #[test]
    fn a_rank_may_begin_unobserved_and_held() {
        let identity = RankIdentity {
            rank: 0,
            ranks: 1,
            place: 1,
        };
        let start_state = StartState {
            held: true,
            recording: false,
            back_pressure: BackPressure::Drop,
            rules: "exclude *".parse::<Selection>().expect("a rule").rules,
        };
        let memory = SharedMemory::create(identity, &start_state).expect("memory");
        let control = &memory.region().page().control;
        assert_eq!(control.recording.load(Ordering::Relaxed), 0);
        assert_ne!(control.gate.load(Ordering::Relaxed), 0);
        assert_eq!(
            control.back_pressure.load(Ordering::Relaxed),
            invivo_proto::shm::back_pressure::DROP
        );
        assert!(control.off.has(RegionId(REGIONS_END)) && !control.off.has(INIT));
        let left = control
            .gate_until_ns
            .load(Ordering::Relaxed)
            .saturating_sub(monotonic_ns());
        assert!(
            left > 0 && left <= UNATTENDED.as_nanos() as u64,
            "{left} ns are left"
        );
    }
}
