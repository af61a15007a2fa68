//! Reads an ELF object as the loader has mapped it: symbols, relocations, memory rights.

use core::ffi::{CStr, c_char, c_int, c_void};

/// An entry of a relocation table with addends (`Elf64_Rela`).
#[repr(C)]
pub struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// An entry of an object's dynamic section (`Elf64_Dyn`).
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

// Tags of the dynamic section.
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_PLTRELSZ: i64 = 2;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// The section number of a symbol that is defined elsewhere.
pub const SHN_UNDEF: u16 = 0;
/// Relocations that hold just the address of a symbol: `R_X86_64_64`, `_GLOB_DAT`, `_JUMP_SLOT`.
const ADDRESS_RELOCATIONS: [u32; 3] = [1, 6, 7];
/// A page of memory, in bytes.
const PAGE_BYTES: usize = 4096;

/// An object as the loader has it.
pub struct Object<'a> {
    pub base: usize,
    segments: &'a [libc::Elf64_Phdr],
    dynamic: *const Dynamic,
}

impl Relocation {
    /// The symbol's number, where the relocation holds just that symbol's address.
    pub fn symbol(&self) -> Option<usize> {
        let kind = self.info as u32;
        ADDRESS_RELOCATIONS
            .contains(&kind)
            .then_some((self.info >> 32) as usize)
    }

    /// The address that it fills in.
    pub fn address(&self, object: &Object<'_>) -> usize {
        object.base + self.offset as usize
    }
}

impl<'a> Object<'a> {
    /// # Safety
    /// The loader's entry is valid.
    pub unsafe fn of(info: &'a libc::dl_phdr_info) -> Object<'a> {
        // SAFETY: the loader's own table of this object's segments.
        let segments =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let mut with_dynamic = segments.iter().filter(|s| s.p_type == libc::PT_DYNAMIC);
        Object {
            base,
            segments,
            dynamic: with_dynamic.next().map_or(core::ptr::null(), |segment| {
                (base + segment.p_vaddr as usize) as *const Dynamic
            }),
        }
    }

    /// What may be done with the memory at an address, as `mprotect` takes it.
    pub fn rights(&self, at: usize) -> c_int {
        let is_in = |kind: u32| {
            let mut of_kind = self.segments.iter().filter(move |s| s.p_type == kind);
            of_kind.find(|segment| {
                let begin = self.base + segment.p_vaddr as usize;
                (begin..begin + segment.p_memsz as usize).contains(&at)
            })
        };
        // Rights to be given back after a write are those of the mapped segment.
        let flags = is_in(libc::PT_LOAD).map_or(libc::PF_R, |segment| segment.p_flags);
        // After relocating, the loader takes the right to write from these (RELRO).
        let write = match is_in(libc::PT_GNU_RELRO) {
            Some(_) => 0,
            None => libc::PROT_WRITE,
        };

        [
            (libc::PF_R, libc::PROT_READ),
            (libc::PF_W, write),
            (libc::PF_X, libc::PROT_EXEC),
        ]
        .iter()
        .filter(|(flag, _)| flags & flag != 0)
        .fold(0, |rights, (_, right)| rights | right)
    }

    fn value(&self, tag: i64) -> Option<usize> {
        let mut entry = self.dynamic;
        // SAFETY: the dynamic section is there as long as the object, and ends with a zero tag.
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

    /// The table of a tag. The loader has made addresses of most tables' offsets, but not in
    /// objects that it may not write to.
    fn table<T>(&self, tag: i64) -> *const T {
        match self.value(tag) {
            Some(value) if value >= self.base => value as *const T,
            Some(value) => (self.base + value) as *const T,
            None => core::ptr::null(),
        }
    }

    /// The table of symbols; null where there is none.
    pub fn symbols(&self) -> *const libc::Elf64_Sym {
        self.table(DT_SYMTAB)
    }

    /// Relocations of data and of calls.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn relocations(&self) -> impl Iterator<Item = &Relocation> {
        [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)]
            .into_iter()
            .filter_map(|(begin, bytes)| {
                let table = self.table::<Relocation>(begin);
                let number = self.value(bytes).unwrap_or(0) / size_of::<Relocation>();
                // SAFETY: the object's dynamic section describes the table by which the loader
                // links it.
                (!table.is_null()).then(|| unsafe { core::slice::from_raw_parts(table, number) })
            })
            .flatten()
    }

    /// # Safety
    /// The symbol is one of this object's.
    pub unsafe fn name(&self, symbol: &libc::Elf64_Sym) -> &'static CStr {
        let strings = self.table::<c_char>(DT_STRTAB);
        // SAFETY: names are C strings in the object's table.
        unsafe { CStr::from_ptr(strings.add(symbol.st_name as usize)) }
    }

    /// The number of symbols.
    ///
    /// No entry of the dynamic section has it; it follows from the hash table: the last symbol is
    /// the last one of its last chain.
    ///
    /// # Safety
    /// The object is loaded.
    pub unsafe fn symbol_count(&self) -> Option<usize> {
        let table = self.table::<u32>(DT_GNU_HASH);
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

/// Changes what lies in memory with these rights, giving the right to write for as long as it
/// takes. False where that cannot be given or taken back.
///
/// # Safety
/// The address is that of a `T` that nobody else changes.
pub unsafe fn write<T>(at: *mut T, rights: c_int, change: impl FnOnce(&mut T)) -> bool {
    let begin = at as usize & !(PAGE_BYTES - 1);
    let bytes = (at as usize + size_of::<T>()).next_multiple_of(PAGE_BYTES) - begin;
    let protect = |how| {
        // SAFETY: only the rights to whole pages change, and none is taken away that was there
        // before.
        rights & libc::PROT_WRITE != 0
            || unsafe { libc::mprotect(begin as *mut c_void, bytes, how) } == 0
    };

    // Reading and executing stay possible throughout: other threads may use the page meanwhile.
    if !protect(rights | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the caller's word, and it may be written to now.
    change(unsafe { &mut *at });
    protect(rights)
}
