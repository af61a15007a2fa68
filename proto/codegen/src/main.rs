//! Makes from `proto/gateway.proto` the generated code of `proto/grpc`, the classes of the Python
//! client, the types of the page, and the manual's tables of messages; `cargo xtask generate` runs
//! it.
//!
//! A program of its own, for `proto/grpc` itself may not compile between a change of the interface
//! and the new code. No `protoc`: protox makes the descriptors, tonic-prost-build the code.

#![forbid(unsafe_code)]

mod comments;
mod messages_page;
mod python;
mod typescript;

use prost::Message;
use prost_types::FileDescriptorSet;
use std::error::Error;
use std::path::{Path, PathBuf};

const MADE: &str = "Made by `cargo xtask generate` from proto/gateway.proto. Do not edit.";
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../grpc/src/generated");
/// Messages that a report holds: those alone are read back, from JSON, where a field that a report
/// of an older version lacks has its default.
const IN_REPORTS: [&str; 31] = [
    "AnalysisStatus",
    "CallSiteRow",
    "CallSitesReply",
    "Causer",
    "CodeFunction",
    "CollectiveCalls",
    "CommunicatorWaits",
    "Coverage",
    "Distribution",
    "DroppedByShim",
    "Efficiency",
    "FunctionRow",
    "HistogramBin",
    "Job",
    "IterationsReply",
    "Ledger",
    "LoopRow",
    "Observation",
    "OffInterval",
    "RankCounts",
    "RankWaitRow",
    "RankWaits",
    "RecordingStatus",
    "RegionRow",
    "RegionsReply",
    "SiteWaitRow",
    "TableInterval",
    "Traffic",
    "WaitStateRow",
    "WaitStatesReply",
    "WindowStatus",
];
/// The package of the Python client.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/invivo");
/// The page in a browser.
const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cli/page");
/// The page of the manual that lists the messages.
const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/manual/reference/json.md"
);

fn main() -> Result<(), Box<dyn Error>> {
    generate(Path::new(RESULTS))?;
    generate_python(Path::new(PYTHON))?;
    generate_typescript(Path::new(WEB))?;
    std::fs::write(PAGE, page(&std::fs::read_to_string(PAGE)?)?)?;
    Ok(())
}

/// The descriptors of the interface, with comments.
fn descriptors() -> Result<FileDescriptorSet, protox::Error> {
    let proto = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    protox::compile([proto.join("gateway.proto")], [proto])
}

/// The page with its tables made anew.
fn page(old: &str) -> Result<String, Box<dyn Error>> {
    let descriptors = descriptors()?;
    let file = descriptors.file.last().ok_or("no file")?;
    Ok(messages_page::renewed(old, file).ok_or("the page of messages has lost its marks")?)
}

/// Writes `invivo.v1.rs` (messages, client, server) and `gateway.bin` (descriptors, for
/// reflection).
fn generate(out: &Path) -> Result<(), Box<dyn Error>> {
    let descriptors = descriptors()?;
    std::fs::write(out.join("gateway.bin"), descriptors.encode_to_vec())?;

    // A reader of messages needs neither client nor server.
    let transport = "#[cfg(feature = \"transport\")]";
    let mut builder = tonic_prost_build::configure();
    for message in IN_REPORTS {
        let attributes = "#[derive(serde::Deserialize)] #[serde(default)]";
        builder = builder.type_attribute(format!(".invivo.v1.{message}"), attributes);
    }
    builder
        .out_dir(out)
        .emit_rerun_if_changed(false)
        .client_mod_attribute(".", transport)
        .server_mod_attribute(".", transport)
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .field_attribute(
            ".invivo.v1.RankStatus.state",
            "#[serde(serialize_with = \"crate::convert::state_by_name\")]",
        )
        .compile_fds(descriptors)?;

    let code = out.join("invivo.v1.rs");
    let made = std::fs::read_to_string(&code)?;
    std::fs::write(code, format!("// {MADE}\n{made}"))?;
    Ok(())
}

/// Writes `answers.py` (a class for each message) and `gateway.bin` (descriptors without comments,
/// by which they are read and requests are made).
fn generate_python(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut descriptors = descriptors()?;
    let file = descriptors.file.last().ok_or("no file")?;
    std::fs::write(out.join("answers.py"), python::answers(file, MADE))?;
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    Ok(std::fs::write(
        out.join("gateway.bin"),
        descriptors.encode_to_vec(),
    )?)
}

/// Writes `answers.d.ts`, the types of all messages.
fn generate_typescript(out: &Path) -> Result<(), Box<dyn Error>> {
    let descriptors = descriptors()?;
    let file = descriptors.file.last().ok_or("no file")?;
    let types = typescript::types(file, MADE);
    Ok(std::fs::write(out.join("answers.d.ts"), types)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_code_is_what_the_interface_makes() {
        let made = tempfile::tempdir().unwrap();
        generate(made.path()).unwrap();
        same(RESULTS, made.path(), &["invivo.v1.rs", "gateway.bin"]);
        generate_python(made.path()).unwrap();
        same(PYTHON, made.path(), &["answers.py", "gateway.bin"]);
        generate_typescript(made.path()).unwrap();
        same(WEB, made.path(), &["answers.d.ts"]);
    }

    fn same(committed: &str, made: &Path, files: &[&str]) {
        for file in files {
            let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
            assert!(
                read(Path::new(committed)) == read(made),
                "{file} in {committed} is not what gateway.proto makes: run `cargo xtask generate` \
                 and commit it"
            );
        }
    }

    #[test]
    fn the_page_lists_the_interfaces_messages() {
        let committed = std::fs::read_to_string(PAGE).unwrap();
        assert!(
            committed == page(&committed).unwrap(),
            "{PAGE} is not what gateway.proto makes: run `cargo xtask generate` and commit it"
        );
    }
}
