//! Which loaded file the code at an address is in, and what tells that file from others.

use super::frame_size;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use invivo_proto::definition::{BUILD_ID_BYTES_MAX, PATH_BYTES_MAX};

/// The kind of a note that holds a build id (`NT_GNU_BUILD_ID`), and whose it is.
const BUILD_ID_NOTE: u32 = 3;
const BUILD_ID_OWNER: &[u8] = b"GNU\0";

/// Some bytes, up to a limit: of a path that is longer the last, of which its name is one.
pub struct Bytes<const MAX: usize> {
    bytes: [u8; MAX],
    length: usize,
}

impl<const MAX: usize> Bytes<MAX> {
    const EMPTY: Self = Bytes {
        bytes: [0; MAX],
        length: 0,
    };

    fn of(bytes: &[u8]) -> Self {
        let mut kept = Self::EMPTY;
        let from = bytes.len().saturating_sub(MAX);
        for (to, byte) in kept.bytes.iter_mut().zip(bytes.iter().skip(from)) {
            *to = *byte;
            kept.length += 1;
        }
        kept
    }

    pub fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// A loaded file.
pub struct Module {
    /// How far its addresses are from those that it was linked for.
    pub bias: usize,
    pub path: Bytes<PATH_BYTES_MAX>,
    pub build_id: Bytes<BUILD_ID_BYTES_MAX>,
    /// The table by which frames of its functions are found; 0 where it has none.
    frames: usize,
}

impl Module {
    /// Whether it is one of an MPI library's: of the library itself, or of its layers for other
    /// languages.
    pub fn is_mpi(&self) -> bool {
        let path = self.path.get();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b"libmpi") || name.starts_with(b"libfmpich")
    }

    /// How far the stack of the function at a return address reaches, see [`frame_size::of`].
    pub fn frame_bytes(&self, return_address: usize) -> Option<usize> {
        if self.frames == 0 {
            return None;
        }
        // SAFETY: the table of a loaded file, in which the address lies.
        unsafe { frame_size::of(self.frames as *const u8, return_address) }
    }
}

/// The search for the file of an address.
struct Search {
    address: usize,
    found: Option<Module>,
}

/// The file that an address is in; nothing for code that is in none.
pub fn of(address: usize) -> Option<Module> {
    let mut search = Search {
        address,
        found: None,
    };
    // SAFETY: the callback gets the address of `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    let mut module = search.found?;
    // The loader has no name for the program itself, and the name by which others were opened may
    // begin at the folder that was the current one then.
    if module.path.get().is_empty() {
        module.path = linked(c"/proc/self/exe");
    } else if !module.path.get().starts_with(b"/") {
        module.path = whole(&module.path);
    }
    Some(module)
}

/// Looks at one object; called by the loader for each, until it gives something else than 0.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid entry and our own `search`; segments, names and notes
    // stay as long as the object, which is loaded now.
    unsafe {
        let (info, search) = (&*info, &mut *data.cast::<Search>());
        let bias = info.dlpi_addr as usize;
        let segments = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let at = |segment: &libc::Elf64_Phdr| bias.wrapping_add(segment.p_vaddr as usize);
        let holds = |segment: &&libc::Elf64_Phdr| {
            let behind = search.address.wrapping_sub(at(segment));
            segment.p_type == libc::PT_LOAD && behind < segment.p_memsz as usize
        };
        if segments.iter().find(holds).is_none() {
            return 0;
        }

        let path = match info.dlpi_name.is_null() {
            true => Bytes::EMPTY,
            false => Bytes::of(CStr::from_ptr(info.dlpi_name).to_bytes()),
        };
        let mut notes = segments.iter().filter(|of| of.p_type == libc::PT_NOTE);
        let build_id = notes.find_map(|of| {
            let notes = core::slice::from_raw_parts(at(of) as *const u8, of.p_memsz as usize);
            build_id_in(notes, if of.p_align == 8 { 8 } else { 4 })
        });
        let mut frames = segments
            .iter()
            .filter(|of| of.p_type == libc::PT_GNU_EH_FRAME);
        search.found = Some(Module {
            bias,
            path,
            build_id: build_id.map_or(Bytes::EMPTY, Bytes::of),
            frames: frames.next().map_or(0, at),
        });
    }
    1
}

/// The build id among some notes, which begin at multiples of `align`, a power of two.
fn build_id_in(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    let aligned = |at: usize| (at + align - 1) & !(align - 1);
    loop {
        let (head, rest) = notes.split_first_chunk::<12>()?;
        let [name, content, kind] = [0, 4, 8].map(|at| {
            let bytes = head.get(at..at + 4).unwrap_or_default();
            u32::from_le_bytes(bytes.try_into().unwrap_or_default())
        });
        let owner = rest.get(..name as usize)?;
        let behind_name = aligned(12 + name as usize);
        let content_end = behind_name.checked_add(content as usize)?;
        let content = notes.get(behind_name..content_end)?;
        if kind == BUILD_ID_NOTE && owner == BUILD_ID_OWNER {
            return Some(content);
        }
        notes = notes.get(aligned(content_end)..)?;
    }
}

/// What a symbolic link names.
fn linked(link: &CStr) -> Bytes<PATH_BYTES_MAX> {
    let mut room = [0u8; libc::PATH_MAX as usize];
    // SAFETY: a C string, and room for so many bytes.
    let length = unsafe { libc::readlink(link.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    let length = usize::try_from(length).unwrap_or(0);
    Bytes::of(room.get(..length).unwrap_or_default())
}

/// The whole path of a file; as it is where it cannot be found.
fn whole(path: &Bytes<PATH_BYTES_MAX>) -> Bytes<PATH_BYTES_MAX> {
    let mut name = [0u8; PATH_BYTES_MAX + 1];
    for (to, byte) in name.iter_mut().zip(path.get()) {
        *to = *byte;
    }
    let mut room = MaybeUninit::<[u8; libc::PATH_MAX as usize]>::uninit();
    // SAFETY: a C string, as the last byte stays zero, and room for the longest path.
    unsafe {
        let found = libc::realpath(name.as_ptr().cast(), room.as_mut_ptr().cast());
        match found.is_null() {
            true => Bytes::of(path.get()),
            false => Bytes::of(CStr::from_ptr(found).to_bytes()),
        }
    }
}
