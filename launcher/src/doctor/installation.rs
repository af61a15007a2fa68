//! Our own files, and the launchers that are on the way: what is there, whether it starts, and
//! whether it is of one version.

use super::bounded::{Done, run};
use super::finding::Finding;
use super::known_launcher::Launcher;
use crate::command_line::launcher_options::flavour;
use crate::job::artefacts::Artefacts;
use crate::job::environment::{Environment, Family};
use crate::mpi::library::{self, Library};
use crate::mpi::preload::PRELOAD;
use crate::mpi::program;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// This program's version, which all others should have.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Names under which launchers are looked for, the most general first.
const LAUNCHERS: [&str; 8] = [
    "mpiexec",
    "mpirun",
    "mpiexec.openmpi",
    "mpirun.openmpi",
    "mpiexec.mpich",
    "mpiexec.hydra",
    "orterun",
    "prterun",
];
/// The longest that a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// The installed parts.
pub struct Installed {
    /// Where it is; nothing where that cannot be told.
    pub artefacts: Option<Artefacts>,
    /// Families whose part is there and starts.
    pub families: Vec<Family>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Checks our own files.
pub fn check(environment: &Environment) -> Installed {
    let artefacts = match Artefacts::of_this_program() {
        Ok(artefacts) => artefacts,
        Err(error) => {
            return Installed {
                artefacts: None,
                families: Vec::new(),
                findings: vec![Finding::failed(
                    "installation",
                    error.to_string(),
                    "start invivo by its path",
                )],
            };
        }
    };
    let mut findings = Vec::new();
    let mut families = Vec::new();
    for family in [Family::Ompi, Family::Mpich, Family::Abi] {
        let library = library::of_machine(family, environment);
        if family == Family::Abi && library.is_none() {
            // Few machines have it yet.
            continue;
        }
        let found = of_family(&artefacts, family, library.as_ref());
        if found.level == crate::doctor::finding::Level::Good {
            families.push(family);
        }
        findings.push(found);
    }
    if families.is_empty() {
        findings.push(Finding::failed(
            "installation",
            "no family of MPI can be observed with this installation",
            "install Open MPI or MPICH with their run-time libraries, and the whole tree of Invivo",
        ));
    }
    Installed {
        artefacts: Some(artefacts),
        families,
        findings,
    }
}

/// The part of one family: files, versions, and whether its MPI can be loaded. Tool processes have
/// no MPI of their own: they are given the application's.
fn of_family(artefacts: &Artefacts, family: Family, library: Option<&Library>) -> Finding {
    let check = "installation";
    let title = family.title();
    if let Err(error) = artefacts.check(family) {
        return Finding::note(
            check,
            format!("{title}: {error}"),
            format!("nothing, unless jobs of {title} are to be observed"),
        );
    }
    let Some(library) = library else {
        return Finding::note(
            check,
            format!("{title}: the loader finds no library of it"),
            format!(
                "load its module, or put its lib directory into LD_LIBRARY_PATH, if jobs of \
                 {title} are to be observed"
            ),
        );
    };
    let mpi = library.of_tools();
    let programs = [
        (artefacts.gateway(), None),
        (artefacts.tool_process(family), Some(mpi.as_path())),
    ];
    for (file, mpi) in programs {
        if let Err(why) = version(&file, mpi) {
            return Finding::note(
                check,
                format!("{title}: {why}"),
                format!("look whether {} is whole (ldd)", library.file.display()),
            );
        }
    }

    // Preloaded into a program without MPI the shim must stay silent and load without errors.
    let shim = artefacts.shim(family);
    let mut loaded = Command::new(artefacts.gateway());
    loaded.arg("--version").env(PRELOAD, &shim);
    match run(&mut loaded, PATIENCE) {
        Ok(done) if done.well() && done.stderr.is_empty() => Finding::good(
            check,
            format!("{title}: everything is there, version {VERSION}"),
        ),
        Ok(done) => Finding::failed(
            check,
            format!(
                "{title}: {} cannot be preloaded: {}",
                shim.display(),
                done.complaint()
            ),
            "install a build of Invivo for this C library (getconf GNU_LIBC_VERSION)",
        ),
        Err(error) => Finding::failed(
            check,
            format!("{title}: nothing can be preloaded: {error}"),
            "install the whole tree of Invivo",
        ),
    }
}

/// Whether a program starts, with an MPI library if it needs one, and is of our version.
fn version(file: &Path, mpi: Option<&Path>) -> Result<(), String> {
    let shown = file.display();
    let mut command = Command::new(file);
    command.arg("--version");
    if let Some(mpi) = mpi {
        command.env(PRELOAD, mpi);
    }
    let done = run(&mut command, PATIENCE)
        .map_err(|error| format!("{shown} cannot be started: {error}"))?;
    if !done.well() {
        return Err(format!("{shown} does not start: {}", done.complaint()));
    }
    match done.stdout.split_whitespace().last() {
        Some(VERSION) => Ok(()),
        other => Err(format!(
            "{shown} is of version {}, this is {VERSION}: parts of two releases do not work \
             together",
            other.unwrap_or("?")
        )),
    }
}

/// Launchers along the search path, by their most general names.
pub fn launchers(path: Option<&OsStr>) -> Vec<Launcher> {
    LAUNCHERS
        .iter()
        .filter_map(|name| {
            let file = program::find(OsStr::new(name), path)?;
            let done = run(Command::new(&file).arg("--version"), PATIENCE).ok()?;
            let by_name = flavour(OsStr::new(name), file.canonicalize().ok().as_deref());
            Some(Launcher {
                name: (*name).to_owned(),
                family: says(&done).or_else(|| by_name?.family())?,
                version: number(&done).unwrap_or_default(),
            })
        })
        .collect()
}

/// The family by what a launcher prints as its version.
fn says(done: &Done) -> Option<Family> {
    let text = done.stdout.to_lowercase();
    [
        ("open mpi", Family::Ompi),
        ("openrte", Family::Ompi),
        ("prrte", Family::Ompi),
        ("hydra", Family::Mpich),
        ("intel(r) mpi", Family::Mpich),
    ]
    .into_iter()
    .find(|(word, _)| text.contains(word))
    .map(|(_, family)| family)
}

/// The first word that looks like a version.
fn number(done: &Done) -> Option<String> {
    let words = done.stdout.split_whitespace();
    let versions =
        words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    versions.map(str::to_owned).next()
}

/// Which launcher one gets, and whether its family can be observed.
pub fn about_launchers(launchers: &[Launcher], families: &[Family]) -> Vec<Finding> {
    let check = "launcher";
    let Some(usual) = launchers.first() else {
        return vec![Finding::failed(
            check,
            "no MPI launcher is in PATH",
            "load the module of your MPI, or put its bin directory into PATH",
        )];
    };
    let shown = |launcher: &Launcher| {
        format!(
            "{} is {}'s {}",
            launcher.name,
            launcher.family.title(),
            launcher.version
        )
        .trim_end()
        .to_owned()
    };
    let mut findings = Vec::new();
    if families.contains(&usual.family) {
        findings.push(Finding::good(check, shown(usual)));
    } else {
        findings.push(Finding::failed(
            check,
            format!(
                "{}, which this installation cannot observe here",
                shown(usual)
            ),
            "see `installation` above, or put another launcher first in PATH",
        ));
    }
    for family in families.iter().filter(|family| **family != usual.family) {
        findings.push(
            match launchers.iter().find(|launcher| launcher.family == *family) {
                Some(launcher) => Finding::good(check, shown(launcher)),
                None => Finding::note(
                    check,
                    format!("no launcher of {} is in PATH", family.title()),
                    format!("nothing, unless jobs of {} are to run", family.title()),
                ),
            },
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn launcher(name: &str, family: Family) -> Launcher {
        Launcher {
            name: name.to_owned(),
            family,
            version: "4.1".to_owned(),
        }
    }

    /// The launcher that one gets must be of a family that is there.
    #[test]
    fn the_first_launchers_family_must_be_installed() {
        let (ompi, mpich) = (
            launcher("mpiexec", Family::Ompi),
            launcher("mpiexec.mpich", Family::Mpich),
        );
        let both = [ompi.clone(), mpich];
        let levels = |launchers: &[Launcher], families: &[Family]| {
            let found = about_launchers(launchers, families);
            found
                .iter()
                .map(|finding| finding.level)
                .collect::<Vec<_>>()
        };
        let families = [Family::Ompi, Family::Mpich];
        assert_eq!(levels(&both, &families), [Level::Good, Level::Good]);
        assert_eq!(levels(&both[..1], &families), [Level::Good, Level::Note]);
        assert_eq!(
            levels(&both, &[Family::Mpich]),
            [Level::Failed, Level::Good]
        );
        assert_eq!(levels(&[], &families), [Level::Failed]);
    }

    #[test]
    fn launchers_tell_whose_they_are() {
        let done = |stdout: &str| Done {
            status: None,
            stdout: stdout.to_owned(),
            stderr: String::new(),
        };
        for (text, family, version) in [
            (
                "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to",
                Family::Ompi,
                "4.1.4",
            ),
            (
                "HYDRA build details:\n    Version:    4.0.2\n",
                Family::Mpich,
                "4.0.2",
            ),
            ("mpirun (Open MPI) 5.0.1\n", Family::Ompi, "5.0.1"),
        ] {
            assert_eq!(says(&done(text)), Some(family));
            assert_eq!(number(&done(text)).as_deref(), Some(version));
        }
        assert_eq!(says(&done("a tool")), None);
    }

    #[test]
    fn a_part_of_another_version_is_named() {
        let dir = tempfile::tempdir().expect("directory");
        let script = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let file = dir.path().join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
                .expect("mode set");
            file
        };
        assert_eq!(
            version(&script("good", &format!("echo tool {VERSION}")), None),
            Ok(())
        );
        let old = version(&script("old", "echo tool 0.0.0"), None).expect_err("old");
        assert!(old.contains("0.0.0") && old.contains(VERSION), "{old}");
        let broken = version(
            &script("broken", "echo libmpi.so.40: not found >&2; exit 127"),
            None,
        );
        assert!(broken.expect_err("broken").contains("libmpi.so.40"));
    }
}
