//! Files with code that ranks have loaded, and places in them by which ranks are joined.
//!
//! Ranks number files in the order in which they meet them, and load them anywhere: what they have
//! in common is a file's name, its build id, and the address that it was linked for.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use invivo_proto::control::local::{BUILD_ID_BYTES_MAX, Module, PATH_BYTES_MAX};
use invivo_proto::control::sites::{FILE_BYTES_MAX, Place};
use invivo_proto::definition::{Definition, MODULES_MAX};
use invivo_proto::ids::Rank;

/// The files of the ranks below one place: [`MODULES_MAX`] of each rank at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeFiles {
    /// Of all ranks: most have the same.
    all: Vec<Module>,
    /// By rank and its own number: which of them.
    by_rank: BTreeMap<(Rank, u32), usize>,
}

impl CodeFiles {
    /// A rank defined a file; other definitions are of no use here.
    pub fn learn(&mut self, rank: Rank, definition: &Definition<'_>) {
        if let Definition::Module {
            number,
            build_id,
            path,
        } = *definition
            && (1..=MODULES_MAX).contains(&number)
            // Ranks define each number once.
            && !self.by_rank.contains_key(&(rank, number))
        {
            let file = self.number(build_id, path);
            self.by_rank.insert((rank, number), file);
        }
    }

    /// An address in a rank's file, and which file that is.
    pub fn place(&self, rank: Rank, number: u32, offset: u64) -> (Place, Option<&Module>) {
        let known = self.by_rank.get(&(rank, number));
        let Some(module) = known.and_then(|known| self.all.get(*known)) else {
            return (Place::Nowhere, None);
        };
        let code = Place::Code {
            file: file(&module.path),
            build_id: module.build_id.clone(),
            offset,
        };
        (code, Some(module))
    }

    fn number(&mut self, build_id: &[u8], path: &[u8]) -> usize {
        // A path that was cut names nothing; of its name the end is of use.
        let path = String::from_utf8_lossy(path);
        let module = Module {
            path: tail(&path, PATH_BYTES_MAX).to_string(),
            build_id: build_id[..build_id.len().min(BUILD_ID_BYTES_MAX)].to_vec(),
        };
        let known = self.all.iter().position(|known| *known == module);
        known.unwrap_or_else(|| {
            self.all.push(module);
            self.all.len() - 1
        })
    }
}

/// A path's last part, as a table names it.
fn file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    tail(name, FILE_BYTES_MAX).to_string()
}

/// The end of a text, of so many bytes at most.
fn tail(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn long_names_of_files_keep_their_end() {
        assert_eq!(file("/opt/lib/libsolver.so.2"), "libsolver.so.2");
        assert_eq!(file("solver"), "solver");
        let long = format!("{}.so", "ö".repeat(FILE_BYTES_MAX));
        let kept = file(&long);
        assert!(
            kept.len() <= FILE_BYTES_MAX && kept.ends_with("ö.so"),
            "{kept}"
        );
    }
}
