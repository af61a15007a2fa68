//! The sampler of a rank, among the processes of the machine.

use crate::bench::processes::{Process, name_and_parent};
use anyhow::{Context, Result};

const NAME: &str = "invivo-sampler";

/// The sampler of a process: like that one, a child of its supervisor.
pub fn sampler(pid: u32) -> Result<Process> {
    let supervisor = named(pid).context("the rank")?.1;
    for entry in std::fs::read_dir("/proc").context("/proc")?.flatten() {
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // A process may end meanwhile.
        if let Some(id) = id
            && named(id).is_some_and(|(name, parent)| name == NAME && parent == supervisor)
        {
            let name = NAME.to_owned();
            return Ok(Process { id, name });
        }
    }
    anyhow::bail!("the rank has no sampler")
}

/// Name and parent of a process.
fn named(pid: u32) -> Option<(String, u32)> {
    name_and_parent(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_one_is_told() {
        let own = std::process::id();
        assert!(named(own).is_some_and(|(_, parent)| parent > 0));
        assert!(sampler(own).is_err());
    }
}
