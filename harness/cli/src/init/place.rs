//! Which crate is meant, and which workspace it belongs to: as cargo itself sees it.

use super::changes::{parse, read};
use crate::error::{Error, Result};
use boltwright::host::knobs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate and its workspace.
#[derive(Debug)]
pub(super) struct Place {
    /// The crate's Cargo.toml.
    pub manifest: PathBuf,
    /// The Cargo.toml that profiles must stand in; the crate's own if it is alone.
    pub workspace_manifest: PathBuf,
    /// The crate's name.
    pub package: String,
}

impl Place {
    /// The crate that `dir` is in.
    pub fn find(dir: &Path) -> Result<Place> {
        if !dir.is_dir() {
            return Err(Error::Usage(format!(
                "{} is not a directory",
                dir.display()
            )));
        }
        let manifest = locate(dir, &[])?;
        let text = read(&manifest)?.unwrap_or_default();
        let document = parse(&manifest, &text)?;
        let Some(package) = document.get("package") else {
            return Err(no_package(&manifest, &document));
        };
        let name = package
            .get("name")
            .and_then(|name| name.as_str())
            .ok_or_else(|| {
                Error::Failed(format!("{}: the package has no name", manifest.display()))
            })?;
        // An explicit test target would silently end the discovery of all others in edition 2015.
        let edition = package.get("edition");
        if edition.is_none() || edition.and_then(|edition| edition.as_str()) == Some("2015") {
            return Err(Error::Failed(format!(
                "{} is of edition 2015, and Boltwright's tests need 2018 or later: \
                 set `edition = \"2024\"` there (`cargo fix --edition` helps), then run this again",
                manifest.display()
            )));
        }
        Ok(Place {
            package: name.to_owned(),
            workspace_manifest: locate(dir, &["--workspace"])?,
            manifest,
        })
    }

    /// The crate's directory.
    pub fn dir(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new("/"))
    }

    /// The workspace's directory.
    pub fn workspace_dir(&self) -> &Path {
        self.workspace_manifest.parent().unwrap_or(Path::new("/"))
    }
}

/// The Cargo.toml that cargo would take, started in `dir`.
fn locate(dir: &Path, options: &[&str]) -> Result<PathBuf> {
    let cargo = knobs::variable("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args(["locate-project", "--message-format", "plain"])
        .args(options)
        .current_dir(dir)
        .output()
        .map_err(|error| {
            let cargo = Path::new(&cargo).display();
            Error::Failed(format!(
                "failed to run {cargo}: {error}; it is part of Rust: https://rustup.rs"
            ))
        })?;
    if output.status.success() {
        let path = String::from_utf8_lossy(&output.stdout);
        return Ok(PathBuf::from(path.trim_end()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("error: ");
    if said.starts_with("could not find `Cargo.toml`") {
        return Err(Error::Failed(format!(
            "there is no Cargo.toml in {} or above it: make a crate first (`cargo init`), \
             or say where one is (`boltwright init DIR`)",
            dir.display()
        )));
    }
    Err(Error::Failed(format!(
        "cargo cannot read the crate in {}: {said}",
        dir.display()
    )))
}

fn no_package(manifest: &Path, document: &toml_edit::DocumentMut) -> Error {
    let members = document
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(|members| members.as_array());
    let members: Vec<&str> = members
        .into_iter()
        .flatten()
        .filter_map(|member| member.as_str())
        .collect();
    let known = match members.as_slice() {
        [] => String::new(),
        some => format!(" (it has {})", some.join(", ")),
    };
    Error::Failed(format!(
        "{} is a workspace without a package of its own: run `boltwright init MEMBER` \
         for the member that shall have the tests{known}",
        manifest.display()
    ))
}
