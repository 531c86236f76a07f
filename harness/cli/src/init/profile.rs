//! The workspace's profiles: the node and what it is made of are optimised in tests, too.
//!
//! Cargo reads profiles in the root of the workspace only, so Boltwright's own do not reach those
//! who depend on it.

use super::tables::{get, set, table};
use crate::error::Result;
use toml_edit::{DocumentMut, value};

const WHY: &str = "\
An unoptimised secp256k1 or LDK makes every test slower than the daemons that it is meant to watch.";

/// Optimised code has few variables for a debugger, and all of LDK's debug information makes
/// building and linking slow; backtraces need lines only.
const DEBUG: &str = "line-tables-only";

/// Optimises all dependencies in the profile `dev`, which `test` inherits; with `member`, the
/// crates of Boltwright belong to this workspace and must be named.
pub(super) fn optimise(
    manifest: &mut DocumentMut,
    notes: &mut Vec<String>,
    member: bool,
) -> Result<()> {
    let own = get(manifest, &["profile", "dev", "opt-level"]);
    if let Some(level) = own.filter(|level| level.as_integer() != Some(0)) {
        notes.push(format!(
            "[profile.dev] has opt-level ={} for everything, left as it is",
            level.to_string().trim_end()
        ));
        return Ok(());
    }
    let mut packages = vec!["*"];
    if member {
        packages.push("boltwright-ldk");
    }
    for package in packages {
        let path = ["profile", "dev", "package", package];
        let level = get(manifest, &path).and_then(|package| package.get("opt-level"));
        match level.map(|level| (level.as_integer(), level.to_string())) {
            Some((Some(0 | 1), level)) => notes.push(format!(
                "[profile.dev.package.{package:?}] has opt-level ={}, left as it is: nodes will be slow, 2 or 3 is better",
                level.trim_end()
            )),
            Some(_) => {}
            None => {
                let comment = if package == "*" { WHY } else { "" };
                let settings = table(manifest, &path)?;
                set(settings, "opt-level", 2.into(), comment);
                if !settings.contains_key("debug") {
                    settings.insert("debug", value(DEBUG));
                }
            }
        }
    }
    Ok(())
}
