//! The command line as a user meets it: the built program, real files, exit codes.

mod orders;
mod plan_files;
mod program;
mod reasons;
mod reports;
mod samples;
mod usage;
mod window;
mod wrong_files;
