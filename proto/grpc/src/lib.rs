//! The gateway interface as Rust: generated from `proto/gateway.proto`, with the conversions from
//! what the tree answers; `connect.json`, which says where a job's gateway is; and the way there.
//!
//! Not here: any server, any rule about who may do what.

pub mod channel;
pub mod connect;
pub mod convert;
pub mod private;

/// The generated messages, client and server.
pub mod v1 {
    #![allow(missing_docs, clippy::all, reason = "generated")]
    tonic::include_proto!("invivo.v1");
}

/// The compiled descriptors of the interface, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gateway.bin"));
