//! Reads the table of symbols of a program or library. Every rank of a job does so at its start:
//! the table and its strings are read at once each, and nothing else of files that may be hundreds
//! of megabytes.

use object::elf::{FileHeader64, Sym64};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::read::{ReadCache, StringTable};
use object::{Endianness, LittleEndian};
use std::path::Path;

/// A file that cannot be opened, or read as a program or library of this machine.
#[derive(Debug)]
pub struct Unreadable;

impl<E: std::error::Error> From<E> for Unreadable {
    fn from(_: E) -> Unreadable {
        Unreadable
    }
}

/// A symbol that the file defines.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// Its name.
    pub name: Vec<u8>,
    /// Where its entry begins in the file.
    pub at: usize,
}

/// The symbols that a file defines and that are wanted, of its table of this type (`SHT_DYNSYM`,
/// `SHT_SYMTAB`); none where there is no such table.
///
/// # Errors
/// The file cannot be read, or makes no sense.
pub fn defined(
    file: &Path,
    table: u32,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<Symbol>, Unreadable> {
    let file = &ReadCache::new(std::fs::File::open(file)?);
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let table = sections.symbols(endian, file, table)?;
    if table.is_empty() {
        return Ok(Vec::new());
    }
    let begin = sections.section(table.section())?.sh_offset(endian) as usize;
    let strings = sections
        .section(table.string_section())?
        .data(endian, file)?;
    let strings = StringTable::new(strings, 0, strings.len() as u64);
    let mut symbols = Vec::new();
    for (index, symbol) in table.iter().enumerate() {
        let name = symbol.name(endian, strings)?;
        // An undefined symbol is what the file needs of others.
        if !symbol.is_undefined(endian) && is_wanted(name) {
            symbols.push(Symbol {
                name: name.to_vec(),
                at: begin + index * size_of::<Sym64<LittleEndian>>(),
            });
        }
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::{SHT_DYNSYM, SHT_SYMTAB};

    #[test]
    fn a_program_tells_what_it_defines() {
        let own = std::env::current_exe().expect("this program");
        let main = defined(&own, SHT_SYMTAB, |name| name == b"main").expect("read");
        assert_eq!(main.len(), 1);
        let bytes = std::fs::read(&own).expect("read");
        assert!(main[0].at + 24 <= bytes.len());
        let all = defined(&own, SHT_SYMTAB, |_| true).expect("read");
        assert!(all.len() > 1000, "{} symbols", all.len());
        // Taken from elsewhere, so not defined here.
        assert_eq!(
            defined(&own, SHT_DYNSYM, |name| name == b"read").expect("read"),
            []
        );
    }

    #[test]
    fn what_is_no_program_is_unreadable() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        assert!(defined(&file, SHT_SYMTAB, |_| true).is_err());
        let own = std::fs::read(std::env::current_exe().expect("this program")).expect("read");
        for text in [
            &b"no program"[..],
            &own[..64],
            &own[..5000],
            &own[..own.len() / 2],
        ] {
            std::fs::write(&file, text).expect("written");
            assert!(
                defined(&file, SHT_SYMTAB, |_| true).is_err(),
                "{} bytes",
                text.len()
            );
        }
    }
}
