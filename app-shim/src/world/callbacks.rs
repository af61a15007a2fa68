//! Callbacks of the application that MPI calls with a communicator: they get `MPI_COMM_WORLD` for
//! the application's world.
//!
//! These are error handlers, and functions that copy and delete attributes. MPI would give them the
//! application's world, and a program that compares it with `MPI_COMM_WORLD` would not know it. So
//! MPI gets one of a fixed number of entries instead, each of which remembers one function of the
//! application, replaces the communicator, and jumps on: further arguments, also of variadic
//! handlers, are not touched, and nothing of ours stays on the stack.
//!
//! An entry is never given back: MPI may keep the function as long as the process lives. A function
//! that is registered again gets the same entry, so that entries are as many as the program has
//! functions; when all are taken, the next function is registered as it is.

#[cfg(target_arch = "x86_64")]
use super::callback_time;
use super::worlds::{Worlds, worlds};
use crate::family::{Comm, FIRST_ADDRESS_OF_A_FUNCTION, RawHandle};
use crate::limits::{CALLBACK_ENTRIES as ENTRIES, RECENT_KEYVALS as RECENT};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// How a callback gets its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Passing {
    /// As a handle.
    Value = 1,
    /// As a pointer to a handle.
    Pointer = 2,
    /// As a pointer to Fortran's number.
    Fortran = 3,
}

/// The function behind each entry; 0 while it is free.
static FUNCTIONS: [AtomicUsize; ENTRIES] = [const { AtomicUsize::new(0) }; ENTRIES];
/// How the function gets its communicator.
static PASSINGS: [AtomicUsize; ENTRIES] = [const { AtomicUsize::new(0) }; ENTRIES];

/// The function to be registered with MPI in the place of the application's `function`.
#[cfg(target_arch = "x86_64")]
pub fn entry(function: *const c_void, passing: Passing) -> *const c_void {
    let wanted = function as usize;
    // Some of MPI's own functions are numbers. And an entry comes by here again where a tool stands
    // between an `MPI_X` and its `PMPI_X`.
    if wanted < FIRST_ADDRESS_OF_A_FUNCTION || entries::number_of(wanted).is_some() {
        return function;
    }
    for number in 0..ENTRIES {
        // Several threads may look for a free entry at once; an entry that has the function serves
        // whoever registered it.
        let taken =
            FUNCTIONS[number].compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_ok() {
            PASSINGS[number].store(passing as usize, Ordering::Relaxed);
        }
        if taken.is_ok() || taken == Err(wanted) {
            return entries::address_of(number) as *const c_void;
        }
    }
    function
}

/// A keyval of MPI's and the entries of its functions.
struct Keyval {
    keyval: AtomicI32,
    entries: [AtomicUsize; 2],
}

static KEYVALS: [Keyval; RECENT] = [const {
    Keyval {
        keyval: AtomicI32::new(0),
        entries: [const { AtomicUsize::new(0) }; 2],
    }
}; RECENT];
static NEXT_KEYVAL: AtomicUsize = AtomicUsize::new(0);

/// A keyval was made of these functions, entries or not.
pub fn keyval_made(keyval: c_int, functions: [*const c_void; 2]) {
    let recent = &KEYVALS[NEXT_KEYVAL.fetch_add(1, Ordering::Relaxed) % RECENT];
    for (kept, function) in recent.entries.iter().zip(functions) {
        kept.store(function as usize, Ordering::Relaxed);
    }
    recent.keyval.store(keyval, Ordering::Release);
}

/// The functions of a keyval that was made just now turned out to be Fortran's. Only MPICH's
/// Fortran layer says so afterwards; Open MPI's is wrapped where it makes the keyval.
#[cfg(all(target_arch = "x86_64", feature = "family-mpich"))]
pub fn keyval_is_fortran(keyval: c_int) {
    let next = NEXT_KEYVAL.load(Ordering::Relaxed);
    // From the newest back: MPI numbers keyvals again that were freed.
    let newest_first = (1..=RECENT).map(|back| &KEYVALS[next.wrapping_sub(back) % RECENT]);
    let made = newest_first
        .into_iter()
        .find(|recent| recent.keyval.load(Ordering::Acquire) == keyval);
    for entry in made.iter().flat_map(|made| &made.entries) {
        if let Some(number) = entries::number_of(entry.load(Ordering::Relaxed)) {
            PASSINGS[number].store(Passing::Fortran as usize, Ordering::Relaxed);
        }
    }
}

/// The machine code of the entries.
#[cfg(target_arch = "x86_64")]
mod entries {
    use super::*;

    /// Bytes of an entry's code.
    const BYTES: usize = 16;

    core::arch::global_asm!(
        ".pushsection .text.invivo_callbacks,\"ax\",@progbits",
        ".balign 16",
        ".hidden invivo_callback_entries",
        "invivo_callback_entries:",
        ".rept {entries}",
        ".balign 16",
        // An address inside this entry, in a register that no calling convention of C gives a
        // meaning.
        "lea r11, [rip]",
        "jmp 2f",
        ".endr",
        ".balign 16",
        "2:",
        // The six registers of arguments, and rax, which tells variadic functions how many vector
        // registers are used; seven, so that the stack is aligned.
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "mov rsi, rdi",
        "mov rdi, r11",
        "call {onward}",
        // The function comes back in rax, its first argument in rdx.
        "mov r11, rax",
        "mov r10, rdx",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "mov rdi, r10",
        "jmp r11",
        ".popsection",
        entries = const ENTRIES,
        onward = sym onward,
    );

    unsafe extern "C" {
        #[link_name = "invivo_callback_entries"]
        static FIRST: u8;
    }

    /// The address of an entry's code.
    pub fn address_of(number: usize) -> usize {
        (&raw const FIRST) as usize + number * BYTES
    }

    /// The number of the entry that an address lies in, if it lies in one.
    pub fn number_of(address: usize) -> Option<usize> {
        let number = address.wrapping_sub(address_of(0)) / BYTES;
        (number < ENTRIES).then_some(number)
    }

    /// A function, and the first argument that it is to be called with.
    #[repr(C)]
    struct Onward {
        function: usize,
        first: usize,
    }

    extern "C" fn onward(inside: usize, first: usize) -> Onward {
        callback_time::note();
        let number = number_of(inside).unwrap_or(0);
        let passing = PASSINGS[number].load(Ordering::Relaxed);
        let first = match worlds() {
            // SAFETY: MPI calls the function with the argument that it says it calls such functions
            // with.
            Some(worlds) => unsafe { translated(worlds, passing, first) },
            None => first,
        };
        Onward {
            function: FUNCTIONS[number].load(Ordering::Acquire),
            first,
        }
    }

    /// The first argument, with `MPI_COMM_WORLD` for the application's world.
    unsafe fn translated(worlds: Worlds, passing: usize, first: usize) -> usize {
        // Handlers get a pointer to somewhere that keeps the handle; it is the same for all.
        static HANDLE: AtomicUsize = AtomicUsize::new(0);
        static NUMBER: AtomicI32 = AtomicI32::new(0);
        if passing == Passing::Value as usize {
            // A handle that is a number has 32 bits, and the register's others mean nothing.
            let is_ours = first as RawHandle == worlds.application.0;
            return if is_ours {
                worlds.job.bits() as usize
            } else {
                first
            };
        }
        if first == 0 {
            return first;
        }
        // SAFETY: the function gets a pointer to a handle, or to Fortran's number of one.
        unsafe {
            if passing == Passing::Fortran as usize {
                if *(first as *const i32) == worlds.fortran_application {
                    NUMBER.store(worlds.fortran_job, Ordering::Relaxed);
                    return NUMBER.as_ptr() as usize;
                }
            } else if *(first as *const Comm) == worlds.application {
                HANDLE.store(worlds.job.bits() as usize, Ordering::Relaxed);
                return HANDLE.as_ptr() as usize;
            }
        }
        first
    }
}

/// On other processors callbacks get the application's world.
#[cfg(not(target_arch = "x86_64"))]
pub fn entry(function: *const c_void, _: Passing) -> *const c_void {
    function
}

/// On other processors nothing depends on it.
#[cfg(all(not(target_arch = "x86_64"), feature = "family-mpich"))]
pub fn keyval_is_fortran(_: c_int) {}
