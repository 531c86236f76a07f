//! `boltwright doctor --skips`: which trials of a crate are ignored on this machine, and why.
//!
//! A list of tests has no room for reasons, so the test binaries themselves are asked.

use crate::error::{Error, Result};
use crate::screen::{self, Paint, Table};
use boltwright::host::knobs;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test binary, as cargo tells of it.
#[derive(Debug)]
struct Binary {
    target: String,
    executable: PathBuf,
    /// Its package's directory, where cargo would run it.
    dir: PathBuf,
}

/// An ignored trial, as the test binary tells of it.
#[derive(Debug, Deserialize)]
struct Skip {
    trial: String,
    reason: String,
}

/// Builds, asks and tells.
pub(super) fn run(in_json: bool) -> Result<()> {
    let mut skips: Vec<(String, Skip)> = Vec::new();
    for binary in build()? {
        skips.extend(
            ask(&binary)?
                .into_iter()
                .map(|skip| (binary.target.clone(), skip)),
        );
    }
    if in_json {
        let one = |(target, skip): &(String, Skip)| json!({"target": target, "trial": skip.trial, "reason": skip.reason});
        return screen::print_json(&skips.iter().map(one).collect::<Value>());
    }
    if skips.is_empty() {
        return screen::print("no trial of Boltwright's is ignored here\n");
    }
    let mut table = Table::new(&["target", "trial", "reason"]);
    for (target, Skip { trial, reason }) in skips {
        table.row([target, trial, reason.replace('\n', " ")]);
    }
    screen::print(&table.render(Paint::stdout()))
}

/// All test binaries of the crate (or workspace) in this directory, built.
fn build() -> Result<Vec<Binary>> {
    let cargo = knobs::variable("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args([
            "test",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::file("run", Path::new(&cargo)))?;
    if !output.status.success() {
        return Err(Error::Failed(
            "the tests do not build; cargo says why above".to_owned(),
        ));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter_map(|message| binary(&message)).collect())
}

fn binary(message: &Value) -> Option<Binary> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Binary {
        target: message["target"]["name"].as_str()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
        dir: manifest.parent()?.to_owned(),
    })
}

/// The ignored trials of one binary; one that is not Boltwright's lists its tests in its own way,
/// in which nothing is a skip.
fn ask(binary: &Binary) -> Result<Vec<Skip>> {
    let output = Command::new(&binary.executable)
        .arg("--list")
        .env("BOLTWRIGHT_SKIPS", "1")
        .current_dir(&binary.dir)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::file("run", &binary.executable))?;
    if !output.status.success() {
        return Err(Error::Failed(format!(
            "{} --list failed: {}",
            binary.executable.display(),
            output.status
        )));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}
