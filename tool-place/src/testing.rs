//! Test helper: writes records as the preloaded library does. The only unsafe code of the tests.
#![allow(unsafe_code)]

use invivo_proto::record::{Call, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, Part};

/// Appends a call with its parts, or a continuation where there is no call.
pub fn write(encoder: &mut Encoder, call: Option<&Call>, parts: &[Part], out: &mut Vec<u8>) {
    let mut bytes = vec![0u8; MAX_CALL_BYTES + parts.len() * MAX_PART_BYTES];
    let start = bytes.as_mut_ptr();
    // SAFETY: there is room for one call or continuation and for all parts.
    let end = unsafe {
        let behind = match call {
            Some(call) => encoder.call(start, call, parts.len()),
            None => encoder.continuation(start, parts.len()),
        };
        parts.iter().fold(behind, |out, part| encoder.part(out, part))
    };
    out.extend_from_slice(&bytes[..end as usize - start as usize]);
}
