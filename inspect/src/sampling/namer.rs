//! Looks up names by a thread of its own: the tables of a large program take seconds to read, in
//! which samples must not be lost.

use crate::mapped::name;
use crate::names::Tables;
use crate::panic_guard::guarded;
use invivo_analysis::profile::Path;
use invivo_proto::control::local::{Module, Named};
use invivo_proto::control::stacks::{Frame, MODULE_BYTES_MAX};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Places whose names are kept.
const NAMES_MAX: usize = 1 << 16;

/// A place: the number of a file, and an address in it.
pub type Place = (u32, u64);

/// Asks for names.
pub struct Namer {
    shared: Arc<Shared>,
    /// Places that were asked for.
    asked: HashSet<Place>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    wanted: Vec<(Place, Module)>,
    named: HashMap<Place, Arc<Path>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is half done where a thread could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Namer {
    /// Starts the thread. Where there is no room for it, nothing is ever named.
    pub fn start() -> Namer {
        let shared = Arc::new(Shared::default());
        let its = shared.clone();
        let _ = std::thread::Builder::new().spawn(move || serve(&its));
        Namer {
            shared,
            asked: HashSet::new(),
        }
    }

    /// One that knows this and learns no more.
    #[cfg(test)]
    pub fn knowing(named: HashMap<Place, Arc<Path>>) -> Namer {
        let namer = Namer {
            shared: Arc::default(),
            asked: named.keys().copied().collect(),
        };
        namer.shared.state().named = named;
        namer
    }

    /// Asks for the names at a place of a file.
    pub fn want(&mut self, place: Place, module: &Module) {
        if self.asked.insert(place) {
            self.shared.state().wanted.push((place, module.clone()));
            self.shared.more.notify_one();
        }
    }

    /// Whether there is no room for more names.
    pub fn is_full(&self) -> bool {
        self.asked.len() >= NAMES_MAX
    }

    /// Forgets all names: those that are still of use are soon asked for again.
    pub fn clear(&mut self) {
        self.asked.clear();
        let mut state = self.shared.state();
        state.wanted.clear();
        state.named.clear();
    }

    /// What is at a place, outermost first, where that is known by now.
    pub fn at(&self, place: Place) -> Option<Arc<Path>> {
        self.shared.state().named.get(&place).cloned()
    }
}

/// Looks up what is wanted, for ever: the process ends without it.
fn serve(shared: &Shared) {
    let mut tables = Tables::default();
    loop {
        let mut wanted = {
            let waiting = |state: &mut State| state.wanted.is_empty();
            let state = shared.more.wait_while(shared.state(), waiting);
            std::mem::take(&mut state.unwrap_or_else(PoisonError::into_inner).wanted)
        };
        // Of a process with many files not all tables stay.
        wanted.sort_by_key(|(place, _)| *place);
        for (place, module) in wanted {
            let look = || tables.functions(&module.path, &module.build_id, place.1);
            let named = guarded(look).unwrap_or_default();
            let path = Arc::new(path(&module, place.1, &named));
            shared.state().named.insert(place, path);
        }
    }
}

/// The functions at a place, outermost first, with their lines; where nothing is known, as
/// [`nameless`].
fn path(module: &Module, offset: u64, named: &[Named]) -> Path {
    if named.is_empty() {
        return vec![nameless(module, offset)];
    }
    let one = |one: &Named| {
        if one.function.is_empty() && one.line.is_empty() {
            return nameless(module, offset);
        }
        let line = Some(one.line.clone()).filter(|line| !line.is_empty());
        (function(&module.path, &one.function), line)
    };
    named.iter().rev().map(one).collect()
}

/// A place whose function is not known: the file, with the offset for a line.
pub fn nameless(module: &Module, offset: u64) -> (Frame, Option<String>) {
    (function(&module.path, ""), Some(format!("+{offset:#x}")))
}

fn function(path: &str, function: &str) -> Frame {
    let file = name(path);
    let cut = file.floor_char_boundary(file.len().min(MODULE_BYTES_MAX));
    Frame::Function {
        module: file[..cut].to_owned(),
        name: function.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_their_functions_outermost_first() {
        let module = Module {
            path: "/opt/program".into(),
            build_id: Vec::new(),
        };
        let named = |function: &str, line: &str| Named {
            function: function.into(),
            line: line.into(),
        };
        let frame = |name: &str, line: Option<&str>| {
            let module = "program".into();
            let name = name.into();
            (Frame::Function { module, name }, line.map(str::to_owned))
        };
        let inlined = [named("inner", "a.c:3"), named("outer", "")];
        assert_eq!(
            path(&module, 16, &inlined),
            [frame("outer", None), frame("inner", Some("a.c:3"))]
        );
        let nothing = [frame("", Some("+0x10"))];
        assert_eq!(path(&module, 16, &[]), nothing);
        assert_eq!(path(&module, 16, &[named("", "")]), nothing);
        assert_eq!(
            path(&module, 16, &[named("", "a.c:3")]),
            [frame("", Some("a.c:3"))]
        );
    }
}
