//! See [`invivo_proto_fuzz::rules`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| invivo_proto_fuzz::rules(data));
