//! Labs: those that run, what dead ones have left, and the directories that were kept.

use super::{Finding, Verdict};
use crate::screen;
use boltwright::host::census::{self, Living};
use boltwright::host::settings;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Looks for all of them.
pub(super) fn look() -> Vec<Finding> {
    let (orphaned, running): (Vec<Living>, Vec<Living>) =
        census::living().into_iter().partition(|lab| lab.orphaned);
    let alive: Vec<&PathBuf> = running.iter().filter_map(|lab| lab.dir.as_ref()).collect();
    let base = base();
    let kept: Vec<PathBuf> = census::directories(&base)
        .into_iter()
        .filter(|dir| !alive.contains(&dir))
        .collect();
    vec![
        of_running(&running),
        of_orphaned(&orphaned),
        of_kept(&base, &kept),
    ]
}

fn of_running(labs: &[Living]) -> Finding {
    let one = |lab: &Living| {
        let dir = lab
            .dir
            .as_ref()
            .map_or_else(|| "?".to_owned(), |dir| dir.display().to_string());
        let processes = screen::counted(lab.processes.len(), "process");
        format!("{dir}: {processes}, keeper {}", lab.keeper)
    };
    let words = match labs {
        [] => "none".to_owned(),
        some => some.iter().map(one).collect::<Vec<_>>().join("\n"),
    };
    Finding::new("running", Verdict::Good, words).data(json!({
        "labs": labs.iter().map(|lab| json!({
            "directory": lab.dir,
            "keeper_pid": lab.keeper,
            "pids": lab.processes.iter().map(|(pid, _)| pid).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    }))
}

fn of_orphaned(labs: &[Living]) -> Finding {
    let processes: Vec<&(u32, String)> = labs.iter().flat_map(|lab| &lab.processes).collect();
    let data = json!({"pids": processes.iter().map(|(pid, _)| pid).collect::<Vec<_>>()});
    let finding = match processes.as_slice() {
        [] => Finding::new("left behind", Verdict::Good, "no process of a dead lab"),
        some => {
            let some: Vec<String> = some
                .iter()
                .map(|(pid, command)| format!("{pid} {command}"))
                .collect();
            Finding::new("left behind", Verdict::Note, some.join("\n"))
                .cure("the next lab that starts ends them")
        }
    };
    finding.data(data)
}

fn of_kept(base: &Path, kept: &[PathBuf]) -> Finding {
    let total: u64 = kept.iter().map(|dir| size(dir)).sum();
    let data = json!({"directories": kept, "bytes": total});
    let finding = match kept {
        [] => Finding::new(
            "kept",
            Verdict::Good,
            format!("no directory of an ended lab in {}", base.display()),
        ),
        [one] => Finding::new(
            "kept",
            Verdict::Note,
            format!("{}, {}", one.display(), screen::bytes(total)),
        ),
        some => Finding::new(
            "kept",
            Verdict::Note,
            format!(
                "{} directories of ended labs in {}, {}",
                some.len(),
                base.display(),
                screen::bytes(total)
            ),
        ),
    };
    let finding = match kept.iter().find(|dir| dir.join("lab.json").is_file()) {
        None => finding,
        Some(first) => finding.cure(format!(
            "`{} logs {}` shows one; remove what you have read",
            screen::me(),
            screen::quoted(first)
        )),
    };
    finding.data(data)
}

/// Where labs make their directories.
pub(super) fn base() -> PathBuf {
    let chosen = settings()
        .ok()
        .and_then(|settings| settings.test_dir.clone());
    chosen.unwrap_or_else(std::env::temp_dir)
}

/// The bytes of all files below, as far as they can be read.
pub(super) fn size(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
