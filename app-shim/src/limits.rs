//! Every limit of the shim, with its unit and the reason for its size (but for the first size of
//! `track/handle_table.rs`, which stands alone for its test).

use invivo_proto::shm::LOCATIONS_MAX;

// The hot path.

/// One call in this many is also timed for what the shim itself costs: a part of a percent of the
/// calls pays for two more time stamps, and a second of any busy program still has hundreds.
pub const SAMPLED_CALLS: u64 = 256;
/// Calls between two polls of what is on its way (packets, definitions) and of the sampling
/// frequency. MPI makes progress in a poll, too, and each costs more than a recorded call.
pub const POLLED_CALLS: u32 = 32;
/// Threads with a location of their own at one time. The last status page belongs to all other
/// threads together: they count their calls there.
pub const LOCATIONS: usize = LOCATIONS_MAX - 1;
/// Locations without a thread keep their open packets up to one part in so many of the pool: 8 of
/// 16.
pub const PARKED_PACKETS_PART: usize = 2;
/// Datatypes whose size a thread remembers: programs use a handful at a time.
pub const DATATYPE_SIZES: usize = 16;
/// The first request of a thread without a location: requests of records never get so far.
pub const OVERFLOW_FIRST_REQUEST: u64 = 1 << 40;

// Call sites.

/// Slots of the table of return addresses, as a power of two: 8192, twice as many as sites, of 16
/// bytes, of which those in use are touched.
pub const SITE_SLOT_BITS: u32 = 13;
/// Return addresses in the table, so that some slots stay empty and a search ends: three quarters.
pub const RETURN_ADDRESSES_MAX: usize = 3 << (SITE_SLOT_BITS - 2);
/// Frames of the MPI library between a wrapper and the program: its layers have one to three.
pub const LAYER_FRAMES_MAX: usize = 8;
/// Bytes of the frame of a function of such a layer.
pub const FRAME_BYTES_MAX: u64 = 1 << 16;
/// Bytes of the description of a frame: those of usual functions have some ten.
pub const DESCRIPTION_BYTES_MAX: usize = 1 << 16;
/// States of a frame that its description remembers at one time: compilers write one.
pub const STATES_MAX: usize = 8;

// Regions.

/// Slots of the table of regions, as a power of two: 16,384, twice as many as regions, of 16 bytes,
/// of which those in use are touched.
pub const REGION_SLOT_BITS: u32 = 14;
/// One entering or leaving of a region in this many is also timed for what the shim itself costs:
/// they are cheaper than calls, and more.
pub const SAMPLED_REGIONS: u32 = 1024;
/// Of the packets one part in so many is for calls alone: 4 of 16.
pub const PACKETS_FOR_CALLS_PART: usize = 4;
/// While no packet is free, so many begins and ends of regions pass before the next is looked for:
/// a look takes longer than they do.
pub const REGIONS_WITHOUT_TRY: u32 = 64;
/// Calls of a function by itself that a compiler inlines one into the other: 8 with gcc.
pub const INLINED_RECURSION_MAX: usize = 16;
/// Begins in a region that are passed by and counted: more are taken for so many.
pub const PASSED_MAX: u16 = u16::MAX - 1;

// Packets.

/// The longest that one call waits for a free packet, in ns: 10 ms.
pub const BACK_PRESSURE_WAIT_MAX_NS: u64 = 10_000_000;
/// All waiting for packets together stays below one part in so many of the run: 1 %.
pub const BACK_PRESSURE_WAIT_PART: u64 = 100;
/// Between two looks for a free packet, or for one that has arrived, in microseconds.
pub const PACKET_POLL_US: u64 = 50;
/// While no packet arrives, up to `2^SEND_MISSES_MAX - 1` polls are left out: a poll may yield the
/// processor, where there are more processes than processors, and a stopped place takes nothing
/// for long.
pub const SEND_MISSES_MAX: u32 = 6;

// The gate.

/// The longest single wait at a closed gate, in ns: how late a deadline that was brought forward
/// can be seen.
pub const GATE_RECHECK_NS: u64 = 100_000_000;

// Communicators and groups.

/// Bytes of a communicator's name: `MPI_MAX_OBJECT_NAME` is 64 or 128; a longer one is cut.
pub const NAME_BYTES_MAX: usize = 256;
/// Ranks of a group that are translated at a time, so that memory does not grow with the group.
/// They lie on the thread's stack, of which MPI itself takes more.
pub const GROUP_RANKS: usize = 256;
/// A definition's runs of ranks are cut at this many bytes: on the stack, too.
pub const GROUP_RUN_BYTES: usize = 2048;
/// Bytes of a definition: a group's runs, or a name, and some numbers.
pub const DEFINITION_BYTES: usize = GROUP_RUN_BYTES + 128;
/// Requests of one call that a thread has room for from the start, in address space that it does
/// not touch before: a call with more of them makes room for them first.
pub const REQUESTS_AT_ONCE: usize = 65_536;
/// Bytes that are kept free for one more run of ranks, which takes at most 20.
pub const RUN_BYTES_MAX: usize = 30;

// Callbacks.

/// Below a wrapper's stack pointer the address that the MPI library returns to stands within so
/// many bytes: behind the arguments that do not fit into registers, seven at most, and a word of
/// alignment; twice as many, in whole lines.
pub const RETURN_ADDRESS_BYTES: usize = 128;
/// The longest frame of a wrapper, in bytes: they have some registers and numbers, below 1 KiB.
pub const WRAPPER_FRAME_BYTES: usize = 4096;

/// Callbacks of the program and its libraries that can be replaced; PETSc registers a dozen.
pub const CALLBACK_ENTRIES: usize = 512;
/// Keyvals made last that are remembered: several threads of a process may be making one.
pub const RECENT_KEYVALS: usize = 16;

// The lifecycle.

/// The longest that the supervisor takes to hand over descriptors, in seconds: it sleeps until
/// somebody asks.
pub const HANDOVER_WAIT_S: i64 = 10;
/// The longest that finalisation waits for packets in flight, in ns; what has not arrived then is
/// taken from shared memory.
pub const DRAIN_WAIT_NS: u64 = 2_000_000_000;
/// The longest that finalisation waits for room in the definition ring, in ns.
pub const DEFINITIONS_WAIT_NS: u64 = 1_000_000_000;
/// Between two looks for room in the definition ring, in microseconds.
pub const DEFINITIONS_POLL_US: u64 = 200;
/// The longest that a thread that has met a fault waits for the supervisor to see its stack, in ns:
/// it takes some milliseconds, and more where processors are busy.
pub const FAULT_WAIT_NS: u64 = 1_000_000_000;
/// Bytes of the alternate stack that the first thread gets where it has none: the frame of a signal
/// is below 12 KiB on all processors of today, and the handler needs one.
pub const ALTERNATE_STACK_BYTES: usize = 64 * 1024;
/// The longest that `MPI_Abort` waits for the place to take what was recorded, in ns: as long as
/// the supervisor of a rank that died would.
pub const ABORT_WAIT_NS: u64 = 10_000_000_000;
