//! The preloaded library: observes an application's MPI calls from inside its processes.
//!
//! It stands between an application and its MPI library, keeps the application's world to the
//! application's ranks, writes one record for each call and sends the records to the rank's tool
//! place. It is a guest in somebody else's process: on the hot path it does not allocate, lock,
//! call the system, print or panic; when something is wrong it goes silent and only passes calls
//! through. `libmpi` is not among its dependencies: it looks up the next `MPI_*` and `PMPI_*`
//! behind itself, in whichever library the program loads.
//!
//! | folder | what is in it |
//! |---|---|
//! | [`family`] | the MPI library's binary interface as data: handles, constants, the status |
//! | [`resolve`] | finding functions: symbols, the MPI library, the PMPI functions we call |
//! | [`world`] | the substitution of `MPI_COMM_WORLD` and what follows from it |
//! | [`track`] | what lives longer than a call: communicators, requests, types, sites, counters |
//! | [`record`] | the hot path: call, facts, location, packet, send queue, gate |
//! | [`lifecycle`] | attaching, start, `MPI_Finalize`, `MPI_Abort`, faults, refusals |
//! | [`wrappers`] | the exported functions, most of them generated |
//!
//! A folder uses those above it in this table and never one below. The way of a call:
//! `wrappers/generated.rs` -> `wrappers/macros.rs` (the shape that all have) -> `record/call.rs`
//! (enter, leave) -> `record/facts/` (what the call was about, with the help of `track/`) ->
//! `record/write.rs` (into the thread's open packet) -> `record/send_queue.rs` (full packets).
// Everything here is called across a C interface or works on raw shared memory; the generated
// wrappers carry the C functions' own preconditions.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

#[cfg(not(any(
    feature = "family-ompi",
    feature = "family-mpich",
    feature = "family-abi"
)))]
compile_error!("choose a family: --features family-ompi, family-mpich or family-abi");

mod clock;
mod doorbell;
mod errno;
mod family;
mod lifecycle;
mod limits;
mod process;
mod record;
mod registers;
mod resolve;
mod signals;
mod spin_lock;
mod track;
mod world;
mod wrappers;
