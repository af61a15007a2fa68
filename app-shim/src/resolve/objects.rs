//! Which loaded object (program or library) an address lies in.

use core::ffi::{CStr, c_int, c_void};

/// The file and the first address of the object that an address lies in.
pub fn object(address: *const c_void) -> Option<(&'static CStr, *mut c_void)> {
    // SAFETY: any address may be asked about; the structure is ours. Names stay as long as the
    // object.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let known = libc::dladdr(address, &mut info) != 0 && !info.dli_fname.is_null();
        known.then(|| (CStr::from_ptr(info.dli_fname), info.dli_fbase))
    }
}

/// The first address of the object that an address lies in; null where there is none.
pub fn object_base(address: *const c_void) -> *mut c_void {
    object(address).map_or(core::ptr::null_mut(), |(_, base)| base)
}

/// The code of a loaded object: any address in it is looked for among those of all.
struct CodeSearch {
    address: usize,
    found: Option<(usize, usize)>,
}

/// The first address of the code that an address lies in, and the one behind its last.
pub fn code_around(address: usize) -> Option<(usize, usize)> {
    let mut search = CodeSearch {
        address,
        found: None,
    };
    // SAFETY: the callback gets the address of `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(find_code), (&raw mut search).cast()) };
    search.found
}

/// Looks into one object; called by the loader for each, until it gives something else than 0.
unsafe extern "C" fn find_code(
    info: *mut libc::dl_phdr_info,
    _: usize,
    data: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info, with the loader's own table of the object's
    // segments, and our own `search`.
    let (info, segments, search) = unsafe {
        let info = &*info;
        let segments = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (info, segments, &mut *data.cast::<CodeSearch>())
    };
    let code = segments
        .iter()
        .filter(|segment| segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_X != 0);
    let mut ranges = code.map(|segment| {
        let begin = (info.dlpi_addr + segment.p_vaddr) as usize;
        (begin, begin + segment.p_memsz as usize)
    });
    search.found = ranges.find(|(begin, end)| (*begin..*end).contains(&search.address));
    c_int::from(search.found.is_some())
}

/// Whether an object is loaded whose file name begins so.
pub fn is_loaded(beginning: &'static [u8]) -> bool {
    let mut beginning = beginning;
    // SAFETY: the callback gets the address of `beginning`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(has_name), (&raw mut beginning).cast()) != 0 }
}

/// Looks at the name of one object; gives 1, which ends the search, where it is one that is wanted.
unsafe extern "C" fn has_name(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info, whose name is a C string or null, and our own
    // `beginning`.
    let (path, beginning) = unsafe {
        let name = (*info).dlpi_name;
        let path = if name.is_null() {
            c""
        } else {
            CStr::from_ptr(name)
        };
        (path.to_bytes(), *data.cast::<&[u8]>())
    };
    let name = path.rsplit(|byte| *byte == b'/').next();
    c_int::from(name.is_some_and(|name| name.starts_with(beginning)))
}
