//! See [`invivo_proto_fuzz::canary`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| invivo_proto_fuzz::canary(data));
