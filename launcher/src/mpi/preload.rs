//! The loader's list of libraries that come before a program's own, with the shim in its place.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The variable that has the list.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Libraries that must come before the shim, by the beginning of their names. AddressSanitizer (of
/// GCC and of Clang) ends a program when another library is loaded before its own. EZTrace talks in
/// the world by functions that it looks for behind itself: there is MPI's own world, with processes
/// that do not answer it.
const FIRST: [&str; 3] = ["libasan.so", "libclang_rt.asan", "libeztrace"];

/// What is to be preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// The shim.
    pub shim: PathBuf,
    /// A library that the program is linked with and that has to come before it.
    pub first: Option<PathBuf>,
}

/// The list as the program is started with it.
#[derive(Debug, PartialEq, Eq)]
pub struct List {
    /// For [`PRELOAD`].
    pub value: OsString,
    /// Entries right before the shim that are there for its sake. It takes them away with itself.
    pub before: u32,
}

impl Preload {
    /// The list, with what the user preloads already. The shim comes first, because what is behind
    /// it still sees every call.
    pub fn list(&self, theirs: Option<&OsStr>) -> List {
        let theirs = theirs.map_or(&[][..], OsStr::as_bytes);
        let all: Vec<&[u8]> = theirs
            .split(|byte| matches!(byte, b':' | b' '))
            .filter(|entry| !entry.is_empty())
            .collect();
        let in_theirs = all
            .iter()
            .rposition(|entry| must_be_first(Path::new(OsStr::from_bytes(entry))));
        let (ahead, behind) = all.split_at(in_theirs.map_or(0, |at| at + 1));
        let own = self.first.as_ref().filter(|_| in_theirs.is_none());
        let entries = ahead
            .iter()
            .copied()
            .chain(own.map(|file| file.as_os_str().as_bytes()))
            .chain([self.shim.as_os_str().as_bytes()])
            .chain(behind.iter().copied());
        let value = entries.collect::<Vec<_>>().join(&b':');
        List {
            value: OsStr::from_bytes(&value).to_owned(),
            before: u32::from(own.is_some()),
        }
    }
}

/// Whether this library has to come before all others.
pub fn must_be_first(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_bytes();
    FIRST.iter().any(|start| name.starts_with(start.as_bytes()))
}

/// Whether the loader can be told of a library: it splits the list at these characters and knows no
/// quoting.
pub fn can_preload(library: &Path) -> bool {
    !library
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .any(|byte| matches!(byte, b':' | b' ' | b'\t' | b'\n' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(first: Option<&str>, theirs: Option<&str>) -> (String, u32) {
        let preload = Preload {
            shim: "/i/shim.so".into(),
            first: first.map(PathBuf::from),
        };
        let list = preload.list(theirs.map(OsStr::new));
        (list.value.into_string().expect("text"), list.before)
    }

    #[test]
    fn the_shim_comes_before_what_the_user_preloads() {
        assert_eq!(list(None, None), ("/i/shim.so".into(), 0));
        assert_eq!(list(None, Some("")), ("/i/shim.so".into(), 0));
        assert_eq!(
            list(None, Some("/a.so b.so")),
            ("/i/shim.so:/a.so:b.so".into(), 0)
        );
    }

    #[test]
    fn a_sanitizer_comes_before_the_shim() {
        let asan = "/lib/libasan.so.8";
        assert_eq!(
            list(Some(asan), Some("/a.so")),
            ("/lib/libasan.so.8:/i/shim.so:/a.so".into(), 1)
        );
        // EZTrace is not linked in: it stands in the user's list, and the shim behind it.
        assert_eq!(
            list(None, Some("/a.so:/lib/libeztrace-openmpi.so:/b.so")),
            (
                "/a.so:/lib/libeztrace-openmpi.so:/i/shim.so:/b.so".into(),
                0
            )
        );
        // The user's own place for it is kept.
        assert_eq!(
            list(Some(asan), Some("libasan.so.8:/a.so")),
            ("libasan.so.8:/i/shim.so:/a.so".into(), 0)
        );
        for (file, first) in [
            ("/usr/lib/libasan.so.8.0.0", true),
            ("libclang_rt.asan-x86_64.so", true),
            ("libeztrace-openmpi.so", true),
            ("libubsan.so.1", false),
            ("/libasan.so/liba.so", false),
        ] {
            assert_eq!(must_be_first(Path::new(file)), first, "{file}");
        }
    }

    #[test]
    fn the_loaders_list_knows_no_quoting() {
        assert!(can_preload(Path::new("/opt/invivo/lib/shim.so")));
        for path in ["/a:b/shim.so", "/a b/shim.so", "/$ORIGIN/shim.so"] {
            assert!(!can_preload(Path::new(path)), "{path}");
        }
    }
}
