//! LEB128 variable-length integers and zigzag, by hand because the shim writes several for each
//! record.

/// The most bytes that one `u64` takes.
pub const MAX_BYTES: usize = 10;

/// Writes `value` at `out` and returns the first address behind it.
///
/// # Safety
/// [`MAX_BYTES`] bytes from `out` on must be writable.
#[inline(always)]
pub unsafe fn put(out: *mut u8, value: u64) -> *mut u8 {
    // Times and sizes of most records have two or three groups of seven bits. They are spread to
    // bytes by adding to a number its upper groups once more: that doubles them, so that they move
    // up by the bit that each byte has more.
    // SAFETY: at most four bytes are written, the caller vouches for ten.
    unsafe {
        if value < 1 << 7 {
            out.write(value as u8);
            return out.add(1);
        }
        let spread = value.wrapping_add(value & !0x7f);
        if value < 1 << 14 {
            let bytes = spread as u16 | 0x80;
            out.cast::<u16>().write_unaligned(bytes.to_le());
            return out.add(2);
        }
        if value < 1 << 21 {
            let spread = spread + (spread & !0x7fff);
            let bytes = spread as u32 | 0x8080;
            out.cast::<u32>().write_unaligned(bytes.to_le());
            return out.add(3);
        }
        put_long(out, value)
    }
}

/// As [`put`], group by group.
///
/// # Safety
/// As for [`put`].
#[inline(never)]
unsafe fn put_long(mut out: *mut u8, mut value: u64) -> *mut u8 {
    while value >= 0x80 {
        // SAFETY: a u64 has at most ten groups of seven bits, and the caller vouches for ten bytes.
        unsafe {
            out.write(value as u8 | 0x80);
            out = out.add(1);
        }
        value >>= 7;
    }
    // SAFETY: as above; this is at most the tenth byte.
    unsafe {
        out.write(value as u8);
        out.add(1)
    }
}

/// Why a varint cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarintError {
    /// The bytes end inside the number.
    Truncated,
    /// More than 64 bits.
    Overflow,
}

/// Reads a number at `*at` and moves `*at` behind it. On an error `*at` is where the fault was
/// seen.
#[inline(always)]
pub fn get(bytes: &[u8], at: &mut usize) -> Result<u64, VarintError> {
    let mut value = 0u64;
    let mut shift = 0;
    loop {
        let Some(&byte) = bytes.get(*at) else {
            return Err(VarintError::Truncated);
        };
        let group = u64::from(byte & 0x7f);
        // The tenth byte has room for bit 63 alone.
        if shift == 63 && group > 1 {
            return Err(VarintError::Overflow);
        }
        *at += 1;
        value |= group << shift;
        if byte < 0x80 {
            return Ok(value);
        }
        shift += 7;
        if shift > 63 {
            return Err(VarintError::Overflow);
        }
    }
}

/// Maps small negative and positive numbers to small unsigned ones.
#[inline(always)]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline(always)]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_got(value in any::<u64>(), unused in 0..64u32, signed in any::<i64>()) {
            let value = value >> unused;
            let mut bytes = [0u8; MAX_BYTES];
            // SAFETY: the array has MAX_BYTES bytes.
            let end = unsafe { put(bytes.as_mut_ptr(), value) };
            let len = end as usize - bytes.as_ptr() as usize;
            let mut at = 0;
            prop_assert_eq!(get(&bytes[..len], &mut at), Ok(value));
            prop_assert_eq!(at, len);
            prop_assert_eq!(len, (64 - value.leading_zeros()).div_ceil(7).max(1) as usize);
            prop_assert_eq!(get(&bytes[..len - 1], &mut 0), Err(VarintError::Truncated));
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert_eq!(get(&[0xff; 11], &mut 0), Err(VarintError::Overflow));
        assert_eq!(
            get(
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
                &mut 0
            ),
            Err(VarintError::Overflow)
        );
    }
}
