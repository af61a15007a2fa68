//! Looking at a program before it starts: where it is, and how it was linked.

use object::Endianness;
use object::elf::{ELFMAG, EM_X86_64, FileHeader64, PT_INTERP};
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
    fn linkage_and_loader_of_an_executable_are_read() {
        let me = std::env::current_exe().expect("a path");
        let loader = interpreter(&me).expect("a loader");
        assert!(loader.is_absolute() && loader.exists(), "{}", loader.display());
        assert_eq!(linkage(&me), Linkage::Dynamic);
        let text = Path::new("/etc/passwd");
        assert_eq!((linkage(text), interpreter(text)), (Linkage::Script, None));
        assert_eq!(interpreter(Path::new("/nonexistent")), None);
    }
}
