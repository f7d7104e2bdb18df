//! A plan file, and the plan in it for a problem of the samples.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus { arenascope_fuzz::check_plan_file(bytes) });
