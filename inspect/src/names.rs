//! Functions and source lines of addresses. The tables of the files are read, and kept, by a
//! process of its own ([`crate::apart`]).

use crate::apart::Apart;
use crate::mapped::{is_regular, is_shim, name};
use addr2line::Loader;
use invivo_proto::control::local::{INLINED_MAX, Module, Named};
use invivo_proto::control::stacks::{FUNCTION_BYTES_MAX, LINE_BYTES_MAX};
use invivo_proto::control::{decode, encode};
use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files whose tables are kept.
const TABLES_MAX: usize = 32;
/// The longest time for a name: tables of gigabytes are read for the first one.
const NAMED_WITHIN: Duration = Duration::from_secs(3);
/// Files that took longer, or ended their reader, and are not asked again.
const REFUSED_MAX: usize = 64;
/// Words about addresses that are kept: a rank waits at some places again and again.
const TEXTS_MAX: usize = 256;

/// A question: whether a few words are wanted or functions, of which file with which build id,
/// about which address in it.
type Question = (bool, String, Vec<u8>, u64);
/// The answer: words, functions.
type Answer = (String, Vec<Named>);

/// Asks for names.
#[derive(Default)]
pub struct Names {
    reader: Option<Apart>,
    refused: VecDeque<String>,
    texts: BTreeMap<(String, u64), String>,
}

impl Names {
    /// What stands at an address of a file, in a few words: the line, else the function, else the
    /// file.
    pub fn text(&mut self, path: &str, at: u64) -> String {
        let of = (path.to_owned(), at);
        if let Some(text) = self.texts.get(&of) {
            return text.clone();
        }
        let answer = self.ask(&(true, of.0.clone(), Vec::new(), at));
        let Some((text, _)) = answer else {
            return format!("{}+{at:#x}", name(path));
        };
        if self.texts.len() >= TEXTS_MAX {
            self.texts.clear();
        }
        self.texts.insert(of, text.clone());
        text
    }

    /// The functions at an address of a file: the innermost first, of those that were inlined
    /// there. Nothing where the file is another one by now, or cannot be read.
    pub fn functions(&mut self, module: &Module, at: u64) -> Vec<Named> {
        let question = (false, module.path.clone(), module.build_id.clone(), at);
        self.ask(&question)
            .map(|(_, functions)| functions)
            .unwrap_or_default()
    }

    fn ask(&mut self, question: &Question) -> Option<Answer> {
        let path = &question.1;
        if self.refused.contains(path) {
            return None;
        }
        let bytes = encode(question).ok()?;
        if self.reader.as_ref().is_none_or(Apart::has_ended) {
            self.reader = None;
            let mut tables = Tables::default();
            self.reader = Apart::answering(move |question| {
                let answer = decode::<Question>(question).map(|question| tables.answer(&question));
                encode(&answer.unwrap_or_default()).unwrap_or_default()
            });
        }
        let answer = self.reader.as_mut()?.ask(&bytes, NAMED_WITHIN);
        let answer = answer.and_then(|answer| decode(&answer).ok());
        if answer.is_none() {
            self.reader = None;
            if self.refused.len() >= REFUSED_MAX {
                self.refused.pop_front();
            }
            self.refused.push_back(path.clone());
        }
        answer
    }
}

/// Tables by file.
#[derive(Default)]
pub struct Tables {
    tables: BTreeMap<PathBuf, Option<Table>>,
}

/// What a file tells of its addresses.
struct Table {
    loader: Loader,
    /// Where functions end, by where they begin: the loader takes whatever begins before an address
    /// for its function, which in a file without local symbols is often another one.
    ends: BTreeMap<u64, u64>,
    /// What the linker wrote to tell the file from others of its name; may be empty.
    build_id: Vec<u8>,
}

impl Tables {
    fn answer(&mut self, (is_text, path, build_id, at): &Question) -> Answer {
        if *is_text {
            (self.text(path, *at), Vec::new())
        } else {
            (String::new(), self.functions(path, build_id, *at))
        }
    }

    fn table(&mut self, path: &Path) -> Option<&Table> {
        // All at once: a rank has some ten files, so this is rare.
        if self.tables.len() >= TABLES_MAX && !self.tables.contains_key(path) {
            self.tables.clear();
        }
        let entry = self.tables.entry(path.to_owned());
        entry.or_insert_with(|| Table::of(path)).as_ref()
    }

    fn text(&mut self, path: &str, at: u64) -> String {
        let file = name(path);
        let Some(table) = self.table(Path::new(path)) else {
            return format!("{file}+{at:#x}");
        };
        match (table.line(at), table.symbol(at)) {
            (Some(line), _) => line,
            (None, Some(function)) => format!("{function} in {file}"),
            (None, None) => format!("{file}+{at:#x}"),
        }
    }

    /// The functions at an address of a file, the innermost first. It may take long, and must not
    /// be trusted to come to an end.
    pub fn functions(&mut self, path: &str, build_id: &[u8], at: u64) -> Vec<Named> {
        let table = self.table(Path::new(path));
        let Some(table) = table.filter(|table| table.build_id.starts_with(build_id)) else {
            return Vec::new();
        };
        let mut all = table.inlined(at).unwrap_or_default();
        if all.is_empty() {
            all.push(Named {
                function: table.symbol(at).unwrap_or_default(),
                line: table.line(at).unwrap_or_default(),
            });
        }
        // Of many, the innermost ones stay, and the last, into which all were inlined.
        if all.len() > INLINED_MAX {
            all.drain(INLINED_MAX - 1..all.len() - 1);
        }
        for one in &mut all {
            if is_shim(path) {
                plain(&mut one.function);
            }
            shorten(&mut one.function, FUNCTION_BYTES_MAX);
            shorten(&mut one.line, LINE_BYTES_MAX);
        }
        all
    }
}

impl Table {
    fn of(path: &Path) -> Option<Table> {
        if !is_regular(path) {
            return None;
        }
        let loader = Loader::new(path).ok()?;
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions =
            symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let ends = functions.map(|symbol| {
            (
                symbol.address(),
                symbol.address().saturating_add(symbol.size()),
            )
        });
        Some(Table {
            loader,
            ends: ends.collect(),
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
        })
    }

    fn line(&self, at: u64) -> Option<String> {
        location(self.loader.find_location(at).ok()??)
    }

    /// The function that holds an address, by the table of symbols.
    fn symbol(&self, at: u64) -> Option<String> {
        let symbol = self.loader.find_symbol_info(at)?;
        let end = self.ends.get(&symbol.address())?;
        (at < *end).then(|| readable(symbol.name()))
    }

    /// The functions at an address, by the debug information.
    fn inlined(&self, at: u64) -> Option<Vec<Named>> {
        let mut frames = self.loader.find_frames(at).ok()?;
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let function = readable(&frame.function.as_ref()?.raw_name().ok()?);
            let line = frame.location.and_then(location).unwrap_or_default();
            all.push(Named { function, line });
        }
        Some(all)
    }
}

/// A name as it stands in the source: compilers of C++ and Rust write more into it.
fn readable(name: &str) -> String {
    // No other names: a function `f` of C would be taken for the type `float`.
    if name.starts_with("_Z") || name.starts_with("_R") {
        return addr2line::demangle_auto(name.into(), None).into_owned();
    }
    name.to_owned()
}

/// Makes the name of a wrapper's body in the shim (`invivo_shim::wrappers::..::MPI_Send`) that of
/// the MPI function, which is its last part but for a hash.
fn plain(function: &mut String) {
    let is_mpi = |part: &&str| part.starts_with("MPI_") || part.starts_with("PMPI_");
    if let Some(part) = function.rsplit("::").take(2).find(is_mpi) {
        *function = part.to_owned();
    }
}

fn location(location: addr2line::Location<'_>) -> Option<String> {
    let file = Path::new(location.file?)
        .file_name()?
        .to_string_lossy()
        .into_owned();
    Some(format!("{file}:{}", location.line?))
}

fn shorten(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn names_are_those_of_the_source() {
        for (name, expected) in [
            ("f", "f"),
            ("i", "i"),
            ("MPI_Send", "MPI_Send"),
            ("__work_MOD_outer", "__work_MOD_outer"),
            ("_ZN4work5outerEv", "work::outer()"),
        ] {
            assert_eq!(readable(name), expected);
        }
    }

    #[test]
    fn wrappers_have_the_names_of_their_functions() {
        for (name, expected) in [
            (
                "invivo_shim::wrappers::generated::_::MPI_Send::h0123456789abcdef",
                "MPI_Send",
            ),
            (
                "invivo_shim::wrappers::generated::_::PMPI_Send",
                "PMPI_Send",
            ),
            ("MPI_Send", "MPI_Send"),
            ("invivo_shim::record::write", "invivo_shim::record::write"),
        ] {
            let mut function = name.to_owned();
            plain(&mut function);
            assert_eq!(function, expected);
        }
    }

    /// A pipe, a directory, and a file that is cut off in the middle have no names.
    #[test]
    fn what_is_no_program_has_no_names() {
        let directory = tempfile::tempdir().expect("directory");
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).expect("made");
        let ourselves = std::fs::read("/proc/self/exe").expect("our own program");
        std::fs::write(at("half"), &ourselves[..ourselves.len() / 2]).expect("written");
        let sparse = File::create(at("sparse")).expect("made");
        std::io::Write::write_all(&mut &sparse, &ourselves[..4096]).expect("written");
        sparse.set_len(1 << 42).expect("a hole");

        let mut names = Names::default();
        let begun = Instant::now();
        for name in ["pipe", "half", "sparse", "nothing"] {
            let path = at(name).to_str().expect("text").to_owned();
            assert_eq!(names.text(&path, 0x10), format!("{name}+0x10"));
            let module = Module {
                path,
                build_id: Vec::new(),
            };
            let named = names.functions(&module, 0x10);
            assert!(
                named.iter().all(|named| named.function.is_empty()),
                "{name}"
            );
        }
        assert!(begun.elapsed() < 8 * NAMED_WITHIN, "{:?}", begun.elapsed());
    }
}
