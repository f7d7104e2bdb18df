//! A trace of PyTorch's profiler.

#![no_main]

use arenascope_fuzz::{Kind, check_reader};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> libfuzzer_sys::Corpus { check_reader(Kind::ChromeTrace, bytes) });
