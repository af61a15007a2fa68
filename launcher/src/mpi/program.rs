//! Looking at a program before it starts: where it is, and how it was linked.

use crate::mpi::symbols::defined;
use object::Endianness;
use object::elf::{ELFMAG, EM_X86_64, FileHeader64, PT_INTERP, SHT_SYMTAB};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// A name that is in every MPI library, for its messages and for the communicator itself.
const MPI_NAME: &[u8] = b"MPI_COMM_WORLD";

/// Whether a program has an MPI linked into itself: a preloaded library cannot see it, and its
/// world would have the tool processes in it.
pub fn has_mpi_inside(file: &Path) -> bool {
    match linkage(file) {
        Linkage::Dynamic => defines_mpi(file),
        // Often stripped: but every MPI knows this name.
        Linkage::Static => std::fs::read(file)
            .is_ok_and(|bytes| bytes.windows(MPI_NAME.len()).any(|name| name == MPI_NAME)),
        Linkage::Foreign | Linkage::Script => false,
    }
}

/// Whether a dynamic program defines `PMPI_Init` itself, which no layer above MPI does.
fn defines_mpi(file: &Path) -> bool {
    defined(file, SHT_SYMTAB, |name| name == b"PMPI_Init").is_ok_and(|found| !found.is_empty())
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
        let interpreted = segments
            .iter()
            .any(|segment| segment.p_type(endian) == PT_INTERP);
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

/// The loader that a program asks for.
pub fn interpreter(file: &Path) -> Option<PathBuf> {
    let data = ReadCache::new(std::fs::File::open(file).ok()?);
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &data).ok()?;
    let path = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, &data).ok().flatten())?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// What to say of a program that has an MPI linked into itself.
pub fn static_mpi(program: &OsStr) -> String {
    format!(
        "{} has its MPI linked into itself (statically): it cannot be observed, and runs only \
         without Invivo; link it with \
         the shared library (mpicc without -static) to observe it",
        program.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpi_that_is_linked_in_is_found() {
        let dir = tempfile::tempdir().expect("directory");
        let build = |name: &str, text: &str, option: &str| {
            let (source, file) = (dir.path().join(format!("{name}.c")), dir.path().join(name));
            std::fs::write(&source, text).expect("written");
            let mut compile = std::process::Command::new("cc");
            compile.arg(option).arg(&source).arg("-o").arg(&file);
            assert!(compile.status().expect("a C compiler").success());
            file
        };
        let inside = "int PMPI_Init(void) { return 0; } const char *name = \"MPI_COMM_WORLD\"; int \
            main(void) { return name[0] == 0; }";
        let layer = "int PMPI_Init(void) __attribute__((weak)); int main(void) { return PMPI_Init \
            ? PMPI_Init() : 0; }";
        assert!(has_mpi_inside(&build("static", inside, "-static")));
        assert!(has_mpi_inside(&build("half", inside, "-O1")));
        assert!(!has_mpi_inside(&build(
            "none",
            "int main(void) { return 0; }",
            "-static"
        )));
        assert!(!has_mpi_inside(&build("layer", layer, "-O1")));
        assert!(!has_mpi_inside(Path::new("/etc/passwd")));
    }

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
        assert_eq!(
            find(file.as_os_str(), None).as_deref(),
            Some(file.as_path())
        );
        assert_eq!(find(OsStr::new("other"), Some(path)), None);
        assert_eq!(find(path, None), None, "a directory");
    }

    #[test]
    fn linkage_and_loader_of_an_executable_are_read() {
        let me = std::env::current_exe().expect("a path");
        let loader = interpreter(&me).expect("a loader");
        assert!(
            loader.is_absolute() && loader.exists(),
            "{}",
            loader.display()
        );
        assert_eq!(linkage(&me), Linkage::Dynamic);
        let text = Path::new("/etc/passwd");
        assert_eq!((linkage(text), interpreter(text)), (Linkage::Script, None));
        assert_eq!(interpreter(Path::new("/nonexistent")), None);
    }
}
