//! Executes a plan on a device and measures what memory it takes.
//!
//! The window and the command line never open a driver. They start a child process of the same program ([`child`]),
//! send it a [`Program`](program::Program) made from a checked plan, and read events ([`parent`], [`protocol`]).
//! The child runs the program on a [`Device`](device::Device): the CPU ([`cpu`]) or a GPU behind NVIDIA's driver
//! ([`cuda`]), which is opened at run time and may be absent.
//!
//! A run is a check before it is a measurement: every tensor carries a [`pattern`], every read is verified, and a
//! planning bug is named by tensor and op ([`findings`]). Around that, several ways of getting memory ([`regimes`])
//! are predicted, counted and measured side by side ([`run`]).

pub mod caching;
pub mod child;
pub mod compute;
pub mod cpu;
pub mod cuda;
pub mod device;
mod execute;
pub mod findings;
mod footprint;
pub mod latency;
pub mod parent;
pub mod pattern;
mod placement;
pub mod probe;
pub mod program;
pub mod protocol;
pub mod record;
pub mod regimes;
pub mod residual;
pub mod run;
pub mod streams;

pub use execute::Stop;
