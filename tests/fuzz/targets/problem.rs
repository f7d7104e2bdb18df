//! A problem made of the input, or the case of a seed in it: every strategy plans it, both checkers judge the plans.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: arenascope_fuzz::problems::Input| arenascope_fuzz::problems::check_input(&input));
