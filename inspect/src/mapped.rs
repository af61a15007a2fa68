//! Files with code that are mapped into a process, and what of them an unwinder and a message need.

use crate::memory::ProcessMemory;
use framehop::{ExplicitModuleSectionInfo, Module};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, ReadRef};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// What the kernel brings: code without a file, an image in the process' memory.
pub const VDSO: &str = "[vdso]";
/// Bytes of it that are looked at; it has two pages.
const VDSO_BYTES_MAX: u64 = 1 << 16;

/// A file that is mapped into a process.
pub struct MappedFile<'a> {
    pub path: &'a str,
    /// Where its code lies.
    code: Vec<Range<u64>>,
    /// Where its first byte would lie, from its first mapping.
    first: (u64, u64),
}

/// The list of a process' mappings; nothing where the kernel does not show it.
pub fn mappings(pid: Pid) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_nonzero())).ok()
}

/// The files in a process' list of mappings.
pub fn files(mappings: &str) -> BTreeMap<&str, MappedFile<'_>> {
    let mut files: BTreeMap<&str, MappedFile<'_>> = BTreeMap::new();
    for line in mappings.lines() {
        let Some((range, mode, offset, path)) = mapping(line) else {
            continue;
        };
        let file = files.entry(path).or_insert_with(|| MappedFile {
            path,
            code: Vec::new(),
            first: (range.start, offset),
        });
        if mode.contains('x') {
            file.code.push(range);
        }
    }
    files
}

/// A line of `/proc/PID/maps` that is about a file: range, mode, offset in the file, path.
fn mapping(line: &str) -> Option<(Range<u64>, &str, u64, &str)> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let mode = words.next()?;
    let offset = words.next()?;
    let mapped = words.nth(2)?.trim_start();
    // Ranks that start together each put the shim's copy there, with the same bytes under a name
    // made of them: all but the last one's are gone, and their file is as good. Of other files
    // nothing is known.
    let path = match mapped.strip_suffix(" (deleted)") {
        Some(path) if is_shim(path) => path,
        _ => mapped,
    };
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    (path.starts_with('/') || path == VDSO).then_some((
        number(start)?..number(end)?,
        mode,
        number(offset)?,
        path,
    ))
}

/// Whether a path names a regular file: one of another kind may have been put in the place of what
/// is mapped, and opening it may wait for ever.
pub fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file())
}

/// A path's last part.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a file is the shim; a copy that is made for a program has its name in its own.
pub fn is_shim(path: &str) -> bool {
    name(path).contains("libinvivo_shim")
}

/// Whether a file is the shim or an MPI library.
pub fn is_mpi(path: &str) -> bool {
    let libraries = ["libmpi", "libfmpich"];
    is_shim(path)
        || libraries
            .iter()
            .any(|prefix| name(path).starts_with(prefix))
}

/// What of a file stays the same wherever it is mapped.
pub struct Image {
    /// How far its addresses are from those that it was linked for.
    pub bias: u64,
    /// What its linker wrote to tell it from others of its name; may be empty.
    pub build_id: Vec<u8>,
    /// What the unwinder needs, if the file has it.
    pub unwinding: Option<Module<Vec<u8>>>,
}

impl MappedFile<'_> {
    /// Whether there is code of it at this address.
    pub fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|range| range.contains(&address))
    }

    fn open(&self) -> Option<File> {
        is_regular(Path::new(self.path)).then(|| File::open(self.path).ok())?
    }

    /// Where its first mapping begins.
    pub fn begin(&self) -> u64 {
        self.first.0
    }

    /// Where these things lie in the process that the file shows to others by name; nothing of one
    /// that it does not have.
    pub fn symbols<const N: usize>(&self, names: [&str; N]) -> Option<[Option<Range<u64>>; N]> {
        let cache = ReadCache::new(self.open()?);
        let file = object::File::parse(&cache).ok()?;
        let bias = self.bias_of(&file)?;
        let mut found = [const { None }; N];
        for symbol in file
            .dynamic_symbols()
            .filter(|symbol| symbol.is_definition())
        {
            let Ok(name) = symbol.name() else {
                continue;
            };
            if let Some(at) = names.iter().position(|wanted| *wanted == name) {
                let start = symbol.address().wrapping_add(bias);
                found[at] = Some(start..start.saturating_add(symbol.size()));
            }
        }
        Some(found)
    }

    /// Where a section of it lies in the process.
    pub fn section(&self, name: &str) -> Option<u64> {
        let cache = ReadCache::new(self.open()?);
        let file = object::File::parse(&cache).ok()?;
        let section = file.section_by_name(name)?;
        Some(section.address().wrapping_add(self.bias_of(&file)?))
    }

    /// How far its addresses are from those that it was linked for.
    pub fn bias(&self) -> Option<u64> {
        let cache = ReadCache::new(self.open()?);
        self.bias_of(&object::File::parse(&cache).ok()?)
    }

    /// Reads the file; nothing where it is gone or no program.
    pub fn image(&self, memory: &ProcessMemory) -> Option<Image> {
        // It has no file: the image is read from the process.
        if self.path == VDSO {
            let code = self.code.first()?;
            let bytes = memory.read(
                code.start,
                (code.end - code.start).min(VDSO_BYTES_MAX) as usize,
            )?;
            return self.image_of(&object::File::parse(&*bytes).ok()?);
        }
        let cache = ReadCache::new(self.open()?);
        self.image_of(&object::File::parse(&cache).ok()?)
    }

    fn bias_of<'d, R: ReadRef<'d>>(&self, file: &object::File<'d, R>) -> Option<u64> {
        let (start, offset) = self.first;
        // The kernel maps whole pages: a segment may begin a little behind its mapping's start.
        let page = |address: u64| address & !0xfff;
        let segment = file
            .segments()
            .find(|segment| page(segment.file_range().0) == offset)?;
        Some(start.wrapping_sub(page(segment.address())))
    }

    fn image_of<'d, R: ReadRef<'d>>(&self, file: &object::File<'d, R>) -> Option<Image> {
        let bias = self.bias_of(file)?;
        Some(Image {
            bias,
            build_id: file.build_id().ok().flatten().unwrap_or_default().to_vec(),
            unwinding: self.unwinding(file, bias),
        })
    }

    fn unwinding<'d, R: ReadRef<'d>>(
        &self,
        file: &object::File<'d, R>,
        bias: u64,
    ) -> Option<Module<Vec<u8>>> {
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let range = section.address()..section.address() + section.size();
            Some((range, section.data().ok()?.to_vec()))
        };
        // Without `.eh_frame` there is nothing to unwind by; its index only makes that faster.
        let (eh_frame_svma, eh_frame) = section(".eh_frame")?;
        let (eh_frame_hdr_svma, eh_frame_hdr) = section(".eh_frame_hdr").unzip();
        let text_svma = file
            .section_by_name(".text")
            .map(|text| text.address()..text.address() + text.size());
        let start = self.code.iter().map(|range| range.start).min()?;
        let end = self.code.iter().map(|range| range.end).max()?;
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma,
            eh_frame_svma: Some(eh_frame_svma),
            eh_frame: Some(eh_frame),
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..Default::default()
        };
        Some(Module::new(
            self.path.to_owned(),
            start..end,
            bias,
            sections,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_files_are_read() {
        let text = "\
55d0-55d8 r--p 00000000 08:01 42                         /usr/bin/an app\n\
55d8-55e0 r-xp 00008000 08:01 42                         /usr/bin/an app\n\
7f00-7f10 rw-p 00000000 00:00 0 \n\
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]\n\
7ffe-7fff r-xp 00000000 00:00 0                          [vdso]\n";
        let files = files(text);
        assert_eq!(
            files.keys().copied().collect::<Vec<_>>(),
            ["/usr/bin/an app", VDSO]
        );
        let app = &files["/usr/bin/an app"];
        assert!(app.holds(0x55d8) && !app.holds(0x55d0) && !app.holds(0x55e0));
        assert_eq!(app.first, (0x55d0, 0));
    }

    /// Another copy of the shim serves for one that was replaced.
    #[test]
    fn another_copy_serves_for_a_replaced_shim() {
        let text = "\
7f00-7f10 r-xp 00000000 08:01 42    /run/.preload/ab-libinvivo_shim.so (deleted)\n\
7f20-7f30 r-xp 00000000 08:01 43    /home/an app (deleted)\n";
        let found: Vec<&str> = files(text).keys().copied().collect();
        assert_eq!(
            found,
            [
                "/home/an app (deleted)",
                "/run/.preload/ab-libinvivo_shim.so"
            ]
        );
    }

    #[test]
    fn what_the_kernel_brings_can_be_unwound() {
        let us = rustix::process::getpid();
        let memory = ProcessMemory::of(us).expect("we may read ourselves");
        let mappings = mappings(us).expect("proc is there");
        let files = files(&mappings);
        let image = files[VDSO].image(&memory).expect("an image");
        assert!(image.unwinding.is_some());
    }
}
