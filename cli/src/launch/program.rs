//! Looking at a program before it starts: where it is, and which MPI it was built for.

use super::environment::Family;
use object::Endianness;
use object::elf::{DT_NEEDED, ELFMAG, EM_X86_64, FileHeader64, PT_INTERP};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// MPI libraries by the beginning of their names.
const LIBRARIES: &[(&str, Family)] = &[
    ("libmpi.so.40", Family::Ompi),
    ("libmpi_mpifh.so.40", Family::Ompi),
    ("libmpi.so.12", Family::Mpich),
    ("libmpich.so.12", Family::Mpich),
    ("libmpifort.so.12", Family::Mpich),
    ("libmpichfort.so.12", Family::Mpich),
];

/// Where a command is, as execvp finds it: along `path` when there is no slash in its name.
pub fn find(command: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let runs = |file: &Path| {
        file.metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if command.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(command)).filter(|file| runs(file));
    }
    std::env::split_paths(path?)
        .map(|dir| dir.join(command))
        .find(|file| runs(file))
}

/// The MPI that a program was linked with; nothing for a script, a static program, or one that loads its MPI
/// later.
pub fn family(file: &Path) -> Option<Family> {
    needed(file)?.iter().find_map(|library| {
        LIBRARIES
            .iter()
            .find(|(name, _)| library.starts_with(name))
            .map(|(_, family)| *family)
    })
}

/// How a program was linked, as far as that decides whether something can be preloaded into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// The loader starts it.
    Dynamic,
    /// The kernel starts it, with everything in it.
    Static,
    /// A program of another machine.
    Foreign,
    /// No program of the machine at all: an interpreter reads it.
    Script,
}

/// How a program was linked.
pub fn linkage(file: &Path) -> Linkage {
    let read = || -> Option<Linkage> {
        let data = ReadCache::new(std::fs::File::open(file).ok()?);
        let header = FileHeader64::<Endianness>::parse(&data).ok()?;
        let endian = header.endian().ok()?;
        if header.e_machine(endian) != EM_X86_64 {
            return Some(Linkage::Foreign);
        }
        let segments = header.program_headers(endian, &data).ok()?;
        let interpreted = segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP);
        Some(if interpreted {
            Linkage::Dynamic
        } else {
            Linkage::Static
        })
    };
    read().unwrap_or_else(|| {
        let magic = std::fs::File::open(file).and_then(|mut file| {
            let mut magic = [0; 4];
            std::io::Read::read_exact(&mut file, &mut magic).map(|()| magic)
        });
        // An ELF file that could not be read as one of 64 bits.
        if magic.is_ok_and(|magic| magic == ELFMAG) {
            Linkage::Foreign
        } else {
            Linkage::Script
        }
    })
}

/// The libraries that a program names. Only the parts of the file that say so are read.
fn needed(file: &Path) -> Option<Vec<String>> {
    let data = ReadCache::new(std::fs::File::open(file).ok()?);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &data).ok()?;
    let (dynamic, link) = sections.dynamic(endian, &data).ok()??;
    let strings = sections.strings(endian, &data, link).ok()?;
    let names = dynamic
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    let name = |entry: &_| strings.get(Dyn::val32(entry, endian)?).ok();
    Some(
        names
            .filter_map(name)
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_as_execvp_finds_them() {
        let dir = tempfile::tempdir().expect("directory");
        let file = dir.path().join("tool");
        std::fs::write(&file, "").expect("written");
        let path = dir.path().as_os_str();
        assert_eq!(find(OsStr::new("tool"), Some(path)), None, "not executable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("mode set");
        assert_eq!(
            find(OsStr::new("tool"), Some(path)).as_deref(),
            Some(file.as_path())
        );
        assert_eq!(find(file.as_os_str(), None).as_deref(), Some(file.as_path()));
        assert_eq!(find(OsStr::new("other"), Some(path)), None);
        assert_eq!(find(path, None), None, "a directory");
    }

    #[test]
    fn the_libraries_of_an_executable_are_read() {
        let me = std::env::current_exe().expect("a path");
        let needed = needed(&me).expect("an ELF file");
        assert!(
            needed.iter().any(|library| library.starts_with("libc.so")),
            "{needed:?}"
        );
        assert_eq!(family(&me), None, "this test uses no MPI");
        assert_eq!(family(Path::new("/etc/passwd")), None, "no ELF file");
        assert_eq!(family(Path::new("/nonexistent")), None);
        assert_eq!(linkage(&me), Linkage::Dynamic);
        assert_eq!(linkage(Path::new("/etc/passwd")), Linkage::Script);
    }

    #[test]
    fn an_mpi_program_tells_its_family() {
        // A program that is linked with each MPI, made here so that the answer is known.
        for (compiler, expected) in [("mpicc.openmpi", Family::Ompi), ("mpicc.mpich", Family::Mpich)] {
            let dir = tempfile::tempdir().expect("directory");
            let (source, program) = (dir.path().join("app.c"), dir.path().join("app"));
            std::fs::write(
                &source,
                "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n",
            )
            .expect("written");
            let mut compile = std::process::Command::new(compiler);
            let Ok(status) = compile.arg("-o").arg(&program).arg(&source).status() else {
                eprintln!("{compiler} is not installed: left out");
                continue;
            };
            assert!(status.success());
            assert_eq!(family(&program), Some(expected));
        }
    }
}
