//! See [`invivo_proto_fuzz::events::events`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| invivo_proto_fuzz::events::events(data));
