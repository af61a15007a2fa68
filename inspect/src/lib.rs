//! Call stacks, pending MPI calls and metrics of another process, read from outside through the
//! kernel.
//!
//! ```text
//! pending_call <- site, memory, names      a rank that waits in MPI: what the call was given
//! unwind <- tracer, blocked_thread         the call path of each thread
//! frames <- mapped, memory                 from registers up through the callers
//! python <- mapped, memory, apart          the Python functions of a path
//! fault <- unwind, names                   the path of a thread that met a fault and waits
//! names                                    functions and source lines of addresses
//! sampling <- frames, names, child, perf   where a rank spends its time on a processor
//! metrics <- perf                          what the system counts of a process
//! perf                                     why the kernel refuses an event
//! apart <- child                           foreign files are read in a process of its own
//! panic_guard                              a fault in a reader of foreign files ends nothing
//! ```
//!
//! Not here: the launcher, and any wire.

mod apart;
mod blocked_thread;
mod child;
pub mod fault;
mod frames;
mod mapped;
mod memory;
pub mod metrics;
mod names;
pub mod panic_guard;
pub mod pending_call;
mod perf;
mod python;
pub mod sampling;
mod site;
#[cfg(test)]
mod test_memory;
#[cfg(test)]
mod test_program;
#[cfg(test)]
mod test_python;
mod tracer;
pub mod unwind;

pub use names::Names;
pub use python::KnownPython;
