//! The program that is to run: can it be observed, and does the launcher fit it?

use super::finding::Finding;
use super::known_launcher::Launcher;
use crate::job::environment::{Environment, Family, search_path};
use crate::mpi::library;
use crate::mpi::program::{self, Linkage};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Set-user-id and set-group-id.
const SPECIAL_MODES: u32 = 0o6000;

/// Looks at a program.
pub fn check(
    name: &OsStr,
    environment: &Environment,
    families: &[Family],
    launchers: &[Launcher],
) -> Vec<Finding> {
    let path = search_path(environment);
    let Some(file) = program::find(name, path) else {
        return vec![Finding::failed(
            "program",
            format!("{} is no program that can be started", name.display()),
            "check the path and its mode",
        )];
    };
    let family = library::of_program(&file, environment).map(|library| library.family);
    let mut findings = vec![linkage(&file, program::linkage(&file), family)];
    let special = file
        .metadata()
        .is_ok_and(|meta| meta.permissions().mode() & SPECIAL_MODES != 0);
    if special {
        findings.push(Finding::failed(
            "program",
            format!(
                "{} runs as another user or group: the loader preloads nothing into it",
                file.display()
            ),
            "chmod u-s,g-s, or run a copy",
        ));
    }
    if let Some(family) = family {
        findings.push(fits(&file, family, families, launchers));
    }
    findings
}

/// What can be preloaded into it.
fn linkage(file: &Path, linkage: Linkage, family: Option<Family>) -> Finding {
    let check = "program";
    let shown = file.display();
    match linkage {
        Linkage::Dynamic => match family {
            Some(family) => {
                Finding::good(check, format!("{shown} is linked with {}", family.title()))
            }
            None => Finding::note(
                check,
                format!(
                    "{shown} names no MPI library: it is observed if it loads one later, as Python \
                     does"
                ),
                "nothing, if it does",
            ),
        },
        Linkage::Static => Finding::failed(
            check,
            format!("{shown} is linked statically: nothing can be preloaded into it"),
            "link it dynamically: leave -static away",
        ),
        Linkage::Foreign => Finding::failed(
            check,
            format!("{shown} is of another architecture or word size"),
            "build it for x86-64",
        ),
        Linkage::Script => Finding::note(
            check,
            format!("{shown} is a script: what it starts is observed, if that is an MPI program"),
            "name the program itself to have it checked",
        ),
    }
}

/// Whether launcher, program and installation are of one family.
fn fits(file: &Path, family: Family, families: &[Family], launchers: &[Launcher]) -> Finding {
    let check = "family";
    let title = family.title();
    if !families.contains(&family) {
        return Finding::failed(
            check,
            format!(
                "{} is {title}'s, which this installation cannot observe here",
                file.display()
            ),
            "see `installation` above",
        );
    }
    match launchers.first() {
        Some(usual) if usual.family == family.launched_by() => Finding::good(
            check,
            format!("{} and the program are both {title}'s", usual.name),
        ),
        Some(usual) => match launchers
            .iter()
            .find(|launcher| launcher.family == family.launched_by())
        {
            Some(fitting) => Finding::note(
                check,
                format!(
                    "{} is {}'s, the program is {title}'s",
                    usual.name,
                    usual.family.title()
                ),
                format!("invivo run -- {} -n 4 {}", fitting.name, file.display()),
            ),
            None => Finding::failed(
                check,
                format!(
                    "{} is {}'s, the program is {title}'s",
                    usual.name,
                    usual.family.title()
                ),
                format!("put {title}'s launcher into PATH"),
            ),
        },
        None => Finding::failed(
            check,
            format!("no launcher for {title} is in PATH"),
            format!("put {title}'s launcher into PATH"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn launcher(name: &str, family: Family) -> Launcher {
        Launcher {
            name: name.to_owned(),
            family,
            version: String::new(),
        }
    }

    #[test]
    fn launcher_program_and_installation_must_be_of_one_family() {
        let both = [Family::Ompi, Family::Mpich];
        let usual = launcher("mpiexec", Family::Ompi);
        let other = launcher("mpiexec.mpich", Family::Mpich);
        let level = |family, families: &[Family], launchers: &[Launcher]| {
            fits(Path::new("./app"), family, families, launchers).level
        };
        let launchers = [usual.clone(), other];
        assert_eq!(level(Family::Ompi, &both, &launchers), Level::Good);
        assert_eq!(level(Family::Mpich, &both, &launchers), Level::Note);
        let advice = fits(Path::new("./app"), Family::Mpich, &both, &launchers).next;
        assert_eq!(
            advice.as_deref(),
            Some("invivo run -- mpiexec.mpich -n 4 ./app")
        );
        assert_eq!(
            level(Family::Mpich, &both, std::slice::from_ref(&usual)),
            Level::Failed
        );
        assert_eq!(
            level(Family::Mpich, &[Family::Ompi], &launchers),
            Level::Failed
        );
        assert_eq!(level(Family::Ompi, &both, &[]), Level::Failed);
    }

    #[test]
    fn programs_that_nothing_can_be_preloaded_into_are_failures() {
        let dir = tempfile::tempdir().expect("directory");
        let source = dir.path().join("app.c");
        std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
        for (options, level) in [(&["-static"][..], Level::Failed), (&[], Level::Note)] {
            let file = dir.path().join("app");
            let mut compile = std::process::Command::new("cc");
            compile.args(options).arg(&source).arg("-o").arg(&file);
            assert!(compile.status().expect("a C compiler").success());
            let found = check(file.as_os_str(), &Environment::new(), &[], &[]);
            assert_eq!(
                found.first().map(|finding| finding.level),
                Some(level),
                "{options:?}"
            );
        }
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").expect("written");
        assert_eq!(
            check(script.as_os_str(), &Environment::new(), &[], &[])[0].level,
            Level::Failed,
            "no mode"
        );
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o4755))
            .expect("mode set");
        let levels: Vec<Level> = check(script.as_os_str(), &Environment::new(), &[], &[])
            .iter()
            .map(|finding| finding.level)
            .collect();
        assert_eq!(
            levels,
            [Level::Note, Level::Failed],
            "a script, with another user's rights"
        );
    }
}
