//! Test programs: their command lines, each program built once per MPI from `tests/apps`.
//!
//! ```text
//! build                when and how a program is compiled
//! single               the small programs of one file each
//! call_sites           calls from known lines, in the program and in a library of its own
//! counted_twice        what gprof and perf count as well
//! conversation         one script of communication in six languages and bindings
//! mpi_features         a section for each feature of MPI that an interposed library can break
//! remaining_functions  the MPI functions that the other programs leave out
//! preload              libraries of our own that are preloaded into a job
//! regions              regions that are marked, and functions that the compiler instruments
//! other_tools          libraries of others that are preloaded into a job
//! python               the Python interpreter of the tests
//! ```

mod build;
mod call_sites;
mod conversation;
mod counted_twice;
mod lammps;
mod metrics;
pub mod mpi_features;
pub mod other_tools;
mod preload;
pub mod python;
mod regions;
pub mod remaining_functions;
mod single;

pub use call_sites::call_sites;
pub use conversation::Conversation;
pub use counted_twice::{call_graph, stretches};
pub use lammps::{endless_melt, melt};
pub use metrics::{measured, measured_in_phases, metric_stages};
pub use preload::{Counter, counter, garbage_sender, late_to_fence, yield_while_waiting};
pub use regions::{
    marking, region_exceptions, region_trouble, regions, regions_in_python, selection,
    tiny_functions,
};
pub use single::{
    Language, after_init, hybrid, in_language, left_calls, marked_line, program, program_as,
    sanitized, shares, with_mpi_inside,
};

/// The name that a function of a test program has in its source: Fortran's compiler puts the module
/// in front, C++ has the namespace there and the parameters behind.
pub fn plain_name(function: &str) -> &str {
    let name = function.strip_prefix("__work_MOD_").unwrap_or(function);
    let name = name.strip_prefix("work::").unwrap_or(name);
    name.split('(').next().unwrap_or(name)
}
