//! What the documents say is what the code does.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use boltwright::host::knobs::{KNOBS, markdown_table};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// All Rust sources below a directory of the workspace: path from there, and text.
fn sources(dir: &str) -> Vec<(String, String)> {
    let (base, mut found) = (root().join(dir), Vec::new());
    let mut rest = vec![base.clone()];
    while let Some(path) = rest.pop() {
        if path.is_dir() {
            rest.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.strip_prefix(&base).unwrap().display().to_string();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!found.is_empty(), "no sources in {}", base.display());
    found
}

#[test]
fn the_table_of_knobs_in_the_readme_is_the_one_in_the_code() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let block = readme
        .split_once("<!-- knobs -->")
        .and_then(|(_, rest)| rest.split_once("<!-- /knobs -->"))
        .map(|(block, _)| block.trim());
    let expected = markdown_table();
    assert!(
        block == Some(expected.trim()),
        "README.md's table of environment variables is out of step; between `<!-- knobs -->` and \
         `<!-- /knobs -->` it should be:\n\n{expected}"
    );
}

#[test]
fn the_environment_is_read_in_one_place_only() {
    // In two halves, so that this file would not accuse itself.
    let reads = ["env::", "var"].concat();
    let culprits: Vec<_> = sources("harness/src")
        .into_iter()
        .filter(|(name, _)| !name.starts_with("host/knobs/"))
        .flat_map(|(name, text)| {
            let lines: Vec<_> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(&reads))
                .map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim()))
                .collect();
            lines
        })
        .collect();
    assert!(
        culprits.is_empty(),
        "read through host::knobs instead:\n{}",
        culprits.join("\n")
    );
}

#[test]
fn every_variable_of_ours_that_the_code_names_is_in_the_table() {
    // Given to daemons, not read; and of a test of the program search.
    const NO_KNOBS: [&str; 2] = ["BOLTWRIGHT_LAB", "BOLTWRIGHT_NOWHERE_EXE"];
    let named: BTreeSet<String> = sources("harness")
        .into_iter()
        .filter(|(name, _)| !name.contains("tests/"))
        .flat_map(|(_, text)| {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let quoted: Vec<String> = code.split('"').map(str::to_owned).collect();
            quoted
        })
        .filter(|word| {
            word.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
                && (word.starts_with("BOLTWRIGHT_") || word.ends_with("_EXE"))
                && word != "BOLTWRIGHT_"
                && !NO_KNOBS.contains(&word.as_str())
        })
        .collect();
    assert!(named.contains("BITCOIND_EXE"), "{named:?}");
    let known: BTreeSet<String> = KNOBS.iter().map(|knob| knob.name.to_owned()).collect();
    let missing: Vec<_> = named.difference(&known).collect();
    assert!(missing.is_empty(), "not in the table of knobs: {missing:?}");
}
