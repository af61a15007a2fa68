//! Says on which machine, and with which MPIs, a part of the long run ran.

use crate::bench::machine::machine;
use crate::run::{output, root};
use std::process::Command;

/// Debian's packages that hold MPIs, with the names of these.
const DEBIAN: [(&str, &str); 2] = [("openmpi-bin", "Open MPI"), ("mpich", "MPICH")];

/// Both in a line.
pub fn described() -> String {
    let machine = machine();
    let text = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    let virtually = match machine["is_virtual"].as_bool() {
        Some(true) => " (virtual)",
        _ => "",
    };
    format!(
        "{} cores of {}{virtually}, {:.0} GiB, {}, Linux {}, {}; {}",
        machine["cores"],
        text("cpu"),
        machine["memory_gib"].as_f64().unwrap_or_default(),
        text("system"),
        text("kernel"),
        text("rust"),
        mpis().join(", ")
    )
}

/// The MPIs with their versions: Debian's, then those from pip.
fn mpis() -> Vec<String> {
    let debian = DEBIAN.iter().filter_map(|(package, name)| {
        let mut query = Command::new("dpkg-query");
        let version = output(query.args(["-W", "-f", "${Version}", package])).ok()?;
        Some(format!("{name} {version} (Debian)"))
    });

    let folders = std::fs::read_dir(root().join("target/mpi"));
    let installed = folders
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|folder| {
            let packages = std::fs::read_to_string(folder.path().join("installed")).ok()?;
            Some(format!("{} (pip)", packages.replace("==", " ")))
        });
    // Folders have no order, and the same machine is to be described the same.
    let mut installed: Vec<String> = installed.collect();
    installed.sort();
    debian.chain(installed).collect()
}
