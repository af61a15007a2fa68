//! Restores the symbols that a copy of the shim hides from programs whose MPI library lacks them.
//!
//! A program whose MPI library lacks functions gets a copy of the shim in which their names are
//! undefined (`invivo exec` makes it, before the program starts). Which library that will be is a
//! guess where a program loads its MPI late, and the user's word where `INVIVO_MPI` is set. A
//! library that is newer has functions that nobody wraps then: the program would reach them past
//! the shim, and name them the world with the tool processes in it. So before MPI begins the names
//! come back: in the shim's own table of symbols, for whoever looks for them from now on, and in
//! the relocations of objects that have found the library's own meanwhile.
//!
//! Where such a copy had a function, the size of its symbol still says.

use super::elf::{Object, SHN_UNDEF, write};
use super::library;
use super::objects::object_base;
use super::symbols::next_function;
use core::ffi::{CStr, c_int, c_void};

/// A section's number that is not none: any will do, nobody looks the section up.
const SOME_SECTION: u16 = 1;

/// A function whose name comes back.
struct Restored {
    name: &'static CStr,
    /// The one behind the shim, which whoever looked for the name has found meanwhile.
    found: *mut c_void,
    wrapper: *mut c_void,
}

/// The search through all loaded objects.
struct Search {
    functions: Vec<Restored>,
    /// The first address of the shim itself.
    own: *const c_void,
    succeeded: bool,
}

/// Gives the program what its MPI library has and this copy hides. False when that is not possible.
pub fn restore() -> bool {
    let own = object_base(restore as *const c_void);
    let mut search = Search {
        functions: Vec::new(),
        own,
        succeeded: true,
    };

    // SAFETY: the callbacks get the address of `search`, which outlives the calls.
    unsafe {
        libc::dl_iterate_phdr(Some(restore_names), (&raw mut search).cast());
        if search.functions.is_empty() {
            return search.succeeded;
        }
        search.functions.sort_by_key(|function| function.name);
        libc::dl_iterate_phdr(Some(restore_relocations), (&raw mut search).cast());
    }
    search.succeeded
}

/// Restores the names in the shim's own table, and takes note of them.
unsafe extern "C" fn restore_names(
    info: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader's entry is valid during the call, and so is our search.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let object = Object::of(&*info);
        if object.base as *const c_void != search.own {
            return 0;
        }

        let symbols = object.symbols();
        let (Some(number), Some(library)) = (object.symbol_count(), library::open()) else {
            return 1;
        };
        for index in 0..number {
            let symbol = symbols.add(index).cast_mut();
            let is_hidden = (*symbol).st_shndx == SHN_UNDEF
                && (*symbol).st_value == 0
                && (*symbol).st_size != 0;
            if !is_hidden || !library.has(object.name(&*symbol)) {
                continue;
            }

            let name = object.name(&*symbol);
            // The one who made the copy kept the function's offset here.
            let offset = (*symbol).st_size;
            search.succeeded &= write(symbol, object.rights(symbol as usize), |symbol| {
                symbol.st_shndx = SOME_SECTION;
                symbol.st_value = offset;
            });
            search.functions.push(Restored {
                name,
                found: next_function(name),
                wrapper: (object.base + offset as usize) as *mut c_void,
            });
        }
        1
    }
}

/// Restores the relocations of another object that hold what it has found for one of the names.
unsafe extern "C" fn restore_relocations(
    info: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader's entry is valid during the call, and so is our search. An object's
    // dynamic section describes the tables that it is linked by; each relocation lies in memory
    // that the loader has written to.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let object = Object::of(&*info);
        let symbols = object.symbols();
        if object.base as *const c_void == search.own || symbols.is_null() {
            return 0;
        }

        for relocation in object.relocations() {
            let Some(symbol) = relocation.symbol() else {
                continue;
            };
            let name = object.name(&*symbols.add(symbol));
            let by_name = search.functions.binary_search_by_key(&name, |one| one.name);
            let Ok(function) = by_name.map(|at| &search.functions[at]) else {
                continue;
            };

            let at = relocation.address(&object);
            let slot = at as *mut *mut c_void;
            // A function that was not called yet is looked up when it is, and finds the shim's.
            if *slot == function.found {
                let wrapper = function.wrapper;
                search.succeeded &= write(slot, object.rights(at), |slot| *slot = wrapper);
            }
        }
    }
    0
}
