//! Finds the line in the source of a pending call: from the wrapper's frame, whose registers the
//! shim notes at each call, up to the first frame that is the application's own. Frames of the MPI
//! library (its Fortran layer) are skipped. Where that frame is of what calls MPI for Python, the
//! line is that of the Python function.

use crate::apart;
use crate::frames::{Frames, Go, Registers};
use crate::mapped::{self, MappedFile, is_mpi, is_shim};
use crate::memory::ProcessMemory;
use crate::names::Names;
use crate::python::code::{Codes, Told};
use crate::python::pages::Pages;
use crate::python::{Interpreter, KnownPython};
use invivo_proto::control::local::Module;
use invivo_proto::control::{decode, encode};
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::shm::Status;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Frames between the wrapper and the application: a language's layer has one or two.
const FRAMES_MAX: usize = 16;
/// The longest time for the way to the application's frame: some milliseconds, where processors are
/// free. A stop waits for it, and has a second itself.
const FOUND_WITHIN: Duration = Duration::from_millis(700);
/// Words below the wrapper's stack in which the way back is searched: no function of MPI has more
/// arguments that do not fit into registers.
const PASSED_ON_STACK_MAX: u64 = 12;

/// What mpi4py's file is called, up to the interpreter's or the MPI's name.
const MPI4PY: &str = "MPI.";

/// Code in a file: its path, and an address as it was linked for.
type Code = (String, u64);
/// What is found of a call: where it was made, the wrapper, and the line of the newest Python
/// function.
type Found = (Option<Code>, Option<Code>, Option<String>);

/// The line, function or file of this thread's call in the application, and the function's name in
/// the shim.
pub fn site(
    names: &mut Names,
    python: &mut KnownPython,
    pid: Pid,
    memory: &ProcessMemory,
    status: &Status,
) -> Option<(Option<String>, RegionId)> {
    let mappings = mapped::mappings(pid)?;
    let files = mapped::files(&mappings);
    let interpreter = python.of(pid, memory, &files).interpreter();
    let found = apart::once(FOUND_WITHIN, &[memory.descriptor()], || {
        let linked = |(path, address): (&str, u64)| {
            let bias = files.get(path).and_then(MappedFile::bias).unwrap_or(0);
            (path.to_owned(), address.wrapping_sub(bias))
        };
        let caller = caller(memory, &files, status).map(linked);
        let wrapper = wrapper(memory, &files, status).map(linked);
        let python = interpreter.and_then(|one| python_line(memory, one, status));
        encode(&(caller, wrapper, python)).unwrap_or_default()
    })?;
    let (caller, wrapper, python) = decode::<Found>(&found).ok()?;
    let python = python.filter(|_| caller.as_ref().is_none_or(|of| is_of_python(names, of)));
    let text = python.or_else(|| caller.map(|(path, address)| names.text(&path, address)));
    Some((text, wrapper.map_or(RegionId(0), |of| function(names, of))))
}

/// Whether the code that calls MPI says less than the Python function that it was called by: it is
/// mpi4py's, or has no source lines.
fn is_of_python(names: &mut Names, (path, address): &Code) -> bool {
    let build_id = Vec::new();
    let path = path.clone();
    mapped::name(&path).starts_with(MPI4PY) || {
        let named = names.functions(&Module { path, build_id }, *address);
        named.iter().all(|named| named.line.is_empty())
    }
}

/// The line in which the newest Python function of a thread is.
fn python_line(
    memory: &ProcessMemory,
    interpreter: &Interpreter,
    status: &Status,
) -> Option<String> {
    let threads = interpreter.threads(memory)?;
    let state = threads.get(&status.tid.load(Ordering::Acquire))?;
    let runs = interpreter.runs(memory, *state, &mut Pages::room())?;
    let mut calls = runs.iter().flat_map(|run| &run.calls);
    let mut codes = Codes::of(memory);
    calls.find_map(|call| match interpreter.told(&mut codes, *call) {
        Told::Function(function) => Some(function.place()).filter(|place| !place.is_empty()),
        Told::Internal | Told::Garbage => None,
    })
}

/// The wrapper that the thread is in: the shim's file, and an address within its call.
fn wrapper<'a>(
    memory: &ProcessMemory,
    files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    status: &Status,
) -> Option<(&'a str, u64)> {
    let code = noted(memory, files, status)?.code.checked_sub(1)?;
    let shim = files.values().find(|file| file.holds(code))?;
    Some((shim.path, code))
}

/// The function of a wrapper, by its name in the shim: `MPI_X` or `PMPI_X`.
fn function(names: &mut Names, (path, address): Code) -> RegionId {
    let build_id = Vec::new();
    let module = Module { path, build_id };
    let named = names.functions(&module, address);
    let region = named.iter().rev().find_map(|named| {
        let name = named.function.strip_prefix('P').unwrap_or(&named.function);
        FUNCTIONS.iter().position(|function| function.name == name)
    });
    RegionId(region.unwrap_or(0) as u16)
}

/// The first frame that is not the shim's nor the MPI library's: its file, and the address of its
/// call.
fn caller<'a>(
    memory: &'a ProcessMemory,
    files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    status: &Status,
) -> Option<(&'a str, u64)> {
    let registers = noted(memory, files, status)?;
    let mut found = None;
    let read = |at: u64| memory.word(at);
    Frames::new(memory, files).unwind(registers, true, FRAMES_MAX, read, |at| {
        match at.path.filter(|path| !is_mpi(path)) {
            Some(path) => {
                found = Some((path, at.address));
                Go::Found
            }
            None => Go::On,
        }
    });
    found
}

/// The registers with which the MPI library comes back to the shim, as the shim noted them at the
/// call: the first word below the wrapper's stack that points into the shim, below the arguments
/// that did not fit into registers.
pub fn noted(
    memory: &ProcessMemory,
    files: &BTreeMap<&str, MappedFile<'_>>,
    status: &Status,
) -> Option<Registers> {
    let stack = status.stack.load(Ordering::Relaxed);
    let lowest = stack.checked_sub(8 * PASSED_ON_STACK_MAX)?;
    let words = memory.read(lowest, 8 * PASSED_ON_STACK_MAX as usize)?;
    let shims: Vec<&MappedFile<'_>> = files.values().filter(|file| is_shim(file.path)).collect();
    let (mut words, mut at) = (words.as_chunks::<8>().0.iter().rev(), stack);
    words.find_map(|word| {
        let address = u64::from_ne_bytes(*word);
        // Downwards from the wrapper's stack: the return address lies below the arguments.
        at -= 8;
        let code = shims.iter().any(|shim| shim.holds(address));
        code.then_some(Registers {
            code: address,
            stack: at + 8,
            frame: Some(status.frame.load(Ordering::Relaxed)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_addresses_are_found_in_our_own_file() {
        let mappings = mapped::mappings(rustix::process::getpid()).expect("proc is there");
        let files = mapped::files(&mappings);
        let here = our_own_addresses_are_found_in_our_own_file as fn() as usize as u64;
        let file = files
            .values()
            .find(|file| file.holds(here))
            .expect("we are mapped");
        let at = here - file.bias().expect("a program");
        let mut names = Names::default();
        let text = names.text(file.path, at);
        assert!(text.starts_with("site.rs:"), "{text}");
        let of = |path: &str, build_id: &[u8]| Module {
            path: path.to_owned(),
            build_id: build_id.to_vec(),
        };
        let named = names.functions(&of(file.path, &[]), at);
        let outermost = named.last().expect("a function");
        assert!(
            outermost
                .function
                .ends_with("our_own_addresses_are_found_in_our_own_file")
                && outermost.line == text,
            "{named:?}"
        );
        assert_eq!(names.functions(&of("/nowhere", &[]), at), []);
        assert_eq!(names.functions(&of(file.path, b"another"), at), []);
    }
}
