//! No core dump or crash log lies in the lab's directory.

use super::{Check, Finding, When};
use crate::lab::world::World;
use std::path::{Path, PathBuf};

pub(super) const CHECK: Check = Check {
    name: "crash files",
    when: When::Ended,
    find,
};

/// How deep daemons put them: `alice/data/regtest/crash.log…`.
const DEPTH: usize = 4;

fn find(world: &World) -> Vec<Finding> {
    let mut found = Vec::new();
    search(world.site.dir(), DEPTH, &mut found);
    found
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(world.site.dir()).unwrap_or(&path);
            let mut parts = relative.components();
            let subject = parts.next().map(|part| part.as_os_str().to_string_lossy());
            let problem = format!("left {}", relative.display());
            Finding::new(
                "crash files",
                subject.unwrap_or_default().into_owned(),
                problem,
            )
        })
        .collect()
}

fn search(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => search(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && is_crash(&name.to_string_lossy()) => found.push(path),
            _ => {}
        }
    }
}

fn is_crash(name: &str) -> bool {
    let core = name
        .strip_prefix("core.")
        .is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()));
    core || name == "core" || name.starts_with("crash.log")
}

#[cfg(test)]
mod tests {
    use super::is_crash;

    #[test]
    fn crash_files_are_known_by_their_names() {
        for name in ["core", "core.123", "crash.log", "crash.log.20261130"] {
            assert!(is_crash(name), "{name}");
        }
        for name in ["core.rs", "core.", "debug.log", "encore"] {
            assert!(!is_crash(name), "{name}");
        }
    }
}
