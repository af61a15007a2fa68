//! Makes a copy of the shim without the functions that the program's MPI library does not have.
//!
//! The shim wraps the functions of every member of its family. A program that asks whether a
//! function is there (by `dlsym`, or by a weak reference as mpi4py does) would find the shim's and
//! take it for one that works. So the program gets a copy of the shim in whose table of symbols
//! those names are undefined, which the loader passes over. The copy lies in a directory of the
//! user's on the node, one for all ranks and jobs with the same library. Where it cannot be made,
//! the shim itself is taken.
//!
//! A copy outlives its job, and much may happen to it: a node that crashed has left zeroes in it, a
//! cleaner has cut it off, a link leads elsewhere. So each rank compares it with what it should be,
//! and one that differs is replaced. Its time says when it was used last: cleaners look at that,
//! and copies that nobody has used for long are removed.
//!
//! The program may load a newer library than the one that was expected. So the symbols' sizes,
//! which the loader does not read, say where the functions are: the copy gives back what turns out
//! to be there (`app-shim/src/resolve/restored_symbols.rs`).

use crate::mpi::preload::can_preload;
use crate::mpi::symbols::{Symbol, Unreadable, defined};
use invivo_jobdir::random;
use object::elf::{SHN_UNDEF, SHT_DYNSYM};
use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The number of a section, the value and the size stand behind name (4 bytes), kind and visibility
/// of a symbol.
const SECTION_AT: usize = 6;
const VALUE_AT: usize = 8;
const SIZE_AT: usize = 16;
const SIZE_END: usize = 24;

/// The shim as a program with this MPI library should have it: `shim` itself, or a copy in the
/// directory, which is asked for only then.
pub fn shim_for(
    shim: &Path,
    library: &Path,
    directory: impl FnOnce() -> Option<PathBuf>,
) -> PathBuf {
    copy(shim, library, directory).unwrap_or_else(|| shim.to_owned())
}

fn copy(
    shim: &Path,
    library: &Path,
    directory: impl FnOnce() -> Option<PathBuf>,
) -> Option<PathBuf> {
    let known = functions(library).ok()?;
    let known: HashSet<&[u8]> = known.iter().map(|symbol| symbol.name.as_slice()).collect();
    let mut hidden = functions(shim).ok()?;
    hidden.retain(|symbol| !known.contains(symbol.name.as_slice()));
    if hidden.is_empty() {
        return None;
    }
    let directory = directory()?;

    let about = shim.metadata().ok()?;
    // The name says which shim without which functions.
    let mut hash = DefaultHasher::new();
    (about.dev(), about.ino(), about.mtime(), about.mtime_nsec()).hash(&mut hash);
    hidden.hash(&mut hash);
    // The shim finds itself in LD_PRELOAD by the end of its name.
    let file = directory.join(format!(
        "{:016x}-{}",
        hash.finish(),
        shim.file_name()?.to_str()?
    ));
    if !can_preload(&file) || !may_run_from(&directory) {
        return None;
    }
    let mut bytes = std::fs::read(shim).ok()?;
    hide(&mut bytes, &hidden);
    if !is_ours(&file, &bytes) {
        // Renamed when it is whole: another rank may load it at any moment. A rename replaces a
        // link, and does not follow it.
        let beside = directory.join(format!("{UNFINISHED}{:016x}", random::id().ok()?));
        let written = write(&beside, &bytes).and_then(|()| std::fs::rename(&beside, &file));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
            return None;
        }
        tidy_up(&directory);
    }
    let _ = File::open(&file).and_then(|file| file.set_modified(SystemTime::now()));
    Some(file)
}

/// What the names of copies begin with that are not whole yet.
const UNFINISHED: &str = "shim-";
/// Copies that were not used for so long are removed: no job runs longer.
const UNUSED_MAX: Duration = Duration::from_secs(60 * 24 * 3600);
/// A copy is written in milliseconds: what is older was left by a rank that was killed.
const UNFINISHED_MAX: Duration = Duration::from_secs(3600);

/// Whether a file is this user's alone, and holds these bytes.
fn is_ours(file: &Path, bytes: &[u8]) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let is_private = file.symlink_metadata().is_ok_and(|about| {
        about.is_file()
            && about.uid() == me
            && about.mode() & 0o077 == 0
            && about.nlink() == 1
            && about.len() == bytes.len() as u64
    });
    is_private && std::fs::read(file).is_ok_and(|there| there == bytes)
}

/// Removes what nobody needs any more; what cannot be removed stays.
fn tidy_up(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let most = match entry.file_name().to_str() {
            Some(name) if name.starts_with(UNFINISHED) => UNFINISHED_MAX,
            _ => UNUSED_MAX,
        };
        let used = entry.metadata().and_then(|about| about.modified());
        if used.is_ok_and(|used| used.elapsed().is_ok_and(|since| since > most)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(file)?;
    file.write_all(bytes)
}

/// Whether the loader may take code from files there.
fn may_run_from(directory: &Path) -> bool {
    rustix::fs::statvfs(directory)
        .is_ok_and(|about| !about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

/// The functions of MPI that a library has, under either name.
fn functions(library: &Path) -> Result<Vec<Symbol>, Unreadable> {
    defined(library, SHT_DYNSYM, |name| {
        let name = name.strip_prefix(b"P").unwrap_or(name);
        name.starts_with(b"MPI_") || name.starts_with(b"MPIX_")
    })
}

/// Makes these symbols undefined.
fn hide(file: &mut [u8], hidden: &[Symbol]) {
    for symbol in hidden {
        if let Some(entry) = file.get_mut(symbol.at..symbol.at + SIZE_END) {
            // The address goes to the size's field, which the loader does not read.
            entry[SECTION_AT..VALUE_AT].copy_from_slice(&SHN_UNDEF.to_le_bytes());
            entry.copy_within(VALUE_AT..SIZE_AT, SIZE_AT);
            entry[VALUE_AT..SIZE_AT].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn compiled(dir: &Path, name: &str, text: &str, arguments: &[&str]) -> PathBuf {
        let (source, file) = (dir.join(format!("{name}.c")), dir.join(name));
        std::fs::write(&source, text).expect("written");
        let mut compile = Command::new("cc");
        compile.arg("-o").arg(&file).arg(&source).args(arguments);
        assert!(compile.status().expect("a C compiler").success());
        file
    }

    fn library(dir: &Path, name: &str, functions: &[&str]) -> PathBuf {
        let text: String = functions
            .iter()
            .map(|function| format!("int {function}(void) {{ return 1; }}\n"))
            .collect();
        compiled(dir, name, &text, &["-shared", "-fPIC"])
    }

    /// Loads the library that it is given and says of each name behind it whether it is found
    /// there.
    const FINDER: &str = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv) {
            void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            for (int i = 2; i < argc; i++)
                putchar(library && dlsym(library, argv[i]) ? '+' : '-');
            return library ? 0 : 1;
        }
    "#;

    /// Which functions the dynamic linker finds in a library.
    fn found(file: &Path, functions: &[&str]) -> Vec<bool> {
        let dir = tempfile::tempdir().expect("directory");
        let mut finder = Command::new(compiled(dir.path(), "finder", FINDER, &["-ldl"]));
        let said = finder.arg(file).args(functions).output().expect("it runs");
        assert!(said.status.success(), "{} cannot be loaded", file.display());
        said.stdout.iter().map(|found| *found == b'+').collect()
    }

    /// What the library lacks is not found and all else is.
    #[test]
    fn only_what_the_library_lacks_is_hidden() {
        let dir = tempfile::tempdir().expect("directory");
        let wrapped = ["MPI_Send", "PMPI_Send", "MPI_New", "PMPIX_New", "other"];
        let shim = library(dir.path(), "libshim.so", &wrapped);
        let old = library(dir.path(), "libmpi.so.12", &["MPI_Send", "PMPI_Send"]);
        let new = library(dir.path(), "libmpi.so.12.5", &wrapped[..4]);
        assert_eq!(
            shim_for(&shim, &new, || panic!("no directory is needed")),
            shim,
            "nothing to hide, nothing to copy"
        );
        let here = || Some(dir.path().to_owned());
        let copy = shim_for(&shim, &old, here);
        assert_ne!(copy, shim);
        assert!(copy.to_str().expect("text").ends_with("libshim.so"));
        assert_eq!(found(&copy, &wrapped), [true, true, false, false, true]);
        assert_eq!(found(&shim, &wrapped), [true; 5]);
        assert_eq!(shim_for(&shim, &old, here), copy, "the next rank's");
    }

    /// A copy that is not what it should be is replaced, and nothing behind a link is touched.
    #[test]
    fn a_spoilt_copy_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("directory");
        let shim = library(dir.path(), "libshim.so", &["MPI_Send", "MPI_New"]);
        let old = library(dir.path(), "libmpi.so.12", &["MPI_Send"]);
        let copies = dir.path().join("copies");
        std::fs::create_dir(&copies).expect("made");
        let make = || shim_for(&shim, &old, || Some(copies.clone()));
        let copy = make();
        assert!(copy.starts_with(&copies));
        let good = std::fs::read(&copy).expect("read");
        let elsewhere = dir.path().join("elsewhere");
        let spoil: [&dyn Fn(); 6] = [
            &|| std::fs::write(&copy, vec![0; good.len()]).expect("zeroes of the same length"),
            &|| std::fs::write(&copy, &good[..100]).expect("cut off"),
            &|| std::fs::remove_file(&copy).expect("removed"),
            &|| {
                std::fs::rename(&copy, &elsewhere).expect("renamed");
                std::os::unix::fs::symlink(&elsewhere, &copy).expect("linked");
            },
            &|| std::fs::hard_link(&copy, dir.path().join("second")).expect("a second name"),
            &|| {
                let open = std::fs::Permissions::from_mode(0o777);
                std::fs::set_permissions(&copy, open).expect("open to all");
            },
        ];
        for (at, spoil) in spoil.iter().enumerate() {
            spoil();
            assert_eq!(make(), copy, "{at}");
            assert!(is_ours(&copy, &good), "{at}");
        }
        assert_eq!(
            std::fs::read(&elsewhere).expect("read"),
            good,
            "not written to"
        );
    }

    #[test]
    fn what_nobody_has_used_for_long_goes() {
        let dir = tempfile::tempdir().expect("directory");
        let aged = |name: &str, age: Duration| {
            let file = File::create(dir.path().join(name)).expect("made");
            file.set_modified(SystemTime::now() - age).expect("aged");
        };
        aged("0-libshim.so", 2 * UNUSED_MAX);
        aged("1-libshim.so", UNUSED_MAX / 2);
        aged("shim-0", 2 * UNFINISHED_MAX);
        aged("shim-1", UNFINISHED_MAX / 2);
        tidy_up(dir.path());
        let entries = std::fs::read_dir(dir.path()).expect("listed");
        let mut left: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["1-libshim.so", "shim-1"]);
    }

    #[test]
    fn without_room_or_sense_the_shim_itself_is_taken() {
        let dir = tempfile::tempdir().expect("directory");
        let shim = library(dir.path(), "libshim.so", &["MPI_Send"]);
        let none = library(dir.path(), "libmpi.so.12", &["other"]);
        let gone = dir.path().join("gone");
        assert_eq!(
            shim_for(&shim, &none, || Some(gone.clone())),
            shim,
            "no such directory"
        );
        assert_eq!(
            shim_for(&shim, &gone, || Some(dir.path().to_owned())),
            shim,
            "no such library"
        );
        let text = dir.path().join("text");
        std::fs::write(&text, "no library").expect("written");
        assert_eq!(shim_for(&shim, &text, || Some(dir.path().to_owned())), shim);
        let blank = dir.path().join("a b");
        std::fs::create_dir(&blank).expect("made");
        assert_eq!(
            shim_for(&shim, &none, || Some(blank.clone())),
            shim,
            "it could not be preloaded"
        );
    }
}
