//! Unwinds a thread's stack from its registers up through its callers.

use crate::mapped::MappedFile;
use crate::memory::ProcessMemory;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, Unwinder};
use std::collections::{BTreeMap, HashMap};

/// Registers that say where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction.
    pub code: u64,
    /// The end of its stack.
    pub stack: u64,
    /// The frame pointer, where it is known.
    pub frame: Option<u64>,
}

/// What an unknown frame pointer counts as: nothing lies there, so that no path is followed by it.
const NOWHERE: u64 = 1;

/// Longest instruction of a call: `call` of an address in memory with an index and a wide offset.
const CALL_BYTES_MAX: u64 = 7;
/// Addresses of which the code is remembered.
const CODE_MAX: usize = 1 << 14;
/// The code that a signal's handler returns to, which follows no call: `mov $15, %rax; syscall`.
const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// Where the general registers are in a `ucontext`.
const GREGS_AT: u64 = std::mem::offset_of!(libc::ucontext_t, uc_mcontext) as u64;

/// A file with code, where it is mapped.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Its path in the list of mappings.
    pub path: &'a str,
    /// How far its addresses are from those that it was linked for; nothing where it cannot be
    /// read.
    pub bias: Option<u64>,
    /// Tells it from others of its name; may be empty.
    pub build_id: Vec<u8>,
}

/// An unwinder with the files that it has met.
pub struct Frames<'a> {
    memory: &'a ProcessMemory,
    files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    met: BTreeMap<&'a str, Place<'a>>,
    /// The code at addresses that were met. Samples go through the same ones again and again, and
    /// reading it is most of what they cost.
    code: HashMap<u64, Code>,
}

/// What the code at an address, and before it, tells of a path through it.
#[derive(Clone, Copy)]
struct Code {
    /// The instruction before it is a call.
    follows_call: bool,
    /// The handler of a signal returns to it.
    is_signals_return: bool,
}

/// A frame of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<'a> {
    /// The file with its code; nothing for code in none.
    pub path: Option<&'a str>,
    /// The instruction, or one within the call that the frame waits for.
    pub address: u64,
    /// Its end of the stack: what belongs to it lies from here on up to its caller's.
    pub stack: u64,
}

/// Whether unwinding goes on behind a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Look at its caller.
    On,
    /// It was the one.
    Found,
}

impl<'a> Frames<'a> {
    pub fn new(
        memory: &'a ProcessMemory,
        files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    ) -> Frames<'a> {
        Frames {
            memory,
            files,
            unwinder: UnwinderX86_64::new(),
            cache: CacheX86_64::new(),
            met: BTreeMap::new(),
            code: HashMap::new(),
        }
    }

    /// What is known of a file that was met.
    pub fn place(&self, path: &str) -> Option<&Place<'a>> {
        self.met.get(path)
    }

    /// Shows each frame from the innermost on, `frames_max` at most; true when the last one has no
    /// caller. `read` is one word of the stack.
    pub fn unwind(
        &mut self,
        from: Registers,
        is_return: bool,
        frames_max: usize,
        mut read: impl FnMut(u64) -> Option<u64>,
        mut each: impl FnMut(At<'a>) -> Go,
    ) -> bool {
        let mut registers =
            UnwindRegsX86_64::new(from.code, from.stack, from.frame.unwrap_or(NOWHERE));
        let mut read = |at: u64| read(at).ok_or(());
        let first = if is_return {
            FrameAddress::from_return_address(from.code)
        } else {
            Some(FrameAddress::from_instruction_pointer(from.code))
        };
        let Some(mut address) = first else {
            return false;
        };
        for _ in 0..frames_max {
            // For a return address this is one byte before it: the next function may begin there.
            let at = address.address_for_lookup();
            let path = self.meet(at);
            let frame = At {
                path,
                address: at,
                stack: registers.sp(),
            };
            if each(frame) == Go::Found || path.is_none() {
                return false;
            }
            // The unwinder cannot evaluate how glibc describes this place.
            if self.code(address.address()).is_signals_return {
                let Some(next) = interrupted(registers.sp(), &mut read) else {
                    return false;
                };
                // A signal comes at any instruction, which need not be behind a call.
                address = FrameAddress::from_instruction_pointer(next.ip());
                registers = next;
                continue;
            }
            match self
                .unwinder
                .unwind_frame(address, &mut registers, &mut self.cache, &mut read)
            {
                Ok(None) => return true,
                // Where nothing tells how to go on, the unwinder guesses; a wrong path is worse
                // than a short one.
                Ok(Some(next)) if self.is_returned_to(next) => {
                    match FrameAddress::from_return_address(next) {
                        Some(next) => address = next,
                        None => return false,
                    }
                }
                Ok(Some(_)) | Err(_) => return false,
            }
        }
        false
    }

    /// The file with code at this address, made known to the unwinder.
    fn meet(&mut self, address: u64) -> Option<&'a str> {
        let file = self.files.values().find(|file| file.holds(address))?;
        if !self.met.contains_key(file.path) {
            let image = file.image(self.memory);
            let place = Place {
                path: file.path,
                bias: image.as_ref().map(|image| image.bias),
                build_id: image
                    .as_ref()
                    .map(|image| image.build_id.clone())
                    .unwrap_or_default(),
            };
            self.met.insert(file.path, place);
            if let Some(unwinding) = image.and_then(|image| image.unwinding) {
                self.unwinder.add_module(unwinding);
            }
        }
        Some(file.path)
    }

    /// Whether a function can return to this address in the process' code.
    fn is_returned_to(&mut self, address: u64) -> bool {
        let code = self.code(address);
        code.follows_call || code.is_signals_return
    }

    fn code(&mut self, address: u64) -> Code {
        if let Some(known) = self.code.get(&address) {
            return *known;
        }
        let before = address
            .checked_sub(CALL_BYTES_MAX)
            .and_then(|from| self.memory.read(from, CALL_BYTES_MAX as usize));
        let behind = self.memory.read(address, SIGNAL_RETURN.len());
        let code = Code {
            follows_call: before.is_some_and(|before| ends_in_call(&before)),
            is_signals_return: behind.is_some_and(|behind| behind == SIGNAL_RETURN),
        };
        if self.code.len() >= CODE_MAX {
            self.code.clear();
        }
        self.code.insert(address, code);
        code
    }
}

/// The registers that a signal has interrupted: where its handler returns to, the stack pointer is
/// at the kernel's `ucontext`.
fn interrupted(
    stack: u64,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<UnwindRegsX86_64> {
    let mut register = |number: i32| {
        let at = stack.checked_add(GREGS_AT + number as u64 * 8)?;
        read(at).ok()
    };
    let (code, stack) = (register(libc::REG_RIP)?, register(libc::REG_RSP)?);
    Some(UnwindRegsX86_64::new(code, stack, register(libc::REG_RBP)?))
}

/// Whether code ends in a call: of a place so far away (`e8`), or of an address in a register or in
/// memory (`ff /2`).
fn ends_in_call(code: &[u8]) -> bool {
    let is_far_away = code.iter().rev().nth(4) == Some(&0xe8);
    let is_indirect = (2..=code.len()).any(|length| match code[code.len() - length..] {
        [0xff, mode, ..] => {
            // The middle three bits are part of the operation: 2 is a call.
            mode >> 3 & 7 == 2
                && length == indirect_length(mode, code[code.len() - length..].get(2))
        }
        _ => false,
    });
    is_far_away || is_indirect
}

/// Bytes of an indirect call with this mode, and the byte behind it.
fn indirect_length(mode: u8, scale: Option<&u8>) -> usize {
    // Intel's manual, volume 2, chapter 2: register 4 means that an SIB byte follows, register 5
    // without an offset means an address relative to the instruction, which has four bytes.
    let (addressing, register) = (mode >> 6, mode & 7);
    let with_scale = usize::from(addressing != 3 && register == 4);
    let offset = match (addressing, register) {
        (3, _) => 0,
        (0, 5) => 4,
        (0, 4) if scale.is_some_and(|scale| scale & 7 == 5) => 4,
        (0, _) => 0,
        (1, _) => 1,
        _ => 4,
    };
    2 + with_scale + offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_other_code() {
        for code in [
            &[0x90, 0x90, 0xe8, 1, 2, 3, 4][..],
            // call *%rax, *%r11 (with a prefix before), *(%rax), *8(%rbx), *0x1234(%rip),
            // *(%rax,%rbx,8), *0x100(%rsp)
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0],
            &[0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd3],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10],
            &[0x90, 0x90, 0x90, 0x90, 0xff, 0x53, 8],
            &[0x90, 0xff, 0x15, 0x34, 0x12, 0, 0],
            &[0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xd8],
            &[0xff, 0x94, 0x24, 0, 1, 0, 0],
        ] {
            assert!(ends_in_call(code), "{code:02x?}");
        }
        for code in [
            &[0x90; 7][..],
            // jmp *%rax, push (%rax), a return
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x30],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3],
            &[],
        ] {
            assert!(!ends_in_call(code), "{code:02x?}");
        }
    }
}
