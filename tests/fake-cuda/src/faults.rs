//! Faults that a test asks for through environment variables, read when the driver is first called.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `FAKE_CUDA_MEMORY` | bytes of the device; 4 GiB without it |
//! | `FAKE_CUDA_VERSION` | the version that the driver claims, such as 11000; 12040 without it |
//! | `FAKE_CUDA_FAIL` | `function:n:code`, separated by commas: the n-th call, from 1, of that function fails |
//! | `FAKE_CUDA_ABORT` | `function:n`: the process dies in that call |
//! | `FAKE_CUDA_HANG` | `function:n`: that call never returns |
//! | `FAKE_CUDA_NO_POOLS` | set: the device has no memory pools |
//! | `FAKE_CUDA_STRAY` | `kernel:n`: the n-th launch of that kernel writes outside of every block |

use std::collections::HashMap;

/// What goes wrong, and when.
#[derive(Default)]
pub(crate) struct Faults {
    fail: Vec<(String, u64, i32)>,
    abort: Option<(String, u64)>,
    hang: Option<(String, u64)>,
    stray: Option<(String, u64)>,
    calls: HashMap<&'static str, u64>,
    launches: HashMap<String, u64>,
}

/// What a call shall do in place of its work.
pub(crate) enum Verdict {
    Work,
    Fail(i32),
    Hang,
}

impl Faults {
    pub(crate) fn from_environment() -> Self {
        let entries = |name: &str| -> Vec<Vec<String>> {
            let text = std::env::var(name).unwrap_or_default();
            text.split(',').filter(|entry| !entry.is_empty()).map(|entry| entry.split(':').map(str::to_owned).collect()).collect()
        };
        let number = |entry: &[String], at: usize| entry.get(at).and_then(|text| text.parse().ok()).unwrap_or(1);
        let one = |name: &str| entries(name).into_iter().next().map(|entry| (entry[0].clone(), number(&entry, 1)));
        let code = |entry: &[String]| entry.get(2).and_then(|text| text.parse().ok()).unwrap_or(999);
        Self {
            fail: entries("FAKE_CUDA_FAIL").into_iter().map(|entry| (entry[0].clone(), number(&entry, 1), code(&entry))).collect(),
            abort: one("FAKE_CUDA_ABORT"),
            hang: one("FAKE_CUDA_HANG"),
            stray: one("FAKE_CUDA_STRAY"),
            calls: HashMap::new(),
            launches: HashMap::new(),
        }
    }

    /// Counts a call and says what becomes of it.
    pub(crate) fn call(&mut self, function: &'static str) -> Verdict {
        let n = self.calls.entry(function).or_default();
        *n += 1;
        let is_now = |planned: &Option<(String, u64)>| planned.as_ref().is_some_and(|(name, at)| name == function && at == n);
        if is_now(&self.abort) {
            std::process::abort();
        }
        if is_now(&self.hang) {
            return Verdict::Hang;
        }
        let failure = self.fail.iter().find(|(name, at, _)| name == function && at == n);
        failure.map_or(Verdict::Work, |&(_, _, code)| Verdict::Fail(code))
    }

    /// Counts a launch and says whether it strays.
    pub(crate) fn strays(&mut self, kernel: &str) -> bool {
        let n = self.launches.entry(kernel.to_owned()).or_default();
        *n += 1;
        self.stray.as_ref().is_some_and(|(name, at)| name == kernel && at == n)
    }
}
