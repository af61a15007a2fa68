//! The preloaded library: it stands between an application and its MPI library, keeps the
//! application's world to the application's ranks, writes one fused record for each call and ships
//! the records to the rank's place.
//!
//! It is a guest in somebody else's process. On the hot path it does not allocate, lock, call the
//! system, print or panic; when something is wrong it goes silent and only passes calls through.
//! `libmpi` is not among its dependencies: it finds the next `MPI_*` and `PMPI_*` behind itself, in
//! whichever library the program loads.
//!
//! The way of a call: [`wrappers`] (generated) -> [`wrap`] (the shape that all have) -> [`call`]
//! (enter, leave) -> [`facts`], [`requests`], [`comms`] (what the call was about) -> [`location`]
//! (the thread's open packet) -> [`shipping`] (full packets). [`start`] is what happens in
//! `MPI_Init` and `MPI_Finalize`.
// Everything here is called across a C interface or works on raw shared memory; the generated
// wrappers carry the C functions' own preconditions.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

#[cfg(not(any(
    feature = "family-ompi",
    feature = "family-mpich",
    feature = "family-abi"
)))]
compile_error!("choose a family: --features family-ompi, family-mpich or family-abi");

mod attributes;
mod beginning;
mod call;
mod callbacks;
mod clock;
mod comms;
mod current;
mod facts;
mod family;
#[cfg(feature = "family-ompi")]
mod fortran;
mod gate;
mod groups;
mod handles;
#[cfg(target_arch = "x86_64")]
mod hidden;
mod homeless;
mod inherited;
mod library;
#[cfg(target_arch = "x86_64")]
mod loading;
mod location;
#[cfg(feature = "family-mpich")]
mod mpii;
mod next;
mod process;
mod real;
mod requests;
mod ring;
mod sessions;
mod shipping;
mod sizes;
mod special;
mod start;
mod tools;
mod wrap;
#[rustfmt::skip]
#[allow(non_snake_case, unused_variables, unused_mut, clippy::all, missing_docs)]
mod wrappers;
