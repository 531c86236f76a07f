//! Whether anything of a lab is still alive, as seen by somebody who knows only its folder.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Every process that works in `dir` or names it on its command line: `(pid, command)`.
pub fn living(dir: &Path) -> Vec<(u32, String)> {
    let name = dir.to_str().expect("a plain path");
    let processes = fs::read_dir("/proc").expect("/proc");
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id())
        .filter_map(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let works_in = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            // A process that is dead and not yet reaped has neither.
            (words.contains(name) || works_in.starts_with(dir)).then_some((pid, words))
        })
        .collect()
}

/// Waits until nothing is alive; fails with what is, after so long.
#[track_caller]
pub fn expect_nothing_living(dir: &Path, within: Duration) {
    let end = Instant::now() + within;
    loop {
        let living = living(dir);
        if living.is_empty() {
            return;
        }
        assert!(
            Instant::now() < end,
            "still alive after {within:?}: {living:#?}"
        );
        std::thread::yield_now();
    }
}

/// The names of what is in `dir`.
pub fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
