//! Compiles `../gateway.proto` without `protoc`: protox makes the descriptors, tonic-prost-build
//! the code.

use prost::Message;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let proto = "../gateway.proto";
    println!("cargo::rerun-if-changed={proto}");
    let descriptors = protox::compile([proto], [".."])?;
    // For reflection.
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("gateway.bin"), descriptors.encode_to_vec())?;
    // A reader of messages needs neither client nor server.
    let transport = "#[cfg(feature = \"transport\")]";
    tonic_prost_build::configure()
        .client_mod_attribute(".", transport)
        .server_mod_attribute(".", transport)
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .field_attribute(
            ".invivo.v1.RankStatus.state",
            "#[serde(serialize_with = \"crate::convert::state_by_name\")]",
        )
        .compile_fds(descriptors)?;
    Ok(())
}
