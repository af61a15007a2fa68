//! What happens inside `MPI_Init` and `MPI_Finalize`.

use crate::call::Call;
use crate::clock::{monotonic_ns, sleep_us, ticks};
use crate::family::*;
use crate::inherited::Inherited;
use crate::location;
use crate::{
    attributes, comms, homeless, inherited, library, process, real, ring, sessions, shipping,
};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use invivo_proto::channel::{
    ABORTING, COLOR_APPLICATION, ENV_DESCRIPTORS, ENV_DOOR, TAG_WELCOME, WELCOME_BYTES_MAX,
};
use invivo_proto::mpi::{ABORT, FUNCTIONS};
use invivo_proto::shm::{Region, inside, phase};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The longest that finalisation waits for packets on their way; what has not arrived then is taken
/// from shared memory.
const LAND_NS: u64 = 2_000_000_000;
/// The longest that finalisation waits for room in the definition ring.
const DEFINE_NS: u64 = 1_000_000_000;
/// What a shell answers for wrong usage.
const USAGE: c_int = 2;
/// The longest that `MPI_Abort` waits for the place to take what was recorded: as long as the
/// supervisor of a rank that died would.
const ABORT_NS: u64 = 10_000_000_000;
/// `MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED`.
const MEMBARRIER_REGISTER: c_int = 1 << 2;
/// The file name by which we find ourselves in `LD_PRELOAD`.
const SHIM_FILE: &str = "libinvivo_shim.so";

/// The end of the supervisor's socket that is ours.
static CONTROL: AtomicI32 = AtomicI32::new(-1);
/// The `MPI_Finalize` that is being drained.
static FINALIZING: AtomicPtr<Call> = AtomicPtr::new(core::ptr::null_mut());

/// Says one line, from the first rank only: trouble is the job's, not each rank's.
fn warn(why: &str) {
    let first = process::page().is_none_or(|page| page.rank.load(Ordering::Relaxed) == 0);
    if first {
        let line = format!("invivo: {why}; the program runs on unobserved\n");
        // SAFETY: the buffer is valid for its length; a failed write is nobody's trouble.
        unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
    }
}

/// The program has loaded another MPI than was expected of it. It cannot be observed, and cannot
/// run either: its world has the tool processes in it.
fn refuse(library: &CStr) -> ! {
    let path = std::path::Path::new(OsStr::from_bytes(library.to_bytes()));
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let line = format!(
        "invivo: the program has loaded {0}, which was not to be seen before; type INVIVO_MPI={0} before the launcher\n",
        file.display()
    );
    // SAFETY: the buffer is valid for its length; nothing of the program's has to be finished, MPI
    // has not begun.
    unsafe {
        libc::write(2, line.as_ptr().cast(), line.len());
        libc::_exit(USAGE)
    }
}

/// Ends a program that cannot reach its supervisor: MPI would begin with the tool processes, which
/// wait until it is told of.
fn refuse_alone() -> ! {
    const LINE: &[u8] = b"invivo: the program has lost what connects it with invivo: whoever starts it closes the descriptors \
        that it inherits, and its network namespace is another one; leave them open (in Python: close_fds=False)\n";
    // SAFETY: as above.
    unsafe {
        libc::write(2, LINE.as_ptr().cast(), LINE.len());
        libc::_exit(USAGE)
    }
}

/// Ends a program that is to be observed and has loaded an MPI of another family and none of this
/// one.
#[cold]
pub fn refuse_another_family() {
    if std::env::var_os(ENV_DESCRIPTORS).is_some()
        && let Some(library) = library::of_another_family()
    {
        refuse(library);
    }
}

/// The list of preloaded libraries without the shim, and without as many entries right before it.
fn without_us(preload: &str, before: usize) -> String {
    let mut rest: Vec<&str> = Vec::new();
    for entry in preload.split([':', ' ']).filter(|entry| !entry.is_empty()) {
        if entry.ends_with(SHIM_FILE) {
            rest.truncate(rest.len().saturating_sub(before));
        } else {
            rest.push(entry);
        }
    }
    rest.join(":")
}

/// Maps the rank's memory, before the real initialisation. Without a supervisor nothing is observed
/// and nothing is said: the library was loaded by somebody who knows.
pub fn attach() {
    let Ok(descriptors) = std::env::var(ENV_DESCRIPTORS) else {
        return;
    };
    refuse_another_family();
    #[cfg(target_arch = "x86_64")]
    if !crate::hidden::reveal()
        && let Some(library) = library::file()
    {
        refuse(library);
    }
    let mut numbers = descriptors
        .split(',')
        .map(|number| number.parse::<c_int>().ok());
    let mut next = || numbers.next().flatten();
    let told = (|| Some((next()?, next()?, next()?)))();
    let before = told.map_or(0, |(_, _, before)| before as usize);
    let door = std::env::var(ENV_DOOR).ok();
    // This process is the one that is observed; programs that it starts are not. SAFETY: the
    // program is in MPI_Init, which it must not call while other threads change the environment.
    unsafe {
        std::env::remove_var(ENV_DESCRIPTORS);
        std::env::remove_var(ENV_DOOR);
        if let Ok(preload) = std::env::var("LD_PRELOAD") {
            match without_us(&preload, before) {
                rest if rest.is_empty() => std::env::remove_var("LD_PRELOAD"),
                rest => std::env::set_var("LD_PRELOAD", rest),
            }
        }
    }
    let numbers = told.map(|(memory, control, _)| (memory, control));
    let Some(Inherited { memory, control }) = inherited::find(numbers, door.as_deref()) else {
        refuse_alone();
    };
    // SAFETY: both descriptors were given to this process by its supervisor; mapping and flags
    // touch only them.
    unsafe {
        libc::fcntl(memory, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(control, libc::F_SETFD, libc::FD_CLOEXEC);
        CONTROL.store(control, Ordering::Relaxed);
        let mut stat: libc::stat = core::mem::zeroed();
        if libc::fstat(memory, &mut stat) != 0 {
            return warn("the rank's shared memory is not there");
        }
        let bytes = stat.st_size as usize;
        let base = libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            memory,
            0,
        );
        libc::close(memory);
        if base == libc::MAP_FAILED {
            return warn("the rank's shared memory cannot be mapped");
        }
        match Region::attach(base.cast(), bytes) {
            Ok(region) => {
                let taken = region.page().pid.compare_exchange(
                    0,
                    libc::getpid() as u32,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if taken.is_ok() {
                    process::set_region(region);
                }
            }
            Err(why) => warn(&why.to_string()),
        }
        libc::syscall(libc::SYS_membarrier, MEMBARRIER_REGISTER, 0, 0);
        libc::pthread_atfork(None, None, Some(in_forked_child));
    }
}

/// A forked child shares the memory but is not the rank.
unsafe extern "C" fn in_forked_child() {
    process::enter_state(process::state::SILENT);
}

/// Splits the world and begins to observe. `begin` is when the application called `region`.
pub fn start(region_id: u16, begin: u64) {
    let Some(page) = process::page() else { return };
    // SAFETY: MPI is initialised; every process of the job does these two collectives next.
    let split = unsafe {
        let world = comm_world();
        let (mut rank, mut size) = (0, 0);
        let (mut tool, mut application) = (comm_null(), comm_null());
        let failed = real::comm_rank(world, &mut rank)
            | real::comm_dup(world, &mut tool)
            | real::comm_split(world, COLOR_APPLICATION, rank, &mut application)
            | real::comm_size(application, &mut size);
        if failed != SUCCESS || size as u32 != page.ranks.load(Ordering::Relaxed) {
            None
        } else {
            real::comm_set_errhandler(tool, errors_return());
            real::comm_set_name(application, c"MPI_COMM_WORLD".as_ptr());
            Some((world, application, tool))
        }
    };
    let Some((world, application, tool)) = split else {
        page.phase.store(phase::SILENT, Ordering::Release);
        return warn("the world could not be split into application and tools");
    };
    process::set_comms(world, application, tool);
    attributes::start(application);
    let mut level: c_int = 0;
    // SAFETY: MPI is initialised; gettid has no preconditions.
    unsafe {
        real::query_thread(&mut level);
        process::MAIN_THREAD.store(libc::gettid(), Ordering::Relaxed);
    }
    process::THREAD_LEVEL.store(level, Ordering::Relaxed);
    process::MULTIPLE.store(level >= THREAD_MULTIPLE, Ordering::Relaxed);
    welcome(page.place.load(Ordering::Relaxed) as c_int, tool);
    shipping::start(page.packets.load(Ordering::Relaxed) as usize);
    comms::start(application);
    drain_in_finalize();
    if let Some(location) = location::current() {
        location.announce(region_id, begin);
    }
    page.phase.store(phase::RUNNING, Ordering::Release);
    process::enter_state(process::state::OBSERVING);
    if let Some(mut call) = Call::initialised(region_id, begin) {
        call.called();
        call.leave();
    }
}

/// Hears from the place where it awaits the supervisor, and tells the supervisor.
fn welcome(place: c_int, tool: Comm) {
    let mut path = [0u8; WELCOME_BYTES_MAX];
    let mut status = Status::EMPTY;
    // SAFETY: the buffer has the length that is given; the place sends this message to each of its
    // ranks. The descriptor is ours; a failed write means that the supervisor is gone, which nobody
    // here can mend.
    unsafe {
        let result = real::recv(
            path.as_mut_ptr().cast(),
            path.len() as c_int,
            type_byte(),
            place,
            TAG_WELCOME,
            tool,
            &mut status,
        );
        if result == SUCCESS {
            let bytes = (status.bytes() as usize).min(path.len());
            libc::send(
                CONTROL.load(Ordering::Relaxed),
                path.as_ptr().cast(),
                bytes,
                libc::MSG_NOSIGNAL,
            );
        }
    }
}

/// Hangs the draining on `MPI_COMM_SELF`: attributes go in the reverse order of their setting, so
/// that ours, the first, goes after all the application's own callbacks.
fn drain_in_finalize() {
    let mut keyval = KEYVAL_INVALID;
    // SAFETY: both callbacks have the signatures that MPI asks for and live for ever.
    unsafe {
        real::comm_create_keyval(
            copy_nothing as *const c_void,
            drain_callback as *const c_void,
            &mut keyval,
            core::ptr::null_mut(),
        );
        real::comm_set_attr(comm_self(), keyval, core::ptr::null_mut());
    }
}

unsafe extern "C" fn copy_nothing(
    _: Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a place for the flag.
    unsafe { *flag = 0 };
    SUCCESS
}

unsafe extern "C" fn drain_callback(_: Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    // In this order: what is on its way may still have to ask the world that ends.
    drain();
    sessions::keep_groups();
    attributes::end();
    SUCCESS
}

/// `MPI_Finalize` begins.
pub fn finalizing(call: Call) {
    FINALIZING.store(Box::into_raw(Box::new(call)), Ordering::Relaxed);
}

/// Everything that this rank recorded goes to the place. Called once, from within `MPI_Finalize`.
pub fn drain() {
    let Some(page) = process::page() else { return };
    if !process::observing() {
        return;
    }
    let finalizing = FINALIZING.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !finalizing.is_null() {
        // SAFETY: a box of ours, taken out once. Its record ends here: behind this nothing is
        // recorded.
        let mut call = unsafe { Box::from_raw(finalizing) };
        call.called();
        call.write();
    }
    comms::look_after();
    if let Some(mut location) = location::current() {
        shipping::close(&mut location);
    }
    process::enter_state(process::state::DRAINED);
    shipping::land(LAND_NS);
    shipping::leave_open_packets();
    let until = monotonic_ns() + DEFINE_NS;
    while !ring::is_flushed() && monotonic_ns() < until {
        sleep_us(200);
    }
    page.phase.store(phase::DRAINED, Ordering::Release);
}

/// The real `MPI_Finalize` has returned. The thread was in MPI to its end: a pause must not stop it
/// there.
pub fn finalized() {
    if process::state() == process::state::DRAINED {
        in_mpi(inside::APPLICATION);
    }
}

/// Ends a world that the program knows nothing of, as `MPI_Finalize` does.
pub fn end_hidden_world() {
    in_mpi(inside::MPI);
    // SAFETY: the world was initialised by us and not finalised.
    unsafe { real::finalize() };
    in_mpi(inside::APPLICATION);
}

/// Shows where the calling thread is.
fn in_mpi(inside: u32) {
    match location::current() {
        Some(location) => location.status.inside.store(inside, Ordering::Release),
        None => homeless::finalized(),
    }
}

/// `MPI_Abort` was called. It may kill every process of the job before any of them can do anything
/// (MPICH's launcher does), so the supervisor is told first, and answers when the place has taken
/// what there is. Only system calls that a signal handler may make: programs abort in them.
pub fn aborting(code: c_int) {
    let Some(page) = process::page().filter(|_| process::observing()) else {
        return;
    };
    page.abort_code.store(code as u32, Ordering::Relaxed);
    // Within a callback the call around it stays the one that the thread is in.
    let outside =
        |here: &location::Here| here.status.inside.load(Ordering::Relaxed) == inside::APPLICATION;
    if let Some(here) = location::known().filter(outside) {
        here.status.entered_at.store(ticks(), Ordering::Relaxed);
        here.status
            .region
            .store(u32::from(ABORT.0), Ordering::Relaxed);
    }
    page.phase.store(phase::ABORTING, Ordering::Release);
    let control = CONTROL.load(Ordering::Relaxed);
    // SAFETY: the bytes are valid for their length; the descriptor is ours, or none.
    let told = unsafe {
        libc::send(
            control,
            ABORTING.as_ptr().cast(),
            ABORTING.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    if told < 0 {
        return;
    }
    let until = monotonic_ns() + ABORT_NS;
    let mut answer = libc::pollfd {
        fd: control,
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        let left_ms = until.saturating_sub(monotonic_ns()) / 1_000_000;
        // SAFETY: one entry, which is ours. An answer and a supervisor that is gone are the same to
        // us.
        let ready = unsafe { libc::poll(&mut answer, 1, left_ms as c_int) };
        if ready > 0 || left_ms == 0 {
            return;
        }
    }
}

/// The number of a function, found by its name when the shim is compiled.
pub const fn number_of(name: &CStr) -> u16 {
    let wanted = name.to_bytes();
    let mut index = 1;
    while index < FUNCTIONS.len() {
        if same(FUNCTIONS[index].name.as_bytes(), wanted) {
            return index as u16;
        }
        index += 1;
    }
    panic!("no such function in the table")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
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
