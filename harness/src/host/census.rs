//! Which labs there are on this machine: those that run, whoever holds them, and what is left of
//! those whose keeper is dead.
//!
//! Every process of a lab carries the lab's marker in its environment and has its working directory
//! in the lab's, so both are found without any file that could be out of date.
use super::proc::{self, Marker, Stat};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A lab of this user's of which at least one process is alive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Living {
    /// Its directory, as far as it can be told.
    pub dir: Option<PathBuf>,
    /// Its keeper's pid.
    pub keeper: u32,
    /// Its processes without the keeper: `(pid, command)`.
    pub processes: Vec<(u32, String)>,
    /// Whether its keeper is dead: what is here was left behind, and the next lab ends it.
    pub orphaned: bool,
    /// When its keeper started, in clock ticks since the machine did.
    started: u64,
}

/// All labs of this user's of which something is alive, the newest first.
pub fn living() -> Vec<Living> {
    let namespace = proc::namespace();
    let mut labs: BTreeMap<String, Living> = BTreeMap::new();
    for pid in proc::pids().into_iter().filter(|&pid| proc::is_own(pid)) {
        let Some(marker) = Marker::of(pid) else {
            continue;
        };
        if Stat::of(pid).is_none_or(|stat| stat.is_dead()) {
            continue;
        }
        let lab = labs.entry(marker.to_string()).or_insert_with(|| Living {
            dir: None,
            keeper: marker.keeper,
            processes: Vec::new(),
            orphaned: marker.is_orphaned(namespace),
            started: marker.start,
        });
        lab.processes.push((pid, proc::command_line(pid)));
        lab.dir = lab.dir.take().or_else(|| directory(pid, &marker.lab));
    }
    let mut labs: Vec<Living> = labs.into_values().collect();
    labs.sort_by_key(|lab| std::cmp::Reverse(lab.started));
    labs
}

/// The lab's directory, from where one of its processes works.
fn directory(pid: u32, lab: &str) -> Option<PathBuf> {
    let works_in = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let dir = works_in
        .ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == lab))?;
    dir.is_dir().then(|| dir.to_owned())
}

/// The directories of labs in `base`, living ones and others.
pub fn directories(base: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(base) else {
        return Vec::new();
    };
    let is_lab = |path: &PathBuf| path.join("harness.log").is_file();
    entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"bw-"))
        .map(|entry| entry.path())
        .filter(is_lab)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_a_labs_if_the_harness_has_written_there() {
        let base = tempfile::tempdir().unwrap();
        for name in ["bw-000001", "bw-000002", "other"] {
            fs::create_dir(base.path().join(name)).unwrap();
        }
        for name in ["bw-000001", "other"] {
            fs::write(base.path().join(name).join("harness.log"), "").unwrap();
        }
        assert_eq!(directories(base.path()), [base.path().join("bw-000001")]);
    }
}
