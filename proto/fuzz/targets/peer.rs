//! See [`invivo_proto_fuzz::peer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| invivo_proto_fuzz::peer(data));
