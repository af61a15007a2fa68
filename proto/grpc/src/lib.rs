//! The gateway's gRPC interface in Rust: generated from `proto/gateway.proto`, with conversions
//! from and to the tree's messages, and the channel to a gateway.
//!
//! The generated code is committed: compilers of protocol files are 24 crates that no user's build
//! needs. `proto/codegen` makes it, and its test compares.
//!
//! Without the feature `transport` there are only the messages: the launcher writes reports with
//! them and links no gRPC.
//!
//! Not here: any server, any rule about who may do what.

#![forbid(unsafe_code)]

#[cfg(feature = "transport")]
pub mod channel;
#[cfg(feature = "transport")]
pub mod command;
pub mod convert;

/// The generated messages, client and server.
pub mod v1 {
    #![allow(missing_docs, clippy::all, reason = "generated")]
    include!("generated/invivo.v1.rs");
}

/// The compiled descriptors of the interface, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/gateway.bin");
