//! Puts the world's name into the texts of errors, in the place of the handle that stands in for
//! it.

use crate::family::Comm;

/// The text of an error with the world's name in the place of the number of the application's
/// world. Gives the text's length, which does not grow. Open MPI's texts have no arguments.
#[cfg(feature = "family-ompi")]
pub fn name_world(text: &mut [u8], _: Comm) -> usize {
    text.len()
}

/// The text of an error with the world's name in the place of the number of the application's
/// world: MPICH's texts have the arguments of the call. Gives the text's length, which does not
/// grow.
#[cfg(not(feature = "family-ompi"))]
pub fn name_world(text: &mut [u8], application: Comm) -> usize {
    const NAME: &[u8] = b"MPI_COMM_WORLD";
    const BEFORE: &[u8] = b"comm=0x";
    const DIGITS: usize = 8;

    let number = crate::resolve::predefined::fortran_number(application) as u32;
    let mut handle = [0u8; BEFORE.len() + DIGITS];
    handle[..BEFORE.len()].copy_from_slice(BEFORE);
    for (place, digit) in handle[BEFORE.len()..].iter_mut().enumerate() {
        let value = number >> (4 * (DIGITS - 1 - place)) & 0xf;
        *digit = b"0123456789abcdef"[value as usize];
    }

    // In place: the name is shorter than what it stands for, so that writing never overtakes
    // reading.
    let (mut from, mut to) = (0, 0);
    while from < text.len() {
        if text[from..].starts_with(&handle) {
            text[to..to + NAME.len()].copy_from_slice(NAME);
            from += handle.len();
            to += NAME.len();
        } else {
            text[to] = text[from];
            from += 1;
            to += 1;
        }
    }
    to
}
