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
    let names_it = |text: &[u8]| {
        let digits = text
            .strip_prefix(BEFORE)
            .and_then(|rest| rest.get(..DIGITS));
        let value = digits.and_then(|digits| {
            let add = |sum: u32, digit: &u8| Some(sum << 4 | char::from(*digit).to_digit(16)?);
            digits.iter().try_fold(0, add)
        });
        value == Some(number)
    };

    // In place: the name is shorter than what it stands for, so that writing never overtakes
    // reading.
    let (mut from, mut to) = (0, 0);
    while let Some(&byte) = text.get(from) {
        let one = [byte];
        let (new, read) = if text.get(from..).is_some_and(names_it) {
            (NAME, BEFORE.len() + DIGITS)
        } else {
            (&one[..], 1)
        };
        for (place, byte) in text.iter_mut().skip(to).zip(new) {
            *place = *byte;
        }
        from += read;
        to += new.len();
    }
    to
}
