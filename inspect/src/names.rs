//! Functions and source lines of addresses, with the tables that were needed so far.

use crate::mapped::name;
use addr2line::Loader;
use invivo_proto::control::local::{INLINED_MAX, Module, Named};
use invivo_proto::control::stacks::{FUNCTION_BYTES_MAX, LINE_BYTES_MAX};
use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files whose tables are kept.
const TABLES_MAX: usize = 32;

/// Tables by file.
#[derive(Default)]
pub struct Names {
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

impl Names {
    fn table(&mut self, path: &Path) -> Option<&Table> {
        // All at once: a rank has some ten files, so this is rare.
        if self.tables.len() >= TABLES_MAX && !self.tables.contains_key(path) {
            self.tables.clear();
        }
        let entry = self.tables.entry(path.to_owned());
        entry.or_insert_with(|| Table::of(path)).as_ref()
    }

    /// What stands at an address of a file, in a few words: the line, else the function, else the
    /// file.
    pub fn text(&mut self, path: &str, at: u64) -> String {
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

    /// The functions at an address of a file: the innermost first, of those that were inlined
    /// there. Nothing where the file is another one by now, or cannot be read.
    pub fn functions(&mut self, module: &Module, at: u64) -> Vec<Named> {
        let table = self.table(Path::new(&module.path));
        let Some(table) = table.filter(|table| table.build_id.starts_with(&module.build_id)) else {
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
            shorten(&mut one.function, FUNCTION_BYTES_MAX);
            shorten(&mut one.line, LINE_BYTES_MAX);
        }
        all
    }
}

impl Table {
    fn of(path: &Path) -> Option<Table> {
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
        (at < *end).then(|| addr2line::demangle_auto(symbol.name().into(), None).into_owned())
    }

    /// The functions at an address, by the debug information.
    fn inlined(&self, at: u64) -> Option<Vec<Named>> {
        let mut frames = self.loader.find_frames(at).ok()?;
        let mut all = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.as_ref()?.demangle().ok()?.into_owned();
            let line = frame.location.and_then(location).unwrap_or_default();
            all.push(Named { function, line });
        }
        Some(all)
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
