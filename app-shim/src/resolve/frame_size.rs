//! How far the stack of a function reaches at one of its calls, by the tables that the compiler
//! writes for unwinding (`.eh_frame`).
//!
//! Only the usual form of these tables is read, the one that linkers of x86-64 write; of all else
//! nothing is known, which a caller has to take anyway: a function may have a frame that the stack
//! pointer alone does not tell.

use crate::limits::{DESCRIPTION_BYTES_MAX, FRAME_BYTES_MAX, STATES_MAX};

/// The column of the stack pointer.
const STACK_POINTER: u64 = 7;
/// Pointers relative to where they stand, of four bytes with a sign (`DW_EH_PE_pcrel | sdata4`).
const RELATIVE_TO_ITSELF: u8 = 0x1b;
/// The index: entries relative to its begin, of four bytes with a sign (`datarel | sdata4`), whose
/// number has four bytes (`udata4`).
const INDEX: [u8; 4] = [1, RELATIVE_TO_ITSELF, 0x03, 0x3b];
/// Reads what lies there, front to back, within bounds.
#[derive(Clone, Copy)]
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, number: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(number)?;
        self.0 = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// A number of up to eight bytes.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let bytes = self.bytes(bytes)?.iter().rev();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// An address that is given relative to where it stands.
    fn address(&mut self) -> Option<usize> {
        let here = self.0.as_ptr() as usize;
        Some(here.wrapping_add_signed(self.number(4)? as u32 as i32 as isize))
    }
}

/// Where the frame ends, as far as is known: so far behind this register.
#[derive(Clone, Copy)]
struct Rule {
    register: u64,
    offset: u64,
}

/// What a function's description says of all of its code.
struct Common<'a> {
    /// The unit in which code addresses advance.
    unit: u64,
    /// Descriptions begin with a length of something else.
    has_length: bool,
    program: Input<'a>,
}

/// The bytes from where the stack pointer is behind a return to `return_address` to the return
/// address of the function's own caller; nothing where the table does not say it by the stack
/// pointer. `index` is the file's table (`.eh_frame_hdr`).
///
/// # Safety
/// The table of a file that is loaded and in which the address lies.
pub unsafe fn of(index: *const u8, return_address: usize) -> Option<usize> {
    // The call itself: what stands behind it may belong to another function.
    let address = return_address.checked_sub(1)?;
    // SAFETY: the caller's word; the head tells how long the table is, and entries where
    // descriptions begin.
    unsafe {
        let mut head = Input(core::slice::from_raw_parts(index, 12));
        if head.bytes(4)? != INDEX {
            return None;
        }
        head.bytes(4)?;
        let entries = head.number(4)? as usize;
        let table = core::slice::from_raw_parts(index.add(12), entries.checked_mul(8)?);
        let description = description(index as usize, table, address)?;
        let (mut body, start) = entry(description as *const u8)?;
        let common = common((start as usize).wrapping_sub(body.number(4)? as usize) as *const u8)?;
        let begin = body.address()?;
        let length = body.number(4)? as usize;
        if address.wrapping_sub(begin) >= length {
            return None;
        }
        if common.has_length {
            let more = body.varint()?;
            body.bytes(usize::try_from(more).ok()?)?;
        }
        let rule = Rule {
            register: u64::MAX,
            offset: 0,
        };
        let behind = u64::try_from(address.wrapping_sub(begin)).ok()?;
        // What holds for all code is said first; it advances nowhere.
        let first = run(common.program, &common, rule, u64::MAX)?;
        let rule = run(body, &common, first, behind)?;
        let is_usable = rule.register == STACK_POINTER && rule.offset <= FRAME_BYTES_MAX;
        // The return address is the last word of the frame.
        let bytes = is_usable.then(|| rule.offset.checked_sub(8))??;
        usize::try_from(bytes).ok()
    }
}

/// Where the description of the function begins that holds an address: of the last entry of the
/// sorted table that begins at or before it.
fn description(index: usize, table: &[u8], address: usize) -> Option<usize> {
    let entry = |at: usize| {
        let mut input = Input(table.get(at * 8..)?);
        let [begin, description] = [input.number(4)?, input.number(4)?]
            .map(|offset| index.wrapping_add_signed(offset as u32 as i32 as isize));
        Some((begin, description))
    };
    let (mut low, mut high) = (0, table.len() / 8);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match entry(middle)?.0 <= address {
            true => low = middle,
            false => high = middle,
        }
    }
    let (begin, description) = entry(low)?;
    (begin <= address).then_some(description)
}

/// The content behind the length of an entry, and where it begins.
///
/// # Safety
/// An entry of a loaded table.
unsafe fn entry<'a>(at: *const u8) -> Option<(Input<'a>, *const u8)> {
    // SAFETY: the caller's word: an entry begins with its length in four bytes.
    unsafe {
        let length = Input(core::slice::from_raw_parts(at, 4)).number(4)? as usize;
        let start = at.add(4);
        // Longer ones have another form.
        let is_short = (1..=DESCRIPTION_BYTES_MAX).contains(&length);
        is_short.then(|| (Input(core::slice::from_raw_parts(start, length)), start))
    }
}

/// Reads what holds for all code of a function.
///
/// # Safety
/// As for [`entry`].
unsafe fn common<'a>(at: *const u8) -> Option<Common<'a>> {
    // SAFETY: the caller's word.
    let (mut body, _) = unsafe { entry(at)? };
    let is_common = body.number(4)? == 0;
    let version = body.byte()?;
    if !is_common || !matches!(version, 1 | 3) {
        return None;
    }
    let end = body.0.iter().position(|byte| *byte == 0)?;
    let letters = body.bytes(end)?;
    body.byte()?;
    let unit = body.varint()?;
    // The unit of offsets of registers, and which one has the return address: of no use here.
    body.varint()?;
    match version {
        1 => u64::from(body.byte()?),
        _ => body.varint()?,
    };
    let mut has_length = false;
    if let [b'z', letters @ ..] = letters {
        has_length = true;
        let more = usize::try_from(body.varint()?).ok()?;
        let mut more = Input(body.bytes(more)?);
        for letter in letters {
            match letter {
                b'R' if more.byte()? == RELATIVE_TO_ITSELF => {}
                b'L' => {
                    more.byte()?;
                }
                // Four or eight bytes, by the lowest bits of its kind.
                b'P' => match more.byte()? & 0xf {
                    0x03 | 0x0b => more.bytes(4).map(|_| ())?,
                    0x00 | 0x04 | 0x0c => more.bytes(8).map(|_| ())?,
                    _ => return None,
                },
                // Frames of signals, and what nobody has written yet.
                _ => return None,
            }
        }
    } else if !letters.is_empty() {
        return None;
    }
    // Without a word about pointers they have eight bytes.
    let is_usual = letters.contains(&b'R');
    is_usual.then_some(Common {
        unit,
        has_length,
        program: body,
    })
}

/// Follows the rows of a description as far as the code `behind` the function's begin; gives the
/// rule there. `first` holds before them.
fn run(mut program: Input<'_>, common: &Common<'_>, first: Rule, behind: u64) -> Option<Rule> {
    let mut rule = first;
    let mut at = 0u64;
    let mut remembered = [first; STATES_MAX];
    let mut depth = 0usize;
    while let Some(code) = program.byte() {
        let advance = match code {
            0x40..=0x7f => u64::from(code & 0x3f),
            0x02 => program.number(1)?,
            0x03 => program.number(2)?,
            0x04 => program.number(4)?,
            _ => {
                (rule, depth) = row(code, &mut program, rule, &mut remembered, depth)?;
                continue;
            }
        };
        at = at.checked_add(advance.checked_mul(common.unit)?)?;
        if at > behind {
            return Some(rule);
        }
    }
    Some(rule)
}

/// What one instruction does to the rule, and how many states are remembered behind it.
fn row(
    code: u8,
    program: &mut Input<'_>,
    mut rule: Rule,
    remembered: &mut [Rule; STATES_MAX],
    mut depth: usize,
) -> Option<(Rule, usize)> {
    match code {
        // Where registers are kept: of no use here.
        0x00 | 0xc0..=0xff => {}
        0x80..=0xbf | 0x06 | 0x07 | 0x08 | 0x2e => {
            program.varint()?;
        }
        0x05 | 0x09 | 0x11 | 0x14 | 0x15 | 0x2f => {
            program.varint()?;
            program.varint()?;
        }
        0x10 | 0x16 => {
            program.varint()?;
            let more = program.varint()?;
            program.bytes(usize::try_from(more).ok()?)?;
        }
        0x0a => {
            *remembered.get_mut(depth)? = rule;
            depth += 1;
        }
        0x0b => {
            depth = depth.checked_sub(1)?;
            rule = *remembered.get(depth)?;
        }
        0x0c => {
            rule.register = program.varint()?;
            rule.offset = program.varint()?;
        }
        0x0d => rule.register = program.varint()?,
        0x0e => rule.offset = program.varint()?,
        // An expression, which is more than a register and an offset.
        0x0f => {
            let more = program.varint()?;
            program.bytes(usize::try_from(more).ok()?)?;
            rule.register = u64::MAX;
        }
        _ => return None,
    }
    Some((rule, depth))
}
