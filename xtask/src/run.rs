//! Where things are, and running programs with a word about what runs and how long it took.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The MPI families with Debian's compiler wrapper for each.
pub const FAMILIES: [Family; 3] = [
    Family {
        name: "ompi",
        compiler: Some("mpicc.openmpi"),
    },
    Family {
        name: "mpich",
        compiler: Some("mpicc.mpich"),
    },
    // Its shim needs no MPI, and its tools are MPICH's.
    Family {
        name: "abi",
        compiler: None,
    },
];

/// One binary compatibility group of MPIs.
#[derive(Clone, Copy)]
pub struct Family {
    /// As in the tree's lib/invivo/NAME.
    pub name: &'static str,
    /// What MPICC is set to for its tool processes; nothing for a family that has none of its own.
    pub compiler: Option<&'static str>,
}

impl Family {
    /// Its tool processes are built with the programs outside of MPI, in one run of cargo.
    pub fn is_first(self) -> bool {
        self.name == FAMILIES[0].name
    }

    /// The first family has the workspace's target directory, the others have one each: build
    /// scripts of MPI crates do not notice another `MPICC`, and shims replace each other in one,
    /// because a library that C loads has the same file name whatever its features are.
    pub fn target(self) -> PathBuf {
        let target = root().join("target");
        if self.is_first() {
            target
        } else {
            target.join(self.name)
        }
    }

    /// Where a file of this family lies in the tree.
    pub fn place(self, name: &str) -> PathBuf {
        self.place_in(&dist(), name)
    }

    /// Where a file of this family lies in `tree`.
    pub fn place_in(self, tree: &Path, name: &str) -> PathBuf {
        tree.join("lib/invivo").join(self.name).join(name)
    }
}

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the repository")
}

/// The relocatable tree.
pub fn dist() -> PathBuf {
    root().join("target/dist")
}

/// The tree with what only tests may switch on.
pub fn dist_hooks() -> PathBuf {
    root().join("target/dist-hooks")
}

/// The Python of the tests.
pub fn python() -> PathBuf {
    root().join("target/python")
}

/// `cargo` in the repository.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    // Set for us by the cargo that runs us; the builds that we start must not take them for their
    // own.
    cargo
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH");
    // Where nobody edits and builds again, what helps the next build is gigabytes for nothing.
    if std::env::var_os("CI").is_some() {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

/// A program, bounded from outside: a hanging job must not hang the suite. `timeout` ends the whole
/// process group.
pub fn bounded(seconds: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=20", seconds]).arg(program);
    command
}

/// The environment that Open MPI asks for: root may run it in containers, and tests have more ranks
/// than cores.
pub fn allow_root(command: &mut Command) -> &mut Command {
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
}

/// Prints what begins; its end prints how long it took.
pub struct Step {
    what: String,
    begun: Instant,
}

impl Step {
    /// Prints the first line.
    pub fn begin(what: impl Into<String>) -> Step {
        let step = Step {
            what: what.into(),
            begun: Instant::now(),
        };
        eprintln!("xtask: {} ...", step.what);
        step
    }

    /// Ends with a line, and with the error made readable.
    pub fn end<T>(self, result: Result<T>) -> Result<T> {
        let seconds = self.begun.elapsed().as_secs_f64();
        match &result {
            Ok(_) => eprintln!("xtask: {} done in {seconds:.1} s", self.what),
            Err(_) => eprintln!("xtask: {} failed after {seconds:.1} s", self.what),
        }
        result.with_context(|| self.what.clone())
    }
}

/// Runs to the end; anything but success is an error that shows the command.
pub fn check(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", show(command)))?;
    if !status.success() {
        bail!("{status}: {}", show(command));
    }
    Ok(())
}

/// Runs to the end and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", show(command)))?;
    if !output.status.success() {
        bail!(
            "{}: {}\n{}",
            output.status,
            show(command),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of {}", show(command)))
}

/// The command as one could type it.
pub fn show(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        // A variable that is removed has no value and is left out.
        .filter_map(|(key, value)| {
            Some(format!(
                "{}={}",
                key.to_string_lossy(),
                quote(&value?.to_string_lossy())
            ))
        })
        .collect();

    words.push(quote(&command.get_program().to_string_lossy()));
    words.extend(
        command
            .get_args()
            .map(|word| quote(&word.to_string_lossy())),
    );
    words.join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_typed() {
        let mut command = Command::new("mpiexec");
        command
            .args(["-n", "4", "it's", ""])
            .env("A", "b c")
            .env_remove("GONE");
        assert_eq!(show(&command), r"A='b c' mpiexec -n 4 'it'\''s' ''");
    }
}
