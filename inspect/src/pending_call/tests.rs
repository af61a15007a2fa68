use super::*;
use crate::test_memory;
use invivo_proto::handles::{Entry, NONE, Nth, Slot, home};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::record::{Facts, Words};
use invivo_proto::shm::{Handles, PACKETS_DEFAULT, Region, inside, phase};

/// This process as a rank: its page, and the tables that the page tells of.
struct Rank {
    memory: Region,
    comms: Lying<Known>,
    requests: Lying<Posted>,
}

const SLOTS: usize = 8;

/// A table as the shim lays it.
struct Lying<T> {
    slots: Vec<Slot>,
    entries: Vec<Entry<T>>,
}

impl<T> Lying<T> {
    fn new() -> Lying<T> {
        let free = Slot { key: 0, last: NONE };
        Lying {
            slots: vec![free; SLOTS],
            // It does not move.
            entries: Vec::with_capacity(SLOTS),
        }
    }

    fn put(&mut self, key: u64, value: T) {
        let mut at = home(key, SLOTS);
        while self.slots[at].last != NONE && self.slots[at].key != key {
            at = (at + 1) % SLOTS;
        }
        let new = self.entries.len() as u32;
        let mut next = new;
        if let Some(last) = self.entries.get_mut(self.slots[at].last as usize) {
            next = std::mem::replace(&mut last.next, new);
        }
        self.entries.push(Entry { value, next });
        self.slots[at] = Slot { key, last: new };
    }

    fn tell(&self, told: &Handles) {
        let entries = (self.entries.as_ptr() as u64, self.entries.len() as u64);
        told.lie((self.slots.as_ptr() as u64, SLOTS as u64), entries);
    }
}

impl Rank {
    fn new() -> Rank {
        let memory = test_memory::region();
        assert_eq!(memory.packets(), PACKETS_DEFAULT);
        let mut rank = Rank {
            memory,
            comms: Lying::new(),
            requests: Lying::new(),
        };
        let world = Known {
            ordinal: 12,
            members: 4,
            peers: 4,
            ..Known::default()
        };
        rank.comms.put(0x44, world);
        let page = rank.page();
        page.phase.store(phase::RUNNING, Ordering::Relaxed);
        page.locations.store(1, Ordering::Relaxed);
        let library = &page.library;
        library.any_source.store(-2i32 as u32, Ordering::Relaxed);
        library.proc_null.store(-1i32 as u32, Ordering::Relaxed);
        library.request_bytes.store(8, Ordering::Relaxed);
        rank.comms.tell(&library.comms);
        rank
    }

    fn page(&self) -> &'static Page {
        self.memory.page()
    }

    /// Stands in a call that was given this.
    fn stands(&self, function: &str, handle: u64, numbers: [i32; 4]) {
        let region = FUNCTIONS.iter().position(|f| f.name == function);
        let status = &self.page().status[0];
        let region = region.expect("a function") as u32;
        status.region.store(region, Ordering::Relaxed);
        status.entered_at.store(77, Ordering::Relaxed);
        status.handle.store(handle, Ordering::Relaxed);
        for (noted, number) in status.numbers.iter().zip(numbers) {
            noted.store(number as u32, Ordering::Relaxed);
        }
        status.inside.store(inside::MPI, Ordering::Release);
    }

    fn post(&mut self, handle: u64, kind: RecordKind, peer: i32, active: bool) {
        let facts = Facts {
            kind,
            peer,
            tag: 9,
            ..Facts::default()
        };
        let posted = Posted {
            facts: Words::from(&facts),
            active,
            nth: Nth::new(77),
            ..Posted::default()
        };
        self.requests.put(handle, posted);
        self.requests.tell(&self.page().library.requests);
    }

    fn inspect(&self) -> PendingCall {
        inspected(self.page(), &mut Watch::default()).expect("we may read ourselves")
    }
}

fn inspected(page: &Page, watch: &mut Watch) -> Option<PendingCall> {
    let readers = Readers {
        names: &mut Names::default(),
        python: &mut KnownPython::default(),
        watch,
    };
    inspect(rustix::process::getpid(), page, readers)
}

fn operation(waited: bool, side: Side, peer: i32, tag: i32) -> PendingOperation {
    PendingOperation {
        waited,
        side,
        peer,
        comm: CommLocal(0),
        tag,
    }
}

#[test]
fn a_message_is_told_by_what_the_call_was_given() {
    let rank = Rank::new();
    rank.stands("MPI_Sendrecv", 0x44, [3, 7, -2, -1]);
    let seen = rank.inspect();
    assert_eq!((seen.entered_at, seen.need), (77, Need::All));
    assert_eq!(
        seen.operations,
        [
            operation(true, Side::Send, 3, 7),
            operation(true, Side::Recv, peer::ANY, ANY_TAG)
        ]
    );
    assert_eq!(seen.passed, [(CommLocal(0), 12)]);
}

#[test]
fn a_collective_is_told_with_its_number_and_root() {
    let rank = Rank::new();
    let of = |root| Need::Collective {
        comm: CommLocal(0),
        ordinal: 12,
        root,
        shared: 0,
    };
    rank.stands("MPI_Gather", 0x44, [2, 0, 0, 0]);
    assert_eq!(rank.inspect().need, of(2));
    rank.stands("MPI_Allreduce", 0x44, [2, 0, 0, 0]);
    assert_eq!(rank.inspect().need, of(peer::NONE));
    // A communicator that nobody knows.
    rank.stands("MPI_Allreduce", 0x45, [0; 4]);
    assert_eq!(rank.inspect().need, Need::Unknown);
}

#[test]
fn requests_are_looked_up_by_their_handles() {
    let mut rank = Rank::new();
    rank.post(0x1000, RecordKind::CompletedSend, 1, true);
    rank.post(0x2000, RecordKind::CompletedRecv, 2, true);
    rank.post(0x3000, RecordKind::CompletedRecv, 3, false);
    let handles: [u64; 4] = [0x2000, 0, 0x3000, 0x4000];
    rank.stands("MPI_Waitany", handles.as_ptr() as u64, [4, 0, 0, 0]);
    let seen = rank.inspect();
    assert_eq!(seen.need, Need::Any);
    // What is complete, inactive or nobody's is not waited for; what else is posted is told behind.
    assert_eq!(
        seen.operations,
        [
            operation(true, Side::Recv, 2, 9),
            operation(false, Side::Send, 1, 9)
        ]
    );
    assert!(!seen.more_operations);
}

#[test]
fn all_requests_of_one_handle_are_told() {
    let mut rank = Rank::new();
    for peer in 1..4 {
        rank.post(0x1000, RecordKind::CompletedSend, peer, true);
    }
    rank.stands("MPI_Barrier", 0x44, [0; 4]);
    let told = [1, 2, 3].map(|peer| operation(false, Side::Send, peer, 9));
    assert_eq!(rank.inspect().operations, told);
}

#[test]
fn memory_that_is_not_there_tells_nothing() {
    let rank = Rank::new();
    rank.stands("MPI_Waitall", 8, [4, 0, 0, 0]);
    assert_eq!(rank.inspect().need, Need::Unknown);
    rank.page().library.comms.slots.store(8, Ordering::Relaxed);
    rank.stands("MPI_Ssend", 0x44, [3, 7, 0, 0]);
    let seen = rank.inspect();
    assert_eq!(
        (seen.need, seen.operations.len(), seen.passed.len()),
        (Need::Unknown, 0, 0)
    );
}

/// Puts a thread beside the first one, in MPI or outside.
fn beside(rank: &Rank, location: usize, is_in_mpi: bool) {
    let page = rank.page();
    page.locations
        .fetch_max(location as u32 + 1, Ordering::Relaxed);
    let status = &page.status[location];
    status.tid.store(7, Ordering::Relaxed);
    let state = if is_in_mpi {
        inside::MPI
    } else {
        inside::APPLICATION
    };
    status.inside.store(state, Ordering::Relaxed);
}

#[test]
fn the_thread_in_mpi_is_the_one_that_is_told() {
    let rank = Rank::new();
    rank.stands("MPI_Ssend", 0x44, [3, 7, 0, 0]);
    beside(&rank, 1, false);
    // One that has ended.
    beside(&rank, 2, true);
    rank.page().status[2].tid.store(0, Ordering::Relaxed);
    let seen = rank.inspect();
    assert_eq!((seen.location, seen.need), (0, Need::All));
    assert_eq!((seen.threads.in_mpi, seen.threads.outside), (0, 1));

    // The first one is back, and the second one in MPI.
    let first = &rank.page().status[0];
    first.inside.store(inside::APPLICATION, Ordering::Relaxed);
    let second = &rank.page().status[1];
    let receive = FUNCTIONS.iter().position(|f| f.name == "MPI_Recv");
    second
        .region
        .store(receive.unwrap() as u32, Ordering::Relaxed);
    second.handle.store(0x44, Ordering::Relaxed);
    second.inside.store(inside::MPI, Ordering::Relaxed);
    let seen = rank.inspect();
    assert_eq!(seen.operations, [operation(true, Side::Recv, 0, 0)]);
    assert_eq!((seen.location, seen.threads.outside), (1, 1));
}

#[test]
fn an_unrecorded_call_is_watched() {
    let rank = Rank::new();
    rank.stands("no function", 0, [0; 4]);
    let mut watch = Watch::default();
    let mut look = || inspected(rank.page(), &mut watch);
    assert_eq!(look(), None, "nobody knows whether it goes on");
    let left: u32 = 9;
    let at = core::ptr::from_ref(&left) as u64;
    let status = &rank.page().status[0];
    status.progress_at.store(at, Ordering::Relaxed);
    assert!(look().expect("seen").unmoved_ns < Some(1_000_000_000));
    let first = look().expect("seen").unmoved_ns;
    let second = look().expect("seen").unmoved_ns;
    assert!(second > first, "it has not moved: {first:?} {second:?}");
    status.polls.store(1, Ordering::Relaxed);
    assert!(look().expect("seen").unmoved_ns < second, "it has");
}

#[test]
fn collectives_of_windows_and_files_are_told_with_their_numbers() {
    let mut rank = Rank::new();
    let mut windows = Lying::new();
    windows.put(
        0x88,
        Shared {
            calls: 5,
            local: 0,
            number: 2,
            locked: 3,
        },
    );
    windows.tell(&rank.page().library.shared);
    let of = |ordinal, shared| Need::Collective {
        comm: CommLocal(0),
        ordinal,
        root: peer::NONE,
        shared,
    };
    rank.stands("MPI_Win_fence", 0x88, [0; 4]);
    let seen = rank.inspect();
    assert_eq!(seen.need, of(5, 2));
    assert_eq!(seen.passed_shared, [(CommLocal(0), 2, 5)]);
    assert_eq!(seen.locked, [(CommLocal(0), 2, 3)]);
    rank.stands("MPI_File_close", 0, [0, 4, 6, 0]);
    assert_eq!(rank.inspect().need, of(6, 4));
    rank.stands("MPI_Win_create", 0x44, [0; 4]);
    assert_eq!(rank.inspect().need, of(0, MAKING));
    rank.stands("MPI_Win_lock", 0x88, [1, 0, 0, 0]);
    let locks = operation(true, Side::Window { shared: 2 }, 1, ANY_TAG);
    assert_eq!(rank.inspect().operations, [locks]);
    // A non-blocking collective, begun by the function of the facts.
    rank.post(0x1000, RecordKind::CompletedCollective, -1, true);
    let handles: [u64; 1] = [0x1000];
    rank.stands("MPI_Wait", handles.as_ptr() as u64, [1, 0, 0, 0]);
    let [one] = &rank.inspect().operations[..] else {
        panic!("one operation");
    };
    assert!(matches!(one.side, Side::Collective { ordinal: 77, .. }));
}

/// Counts that cannot be, and rings without an end, cost no more than what is copied.
#[test]
fn hostile_tables_are_read_in_bounded_time() {
    let mut rank = Rank::new();
    for at in 0..SLOTS as u64 / 2 {
        rank.post(0x1000 * (at + 1), RecordKind::CompletedRecv, 1, true);
    }
    // Each leads into a ring of the others that never comes back to it.
    let behind = rank.requests.entries.len() as u32;
    for at in 0..behind {
        rank.requests.entries[at as usize].next = (at + 1) % (behind - 1);
    }
    let handles = [0x1000u64; 1 << 10];
    rank.stands("MPI_Waitall", handles.as_ptr() as u64, [i32::MAX, 0, 0, 0]);
    let library = &rank.page().library;
    for (slots, entries) in [
        (SLOTS as u64, SLOTS as u64 / 2),
        (1 << 62, u64::MAX),
        (1 << 63, 0),
    ] {
        for told in [&library.requests, &library.comms] {
            told.slot_count.store(slots, Ordering::Relaxed);
            told.entry_count.store(entries, Ordering::Relaxed);
        }
        for bytes in [0, 1, 8, u32::MAX] {
            library.request_bytes.store(bytes, Ordering::Relaxed);
            let begun = std::time::Instant::now();
            let seen = rank.inspect();
            assert!(seen.operations.len() <= OPERATIONS_MAX);
            assert!(seen.passed.len() <= PASSED_MAX);
            assert!(
                begun.elapsed().as_secs() < 20,
                "{slots} slots, {bytes} bytes"
            );
        }
    }
}
