//! What this copy of the shim hides from the program, and must not.
//!
//! A program whose MPI library lacks functions gets a copy of the shim in which their names are
//! undefined (`invivo exec` makes it, before the program starts). Which library that will be is a
//! guess where a program loads its MPI late, and the user's word where `INVIVO_MPI` is set. A
//! library that is newer has functions that nobody wraps then: the program would reach them past
//! us, and name them the world with the tool processes in it. So before MPI begins the names come
//! back: in our table of symbols, for whoever looks for them from now on, and in the objects that
//! have found the library's own meanwhile.
//!
//! Where such a copy had a function, the size of its symbol says still.

use crate::library;
use crate::next::behind;
use core::ffi::{CStr, c_char, c_int, c_void};

/// An entry of a table of symbols (`Elf64_Sym`).
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// An entry of a table of places that hold addresses of symbols (`Elf64_Rela`).
#[repr(C)]
struct Place {
    offset: u64,
    info: u64,
    addend: i64,
}

/// An entry of an object's own directory (`Elf64_Dyn`).
#[repr(C)]
struct Entry {
    tag: i64,
    value: usize,
}

/// Tags of that directory.
mod tag {
    pub const STRINGS: i64 = 5;
    pub const SYMBOLS: i64 = 6;
    pub const PLACES: i64 = 7;
    pub const PLACES_BYTES: i64 = 8;
    pub const PLACES_OF_CALLS: i64 = 23;
    pub const PLACES_OF_CALLS_BYTES: i64 = 2;
    pub const HASH: i64 = 0x6fff_fef5;
}

/// A section's number that stands for none, and one that stands for an address: any other than none
/// will do.
const UNDEFINED: u16 = 0;
const SOMEWHERE: u16 = 1;
/// Kinds of places that hold just the address of a symbol (`R_X86_64_64`, `_GLOB_DAT`,
/// `_JUMP_SLOT`).
const ADDRESSES: [u32; 3] = [1, 6, 7];
/// A page of memory, in bytes.
const PAGE: usize = 4096;

/// A function that comes back.
struct Function {
    name: &'static CStr,
    /// The one behind us, which whoever looked for the name has found meanwhile.
    found: *mut c_void,
    wrapper: *mut c_void,
}

/// What is looked for in all objects.
struct Search {
    functions: Vec<Function>,
    own: *const c_void,
    done: bool,
}

/// An object as the loader has it.
struct Object<'a> {
    base: usize,
    parts: &'a [libc::Elf64_Phdr],
    directory: *const Entry,
}

/// Gives the program what its MPI library has and this copy hides. False when that is not possible.
pub fn reveal() -> bool {
    let own = library::object_of(reveal as *const c_void);
    let mut search = Search {
        functions: Vec::new(),
        own,
        done: true,
    };
    // SAFETY: the callbacks get the address of `search`, which outlives the calls.
    unsafe {
        libc::dl_iterate_phdr(Some(restore_names), (&raw mut search).cast());
        if search.functions.is_empty() {
            return search.done;
        }
        search.functions.sort_by_key(|function| function.name);
        libc::dl_iterate_phdr(Some(restore_places), (&raw mut search).cast());
    }
    search.done
}

/// Restores the names in our own table, and takes note of them.
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
        let symbols = object.at::<Symbol>(tag::SYMBOLS);
        let (Some(number), Some(library)) = (object.symbols(), library::open()) else {
            return 1;
        };
        for index in 0..number {
            let symbol = symbols.add(index).cast_mut();
            let hidden =
                (*symbol).section == UNDEFINED && (*symbol).value == 0 && (*symbol).size != 0;
            if !hidden || !library.has(object.name(&*symbol)) {
                continue;
            }
            let name = object.name(&*symbol);
            let value = (*symbol).size;
            search.done &= write(symbol, object.rights(symbol as usize), |symbol| {
                symbol.section = SOMEWHERE;
                symbol.value = value;
            });
            search.functions.push(Function {
                name,
                found: behind(name),
                wrapper: (object.base + value as usize) as *mut c_void,
            });
        }
        1
    }
}

/// Restores the places of another object that hold what it has found for one of the names.
unsafe extern "C" fn restore_places(
    info: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader's entry is valid during the call, and so is our search. An object's
    // directory describes the tables that it is linked by; each place lies in memory that the
    // loader has written to.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let object = Object::of(&*info);
        if object.base as *const c_void == search.own || object.directory.is_null() {
            return 0;
        }
        let symbols = object.at::<Symbol>(tag::SYMBOLS);
        for (begin, bytes) in [
            (tag::PLACES, tag::PLACES_BYTES),
            (tag::PLACES_OF_CALLS, tag::PLACES_OF_CALLS_BYTES),
        ] {
            let places = object.at::<Place>(begin);
            let number = object.value(bytes).unwrap_or(0) / size_of::<Place>();
            if places.is_null() || symbols.is_null() {
                continue;
            }
            for place in core::slice::from_raw_parts(places, number) {
                if !ADDRESSES.contains(&(place.info as u32)) {
                    continue;
                }
                let symbol = &*symbols.add((place.info >> 32) as usize);
                let name = object.name(symbol);
                let by_name = search.functions.binary_search_by_key(&name, |one| one.name);
                let Ok(function) = by_name.map(|at| &search.functions[at]) else {
                    continue;
                };
                let at = object.base + place.offset as usize;
                let slot = at as *mut *mut c_void;
                // What was not called yet is looked for when it is, and finds us.
                if *slot == function.found {
                    let wrapper = function.wrapper;
                    search.done &= write(slot, object.rights(at), |slot| *slot = wrapper);
                }
            }
        }
    }
    0
}

impl<'a> Object<'a> {
    /// # Safety
    /// The loader's entry is valid.
    unsafe fn of(info: &'a libc::dl_phdr_info) -> Object<'a> {
        // SAFETY: the loader's own table of this object's parts.
        let parts =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let directory = parts.iter().find(|part| part.p_type == libc::PT_DYNAMIC);
        Object {
            base,
            parts,
            directory: directory.map_or(core::ptr::null(), |part| {
                (base + part.p_vaddr as usize) as *const Entry
            }),
        }
    }

    /// What may be done with the memory at an address, as `mprotect` takes it.
    fn rights(&self, at: usize) -> c_int {
        let is_in = |kind: u32| {
            let mut of_kind = self.parts.iter().filter(move |part| part.p_type == kind);
            of_kind.find(|part| {
                let begin = self.base + part.p_vaddr as usize;
                (begin..begin + part.p_memsz as usize).contains(&at)
            })
        };
        let flags = is_in(libc::PT_LOAD).map_or(libc::PF_R, |part| part.p_flags);
        let all = [
            (libc::PF_R, libc::PROT_READ),
            // The loader takes it away from some when it has done its work there.
            (
                libc::PF_W,
                if is_in(libc::PT_GNU_RELRO).is_some() {
                    0
                } else {
                    libc::PROT_WRITE
                },
            ),
            (libc::PF_X, libc::PROT_EXEC),
        ];
        all.iter()
            .filter(|(flag, _)| flags & flag != 0)
            .fold(0, |rights, (_, right)| rights | right)
    }

    fn value(&self, tag: i64) -> Option<usize> {
        let mut entry = self.directory;
        // SAFETY: the directory is there as long as the object, and ends with a zero.
        unsafe {
            while !entry.is_null() && (*entry).tag != 0 {
                if (*entry).tag == tag {
                    return Some((*entry).value);
                }
                entry = entry.add(1);
            }
        }
        None
    }

    /// A table: the loader has made addresses of most, but for objects that it may not write to.
    fn at<T>(&self, tag: i64) -> *const T {
        match self.value(tag) {
            Some(value) if value >= self.base => value as *const T,
            Some(value) => (self.base + value) as *const T,
            None => core::ptr::null(),
        }
    }

    /// # Safety
    /// The symbol is one of this object's.
    unsafe fn name(&self, symbol: &Symbol) -> &'static CStr {
        let strings = self.at::<c_char>(tag::STRINGS);
        // SAFETY: names are C strings in the object's table.
        unsafe { CStr::from_ptr(strings.add(symbol.name as usize)) }
    }

    /// How many symbols there are, which only the table by which they are found tells: the last one
    /// of its last chain.
    ///
    /// # Safety
    /// The object is loaded.
    unsafe fn symbols(&self) -> Option<usize> {
        let table = self.at::<u32>(tag::HASH);
        if table.is_null() {
            return None;
        }
        // SAFETY: the table begins with four numbers: of its chains, of the first symbol in it, of
        // the filter's words of eight bytes, and one more. A chain's last entry is odd.
        unsafe {
            let [chains, first, words] = [0, 1, 2].map(|at| *table.add(at) as usize);
            let begins = table.add(4 + 2 * words);
            let mut last = (0..chains).map(|chain| *begins.add(chain) as usize).max()?;
            if last < first {
                return Some(first);
            }
            while *begins.add(chains + last - first) & 1 == 0 {
                last += 1;
            }
            Some(last + 1)
        }
    }
}

/// Changes what lies in memory with these rights, for a moment with the one to write.
///
/// # Safety
/// The address is that of a `T` that nobody else changes.
unsafe fn write<T>(at: *mut T, rights: c_int, change: impl FnOnce(&mut T)) -> bool {
    let begin = at as usize & !(PAGE - 1);
    let bytes = (at as usize + size_of::<T>()).next_multiple_of(PAGE) - begin;
    let protect = |how| {
        // SAFETY: only the rights to whole pages change, and none is taken away that was there
        // before.
        rights & libc::PROT_WRITE != 0
            || unsafe { libc::mprotect(begin as *mut c_void, bytes, how) } == 0
    };
    if !protect(rights | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the caller's word, and it may be written to now.
    change(unsafe { &mut *at });
    protect(rights)
}
