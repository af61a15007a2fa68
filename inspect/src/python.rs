//! Finds the Python interpreter (CPython) of a process, and what its threads execute.
//!
//! ```text
//! python -> layout -> lines      where the interpreter is, and how its version is laid out
//! calls -> pages                 the calls of a thread, while it is stopped
//! code -> lines                  which functions these are, and in which lines
//! merge                          the native path with these functions in it
//! ```
//!
//! The interpreter does nothing for it, and holds no lock: what is read may make no sense, and is
//! left out then.

pub mod calls;
pub mod code;
mod layout;
mod lines;
pub mod merge;
pub mod pages;

use crate::apart;
use crate::mapped::{MappedFile, name};
use crate::memory::ProcessMemory;
use invivo_proto::control::stacks::NoPython;
use invivo_proto::control::{decode, encode};
use layout::{Described, Layout};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The longest time for finding the interpreter, which takes milliseconds where processors are
/// free: the tables of symbols of one or two files are read.
const FOUND_WITHIN: Duration = Duration::from_millis(700);
/// How the names of files begin that have an interpreter in them.
const BEGINNINGS: [&str; 2] = ["libpython", "python"];
/// The interpreter's runtime, as a symbol and, from 3.13 on, as a section.
const RUNTIME: &str = "_PyRuntime";
const RUNTIME_SECTION: &str = ".PyRuntime";
/// From 3.11 on: the version.
const VERSION: &str = "Py_Version";
/// The loop that executes Python functions.
const EVAL_LOOP: &str = "_PyEval_EvalFrameDefault";
/// Functions that older versions have first.
const FIRST_OF_3_10: &str = "PyIter_Send";
const FIRST_OF_3_9: &str = "PyFrame_GetBack";

/// An interpreter, ready to be read.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The file with its code.
    path: String,
    runtime: u64,
    layout: Layout,
    /// The code of its loop, where its file says how far it reaches.
    eval_loop: Range<u64>,
}

/// Whether a process has an interpreter, and whether it can be read.
#[derive(Clone, Debug)]
pub enum Python {
    None,
    /// It is in this file, and cannot be read.
    Unread {
        path: String,
        why: NoPython,
    },
    Read(Box<Interpreter>),
}

/// The interpreter of the process that was looked at last.
#[derive(Default)]
pub struct KnownPython(Option<(Process, Python)>);

/// A process, and the files that may have an interpreter in them, with where they are mapped: those
/// of another program lie elsewhere.
type Process = (i32, Vec<(String, u64)>);

/// An interpreter as it was found: its file, the runtime's address, the version, its loop's code,
/// and what it says of itself.
type Found = (String, u64, (u8, u8), (u64, u64), Vec<u64>);

impl KnownPython {
    /// The interpreter of a process; the files are read when it is a new one.
    pub fn of(
        &mut self,
        pid: Pid,
        memory: &ProcessMemory,
        files: &BTreeMap<&str, MappedFile<'_>>,
    ) -> &Python {
        let program = std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
        let program = program.unwrap_or_default();
        let may_have_one = |path: &str| is_named_python(path) || program.to_str() == Some(path);
        let candidates: Vec<&MappedFile<'_>> = files
            .values()
            .filter(|file| may_have_one(file.path))
            .collect();
        let of = |file: &&MappedFile<'_>| (file.path.to_owned(), file.begin());
        let process = (
            pid.as_raw_nonzero().get(),
            candidates.iter().map(of).collect(),
        );
        if self.0.as_ref().is_none_or(|(known, _)| *known != process) {
            let found = find(memory, &candidates);
            self.0 = Some((process, found));
        }
        self.0.as_ref().map_or(&Python::None, |(_, python)| python)
    }
}

fn is_named_python(path: &str) -> bool {
    BEGINNINGS
        .iter()
        .any(|beginning| name(path).starts_with(beginning))
}

/// Looks for an interpreter in these files.
fn find(memory: &ProcessMemory, candidates: &[&MappedFile<'_>]) -> Python {
    if candidates.is_empty() {
        return Python::None;
    }
    let found = apart::once(FOUND_WITHIN, &[memory.descriptor()], || {
        let mut found = candidates
            .iter()
            .filter_map(|file| interpreter(memory, file));
        encode(&found.next()).unwrap_or_default()
    });
    let found = found.and_then(|found| decode::<Option<Found>>(&found).ok());
    // A file with an interpreter's name, and without one that we find.
    let unread = |why| {
        let named = candidates.iter().find(|file| is_named_python(file.path));
        named.map_or(Python::None, |file| Python::Unread {
            path: file.path.to_owned(),
            why,
        })
    };
    match found {
        None => unread(NoPython::Unreadable),
        Some(None) => unread(NoPython::NoRuntime),
        Some(Some(found)) => known(found),
    }
}

/// The interpreter in a file.
fn interpreter(memory: &ProcessMemory, file: &MappedFile<'_>) -> Option<Found> {
    let names = [RUNTIME, VERSION, EVAL_LOOP, FIRST_OF_3_10, FIRST_OF_3_9];
    let [runtime, version, eval_loop, first_of_3_10, first_of_3_9] = file.symbols(names)?;
    let runtime = match runtime {
        Some(runtime) => runtime.start,
        None => file.section(RUNTIME_SECTION)?,
    };
    let words = memory.read(runtime, layout::DESCRIPTION_WORDS * 8)?;
    let words = words.as_chunks::<8>().0.iter();
    let version = match version {
        Some(at) => layout::version(memory.word(at.start)?),
        None if first_of_3_10.is_some() => (3, 10),
        None if first_of_3_9.is_some() => (3, 9),
        // What has neither is older; which one it is nobody asks.
        None => (3, 8),
    };
    let eval_loop = eval_loop.unwrap_or_default();
    Some((
        file.path.to_owned(),
        runtime,
        version,
        (eval_loop.start, eval_loop.end),
        words.map(|word| u64::from_ne_bytes(*word)).collect(),
    ))
}

/// What was found, if its layout is known.
fn known((path, runtime, version, eval_loop, words): Found) -> Python {
    let described = layout::described(&words);
    let described = described.or_else(|| layout::of(version).map(Described::Layout));
    match described.unwrap_or(Described::Version(version.0, version.1)) {
        Described::Layout(layout) => Python::Read(Box::new(Interpreter {
            path,
            runtime,
            layout,
            eval_loop: eval_loop.0..eval_loop.1,
        })),
        Described::Version(major, minor) => Python::Unread {
            path,
            why: NoPython::Version { major, minor },
        },
        Described::FreeThreaded => Python::Unread {
            path,
            why: NoPython::FreeThreaded,
        },
    }
}

impl Python {
    /// Whether functions of a file are the interpreter's own.
    pub fn owns(&self, path: &str) -> bool {
        match self {
            Python::None => false,
            Python::Unread { path: own, .. } => path == own || is_named_python(path),
            Python::Read(interpreter) => path == interpreter.path || is_named_python(path),
        }
    }

    /// The interpreter, where it can be read.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        match self {
            Python::Read(interpreter) => Some(interpreter),
            Python::None | Python::Unread { .. } => None,
        }
    }
}

impl Interpreter {
    /// Where the states of its threads are, by the kernel's ids; nothing where that cannot be read.
    pub fn threads(&self, memory: &ProcessMemory) -> Option<BTreeMap<u32, u64>> {
        calls::threads(memory, &self.layout, self.runtime)
    }

    /// The calls of a thread with this state; nothing where they cannot be read.
    pub fn runs(
        &self,
        memory: &ProcessMemory,
        thread: u64,
        pages: &mut pages::Pages,
    ) -> Option<Vec<calls::Run>> {
        calls::runs(memory, &self.layout, thread, pages)
    }

    /// The function of a call.
    pub fn told(&self, codes: &mut code::Codes<'_>, call: calls::Call) -> code::Told {
        codes.function(&self.layout, call)
    }

    /// Where the code of its loop is.
    pub fn eval_loop(&self) -> &Range<u64> {
        &self.eval_loop
    }
}
