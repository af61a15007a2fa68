//! OpenSSH's server for the tests: unpacked into `target/tools/sshd` and not installed, as a
//! machine on which somebody tests should not begin to listen for logins.

use crate::run::{Step, check, root};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The server, and a library of it that few machines have.
const PACKAGES: [&str; 2] = ["openssh-server", "libwrap0"];

/// Unpacks it where it is not there yet.
pub fn ensure() -> Result<()> {
    let home = root().join("target/tools/sshd");
    if home.join("usr/sbin/sshd").exists() {
        return Ok(());
    }
    let step = Step::begin("unpacking OpenSSH's server into target/tools/sshd");
    step.end(unpack(&home))
}

fn unpack(home: &Path) -> Result<()> {
    std::fs::create_dir_all(home)?;
    let mut download = Command::new("apt-get");
    // Stdout is for results.
    download.args(["download", "-q"]).args(PACKAGES);
    check(download.current_dir(home).stdout(std::io::stderr()))?;
    for entry in std::fs::read_dir(home)? {
        let package = entry?.path();
        if package.extension().is_some_and(|kind| kind == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            check(unpack.arg("-x").arg(&package).arg(home))?;
            std::fs::remove_file(&package)
                .with_context(|| format!("cannot remove {}", package.display()))?;
        }
    }
    Ok(())
}
