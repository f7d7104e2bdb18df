//! The command line as a user meets it: the built program, real files, exit codes.

mod orders;
mod plan_files;
mod program;
mod reasons;
mod reports;
mod rules;
mod runs;
mod samples;
mod several_files;
mod traces;
mod usage;
mod user_cases;
mod window;
mod wrong_files;
