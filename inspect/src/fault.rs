//! The call path of the thread that met a fault and waits: taken while it waits, named later.

use crate::frames::Registers;
use crate::names::Names;
use crate::python::KnownPython;
use crate::unwind;
use invivo_proto::control::fault::{Fault, FaultStep, STEPS_MAX};
use invivo_proto::control::local::{Module, PythonFunction, Step, UnwoundThread};
use invivo_proto::control::stacks::{Frame, MODULE_BYTES_MAX, Way};
use invivo_proto::shm::{Page, Status};
use rustix::process::Pid;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest time for the names of a path: the rank's end waits for it. What is not named by then
/// is given as file and offset.
const NAMED_WITHIN: Duration = Duration::from_secs(3);
/// Of a path that is too long, so many functions from the thread's end stay.
const INNER_MAX: usize = STEPS_MAX * 3 / 4;

/// A thread that met a fault, as it was seen.
#[derive(Debug)]
pub struct SeenFault {
    signal: i32,
    code: i32,
    address: u64,
    tid: u32,
    is_first: bool,
    walked: UnwoundThread,
    /// Calls of MPI that the thread had entered.
    entered: Option<u64>,
}

/// Looks at the thread that has noted itself in the page. What stands there is not trusted: it says
/// where to begin to read in the rank's own memory.
pub fn see(pid: Pid, page: &Page, python: &mut KnownPython) -> SeenFault {
    let noted = &page.fault;
    let tid = noted.tid.load(Ordering::Relaxed);
    let registers = Registers {
        code: noted.instruction.load(Ordering::Relaxed),
        stack: noted.stack.load(Ordering::Relaxed),
        frame: Some(noted.frame.load(Ordering::Relaxed)),
    };
    let signal = noted.signal.load(Ordering::Relaxed) as i32;
    // For `MPI_Abort` the shim notes where it stands itself, behind a call.
    let thread = Pid::from_raw(tid as i32).unwrap_or(pid);
    let walked = unwind::waiting(pid, thread, page, python, registers);
    SeenFault {
        signal,
        code: noted.code.load(Ordering::Relaxed) as i32,
        address: noted.address.load(Ordering::Relaxed),
        tid,
        is_first: pid.as_raw_nonzero().get() as u32 == tid,
        walked,
        entered: status(page, tid).map(|status| status.entered.load(Ordering::Relaxed)),
    }
}

fn status(page: &Page, tid: u32) -> Option<&Status> {
    let locations = (page.locations.load(Ordering::Acquire) as usize).min(page.status.len());
    let mut own = page.status[..locations].iter();
    own.find(|status| status.tid.load(Ordering::Acquire) == tid)
}

impl SeenFault {
    /// Whether the thread went on: a program that has a handler may live with its faults.
    pub fn is_over(&self, page: &Page) -> bool {
        let now = status(page, self.tid).map(|status| status.entered.load(Ordering::Relaxed));
        self.signal != 0 && self.entered.is_some() && now != self.entered
    }

    /// Whether a path is known.
    pub fn has_path(&self) -> bool {
        !self.walked.path.is_empty()
    }

    /// With the names of its functions, which are read from the rank's files.
    pub fn named(&self, names: &mut Names) -> Fault {
        let begun = Instant::now();
        let mut path = Vec::new();
        for step in &self.walked.path {
            match *step {
                Step::Code { module, offset } => {
                    let module = &self.walked.modules[usize::from(module)];
                    let in_time = begun.elapsed() < NAMED_WITHIN;
                    path.extend(functions(in_time.then_some(&mut *names), module, offset));
                }
                Step::Python { function } => {
                    path.extend(self.walked.python.get(usize::from(function)).map(python));
                }
                Step::Nowhere => path.push(function("", "", String::new())),
                Step::LeftOut => path.push(left_out()),
            }
        }
        if path.len() > STEPS_MAX {
            let outer = path.len() - (STEPS_MAX - INNER_MAX - 1);
            path.splice(INNER_MAX..outer, [left_out()]);
        }
        // An address belongs to a fault in memory that the kernel has seen.
        let is_memory = matches!(self.signal, libc::SIGSEGV | libc::SIGBUS);
        let is_fault = is_memory && self.code > 0 && self.code != libc::SI_KERNEL;
        Fault {
            signal: Some(self.signal).filter(|signal| *signal != 0),
            code: self.code,
            address: is_fault.then_some(self.address),
            tid: self.tid,
            is_first: self.is_first,
            missing: match self.walked.way {
                Way::Missing(why) if path.is_empty() => Some(why),
                _ => None,
            },
            path,
            is_whole: self.walked.is_whole,
            no_python: self.walked.no_python,
        }
    }
}

/// The functions at an address, the innermost of those that were inlined there first.
fn functions(names: Option<&mut Names>, module: &Module, offset: u64) -> Vec<FaultStep> {
    let named = names.map(|names| names.functions(module, offset));
    let file = crate::mapped::name(&module.path);
    let nameless = || vec![function(file, "", format!("+{offset:#x}"))];
    match named {
        None => nameless(),
        Some(named) if named.is_empty() => nameless(),
        Some(named) => {
            let step = |one: &invivo_proto::control::local::Named| {
                let is_known = !one.function.is_empty() || !one.line.is_empty();
                let line = match is_known {
                    true => one.line.clone(),
                    false => format!("+{offset:#x}"),
                };
                function(file, &one.function, line)
            };
            named.iter().map(step).collect()
        }
    }
}

fn function(module: &str, name: &str, line: String) -> FaultStep {
    let cut = module.floor_char_boundary(module.len().min(MODULE_BYTES_MAX));
    FaultStep {
        frame: Frame::Function {
            module: module[..cut].to_owned(),
            name: name.to_owned(),
        },
        line,
    }
}

fn python(function: &PythonFunction) -> FaultStep {
    FaultStep {
        frame: Frame::Python {
            file: function.file.clone(),
            name: function.name.clone(),
        },
        line: function.place(),
    }
}

fn left_out() -> FaultStep {
    FaultStep {
        frame: Frame::LeftOut,
        line: String::new(),
    }
}
