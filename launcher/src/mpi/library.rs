//! Finds the MPI library that a program uses. The loader lists what it would load, because nothing
//! else knows all its rules (run paths, its cache, what is preloaded); of a running program,
//! `/proc/PID/maps` lists the mapped files. A program that loads its MPI late, as Python does, has
//! none before: then the most likely one is taken, and the real one is seen as soon as the program
//! calls `MPI_Init`.
//!
//! The name tells the family: a library's major version is the promise of its binary interface.

use crate::job::environment::{Environment, Family};
use crate::mpi::preload::{PRELOAD, can_preload, must_be_first};
use crate::mpi::program;
use invivo_jobdir::process_stat;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The libraries that have MPI's C functions, by the beginning of their names.
const NAMES: [(&str, Family); 4] = [
    ("libmpi.so.40", Family::Ompi),
    ("libmpi.so.12", Family::Mpich),
    ("libmpich.so.12", Family::Mpich),
    ("libmpi_abi.so.1", Family::Abi),
];

/// An MPI library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its binary interface.
    pub family: Family,
    /// Its file; a name alone where the loader is to look for it.
    pub file: PathBuf,
}

impl Library {
    /// The library in this file, if its name is one of an MPI library.
    pub fn of_file(file: &Path) -> Option<Library> {
        let name = file.file_name()?.as_bytes();
        // `libmpi.so.12` and `libmpi.so.12.3.0`, but not `libmpi.so.120`.
        let is = |start: &str| {
            name.strip_prefix(start.as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
        };
        let (_, family) = NAMES.iter().find(|(start, _)| is(start))?;
        Some(Library {
            family: *family,
            file: file.to_owned(),
        })
    }

    /// The library of a family, wherever the loader finds it.
    pub fn anywhere(family: Family) -> Library {
        let name = NAMES.iter().find(|(_, whose)| *whose == family);
        Library {
            family,
            file: name.map_or("", |(name, _)| name).into(),
        }
    }

    /// What tool processes load to join the job of a program with this library: the same. The
    /// standard's interface is the exception: whoever serves it has the same MPI beside it under
    /// MPICH's interface, which is the tools'.
    pub fn of_tools(&self) -> PathBuf {
        match self.family {
            Family::Ompi | Family::Mpich => self.file.clone(),
            Family::Abi => self
                .file
                .with_file_name(Library::anywhere(Family::Mpich).file),
        }
    }
}

/// The library that the user names: a file, or a name that the loader knows. `libmpi.so` is a link
/// to one whose name tells the family.
///
/// # Errors
/// When it is none, a sentence for the user.
pub fn named(file: &Path) -> Result<Library, String> {
    let real = || Library::of_file(&file.canonicalize().ok()?);
    Library::of_file(file).or_else(real).ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!(
            "INVIVO_MPI={} is not a library of an MPI that is supported; name a file called {}, or \
             one of these names alone",
            file.display(),
            names.join(", ")
        )
    })
}

/// The library that a program is linked with, directly or through others; nothing for a script, a
/// static program, or one that loads its MPI later.
pub fn of_program(file: &Path, environment: &Environment) -> Option<Library> {
    loaded(file, environment)
        .iter()
        .find_map(|file| Library::of_file(file))
}

/// The library that a program is linked with and that has to be loaded before all others, if there
/// is one.
pub fn comes_first(file: &Path, environment: &Environment) -> Option<PathBuf> {
    let mut files = loaded(file, environment).into_iter();
    files.find(|file| must_be_first(file) && can_preload(file))
}

/// The library that a process has mapped.
pub fn of_process(pid: u32) -> Option<Library> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    mapped(&maps).find_map(Library::of_file)
}

/// The files in a table of mappings.
fn mapped(maps: &[u8]) -> impl Iterator<Item = &Path> {
    maps.split(|byte| *byte == b'\n').filter_map(|line| {
        let path = line.iter().position(|byte| *byte == b'/')?;
        Some(Path::new(OsStr::from_bytes(&line[path..])))
    })
}

/// The library that a program will find which loads its MPI later: beside the program or the
/// launcher, which come from one place in environments of Python and in many installations, or
/// where the loader looks.
pub fn expected(
    program: Option<&Path>,
    launched_by: Family,
    environment: &Environment,
) -> Option<Library> {
    let launcher = process_stat::launcher(std::process::id() as i32);
    let launcher = std::fs::read_link(format!("/proc/{launcher}/exe")).ok();
    let beside = [program, launcher.as_deref()].into_iter().flatten();
    let beside: Vec<PathBuf> = beside.filter_map(libraries_of).flatten().collect();
    let names = || {
        NAMES
            .iter()
            .filter(|(_, family)| family.launched_by() == launched_by)
    };
    let there = beside
        .iter()
        .flat_map(|directory| names().map(|(name, _)| directory.join(name)));
    there
        .filter(|file| file.is_file())
        .find_map(|file| Library::of_file(&file))
        .or_else(|| names().find_map(|(name, _)| found_by_loader(name, environment)))
}

/// The library of a family that the loader finds.
pub fn of_machine(family: Family, environment: &Environment) -> Option<Library> {
    let mut names = NAMES.iter().filter(|(_, whose)| *whose == family);
    names.find_map(|(name, _)| found_by_loader(name, environment))
}

/// The directories of libraries that belong to a program's directory; the system's own are the
/// loader's to search.
fn libraries_of(program: &Path) -> Option<[PathBuf; 2]> {
    let prefix = program.parent()?.parent()?;
    let own = prefix != Path::new("/usr") && prefix != Path::new("/");
    own.then(|| ["lib", "lib64"].map(|name| prefix.join(name)))
}

fn found_by_loader(name: &str, environment: &Environment) -> Option<Library> {
    // The loader has no option to look one library up, but it lists what it would preload.
    let mut environment = environment.clone();
    environment.insert(PRELOAD.into(), name.into());
    let this = std::env::current_exe().ok()?;
    of_program(&this, &environment)
}

/// The files that the loader would load with a program. It starts nothing of it.
fn loaded(file: &Path, environment: &Environment) -> Vec<PathBuf> {
    let list = || {
        let mut list = Command::new(program::interpreter(file)?);
        list.arg("--list")
            .arg(file)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        list.output().ok()
    };
    list().map_or_else(Vec::new, |list| listed(&list.stdout))
}

/// Paths in the loader's list: `name => /path (address)`, or `/path (address)`.
fn listed(list: &[u8]) -> Vec<PathBuf> {
    let lines = list.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let begin = line.iter().position(|byte| *byte == b'/')?;
            let begin = line
                .windows(4)
                .position(|four| four == b" => ")
                .map_or(begin, |at| at + 4);
            let end = line.windows(2).rposition(|two| two == b" (")?;
            let path = line.get(begin..end)?;
            Some(OsString::from(OsStr::from_bytes(path)).into())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(file: &str) -> Option<Family> {
        Library::of_file(Path::new(file)).map(|library| library.family)
    }

    #[test]
    fn names_tell_families() {
        for (file, whose) in [
            ("/usr/lib/openmpi/lib/libmpi.so.40.30.4", Some(Family::Ompi)),
            ("/opt/mpich/lib/libmpi.so.12", Some(Family::Mpich)),
            ("/usr/lib/libmpich.so.12.2.1", Some(Family::Mpich)),
            ("/opt/mpich/lib/libmpi_abi.so.1", Some(Family::Abi)),
            ("/opt/mpich/lib/libmpi.so.120", None),
            ("/usr/lib/libmpi_mpifh.so.40", None),
            ("/usr/lib/libc.so.6", None),
        ] {
            assert_eq!(family(file), whose, "{file}");
        }
        for whose in [Family::Ompi, Family::Mpich, Family::Abi] {
            let anywhere = Library::anywhere(whose);
            assert_eq!(Library::of_file(&anywhere.file), Some(anywhere));
        }
    }

    #[test]
    fn tools_speak_mpichs_interface_where_the_program_speaks_the_standards() {
        let of_tools = |file: &str| {
            Library::of_file(Path::new(file))
                .expect("an MPI")
                .of_tools()
        };
        assert_eq!(
            of_tools("/a/libmpi_abi.so.1.0"),
            Path::new("/a/libmpi.so.12")
        );
        assert_eq!(
            of_tools("/a/libmpich.so.12.1"),
            Path::new("/a/libmpich.so.12.1")
        );
    }

    #[test]
    fn the_loaders_list_is_read() {
        let list = b"\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi.so.40 => /opt/a b/libmpi.so.40 \
            (0x00007f)\n\
            \t/usr/lib/tool.so (0x01)\n\tlibx.so => not found\n\t/lib64/ld-linux-x86-64.so.2 \
            (0x00)\n";
        let paths: Vec<PathBuf> = listed(list);
        let expected = [
            "/opt/a b/libmpi.so.40",
            "/usr/lib/tool.so",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(paths, expected.map(PathBuf::from));
    }

    #[test]
    fn mapped_files_are_read() {
        let maps = b"7f-80 r--p 0 fd:00 1 /usr/lib/a b/libmpi.so.40.30.4\n7f-80 rw-p 0 0:0 \
            0 \n7f-8 r-xp 0 0:0 0 [vdso]\n";
        let files: Vec<&Path> = mapped(maps).collect();
        assert_eq!(files, [Path::new("/usr/lib/a b/libmpi.so.40.30.4")]);
        assert_eq!(of_process(std::process::id()), None, "this test has no MPI");
        assert_eq!(of_process(u32::MAX), None);
    }

    #[test]
    fn the_loader_says_what_a_program_is_linked_with() {
        let environment: Environment = std::env::vars_os().collect();
        let me = std::env::current_exe().expect("a path");
        assert_eq!(of_program(&me, &environment), None, "this test uses no MPI");
        assert_eq!(of_program(Path::new("/etc/passwd"), &environment), None);
        // Programs linked with each MPI, made here so that the answer is known.
        for (compiler, whose) in [
            ("mpicc.openmpi", Family::Ompi),
            ("mpicc.mpich", Family::Mpich),
        ] {
            let dir = tempfile::tempdir().expect("directory");
            let (source, program) = (dir.path().join("app.c"), dir.path().join("app"));
            let text = "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n";
            std::fs::write(&source, text).expect("written");
            let mut compile = Command::new(compiler);
            let Ok(status) = compile.arg("-o").arg(&program).arg(&source).status() else {
                eprintln!("{compiler} is not installed: left out");
                continue;
            };
            assert!(status.success());
            let library = of_program(&program, &environment).expect("a library");
            assert_eq!(library.family, whose);
            assert!(
                library.file.is_absolute() && library.file.exists(),
                "{library:?}"
            );
            assert_eq!(
                of_machine(whose, &environment).map(|found| found.family),
                Some(whose)
            );
        }
    }

    #[test]
    fn what_the_user_names_is_taken_or_refused() {
        let dir = tempfile::tempdir().expect("directory");
        let file = dir.path().join("libmpi.so.40.30.4");
        let link = dir.path().join("libmpi.so");
        std::fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        let taken = |name: &Path| named(name).map(|library| library.family);
        assert_eq!(taken(&link), Ok(Family::Ompi), "what it leads to");
        assert_eq!(
            taken(Path::new("libmpich.so.12")),
            Ok(Family::Mpich),
            "for the loader"
        );
        let why = taken(&dir.path().join("libmpi.so.39")).expect_err("it is nothing");
        assert!(
            why.contains("libmpi.so.39") && why.contains("libmpi.so.40"),
            "{why}"
        );
    }

    #[test]
    fn a_library_beside_the_program_is_found_before_the_loaders() {
        let dir = tempfile::tempdir().expect("directory");
        let library = dir.path().join("lib/libmpi_abi.so.1");
        std::fs::create_dir_all(dir.path().join("lib")).expect("made");
        std::fs::write(&library, "").expect("written");
        let python = dir.path().join("bin/python");
        let found = |launched_by| expected(Some(&python), launched_by, &Environment::new());
        assert_eq!(found(Family::Mpich).map(|found| found.file), Some(library));
        assert_ne!(
            found(Family::Ompi).map(|found| found.family),
            Some(Family::Abi),
            "not what its launcher starts"
        );
    }
}
