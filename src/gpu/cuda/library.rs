//! Finds the driver's library and checks it before it is used.

use std::path::Path;

use cudarc::driver::sys;

use super::SYMBOLS;
use crate::probe::{ProbeOutcome, ProbeReport};

/// The oldest driver that has every function: CUDA 11.4.
const OLDEST_VERSION: i32 = 11_040;

/// Folders that hold the driver on systems whose loader does not know them: WSL, containers, NixOS, Debian.
const FOLDERS: [&str; 4] = ["/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current"];

/// Opens the driver and checks its functions and its version; afterwards every function in [`SYMBOLS`] can be called.
///
/// The loader gives a library that is loaded already to everyone who asks for its name. So one that is opened by its
/// path first is the one that is found by name later.
pub(super) fn open(gpu_lib: Option<&Path>) -> Result<(), ProbeReport> {
    match gpu_lib {
        Some(path) => preload(path).map_err(|why| ProbeReport::failure(ProbeOutcome::NoDriver, &why))?,
        None if is_present() => {}
        None => {
            let found = FOLDERS.iter().map(|folder| Path::new(folder).join("libcuda.so.1")).any(|path| path.is_file() && preload(&path).is_ok());
            if !found {
                return Err(ProbeReport::failure(ProbeOutcome::NoDriver, ""));
            }
        }
    }
    if !is_present() {
        return Err(ProbeReport::failure(ProbeOutcome::NoDriver, ""));
    }
    let missing: Vec<&str> = SYMBOLS.into_iter().filter(|symbol| !has(symbol)).collect();
    if !missing.is_empty() {
        return Err(ProbeReport::failure(ProbeOutcome::Incomplete, &format!("missing: {}", missing.join(", "))));
    }
    let version = version().map_err(|code| ProbeReport::failure(crate::probe::outcome_of_code(code), ""))?;
    if version < OLDEST_VERSION {
        let detail = format!("it speaks CUDA {}, and 11.4 is the oldest that will do", version_name(version));
        return Err(ProbeReport::failure(ProbeOutcome::TooOld, &detail));
    }
    Ok(())
}

/// Opens a library by its path and keeps it open for good.
fn preload(path: &Path) -> Result<(), String> {
    // SAFETY: opening runs the library's initialisers; it is the driver, or what the user names in its place.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| error.to_string())?;
    // Closing a driver that has been used is not safe, and the process does not live long.
    std::mem::forget(library);
    Ok(())
}

fn is_present() -> bool {
    // SAFETY: tries to open libraries by the driver's names, which runs their initialisers; nothing else is called.
    unsafe { sys::is_culib_present() }
}

fn has(symbol: &str) -> bool {
    // SAFETY: the library is present, so this does not panic; the symbol is only looked up, never called through here.
    unsafe { sys::culib().get::<*const core::ffi::c_void>(symbol.as_bytes()).is_ok() }
}

/// The version that the driver speaks: 1000 times the major number plus 10 times the minor one.
pub(super) fn version() -> Result<i32, i32> {
    let mut version = 0;
    // SAFETY: the function exists, takes a pointer to an integer, and needs no initialisation before it.
    let result = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    if result == sys::CUresult::CUDA_SUCCESS { Ok(version) } else { Err(result as i32) }
}

/// `12040` as `12.4`.
pub(super) fn version_name(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
