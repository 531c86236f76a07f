//! The labs of this user that run now, as seen from outside.

use crate::error::{Error, Result};
use crate::screen;
use boltwright::host::census;
use std::path::PathBuf;

/// The directory that was named, else that of the newest running lab.
pub fn dir_or_newest(dir: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(dir) = dir {
        return Ok(dir.clone());
    }
    let running = census::living().into_iter().filter(|lab| !lab.orphaned);
    // A site without a lab describes nothing.
    let mut dirs = running.filter_map(|lab| lab.dir);
    dirs.find(|dir| dir.join("lab.json").is_file())
        .ok_or_else(|| {
            Error::Failed(format!(
                "no lab of yours is running: start one with `{} up`, or name the directory of one",
                screen::me()
            ))
        })
}
