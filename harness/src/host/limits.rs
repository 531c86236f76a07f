//! How many files a process may have open.
use super::{Error, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What a lab of a few nodes needs.
const NEEDED: u64 = 512;
/// More is of no use, and some daemons close every number up to the limit when they start.
const USEFUL: u64 = 65_536;

/// How many files this process may have open, and how many it may allow itself.
pub fn descriptors() -> Result<(u64, u64)> {
    getrlimit(Resource::RLIMIT_NOFILE).map_err(|errno| {
        Error::Limit(format!(
            "asking for the limit on open files failed: {errno}"
        ))
    })
}

/// Raises the limit on open files as far as is useful and allowed; daemons inherit it.
pub(crate) fn raise_descriptors() -> Result<()> {
    let (soft, hard) = descriptors()?;
    let wanted = hard.min(USEFUL);
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_err(|errno| {
            Error::Limit(format!(
                "raising the limit on open files from {soft} to {wanted} failed: {errno}"
            ))
        })?;
    }
    if soft.max(wanted) < NEEDED {
        return Err(Error::Limit(format!(
            "only {hard} files may be open at once (`ulimit -Hn`), and a lab needs {NEEDED}: raise the hard limit"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_up_to_what_is_useful() {
        raise_descriptors().unwrap();
        let (soft, hard) = descriptors().unwrap();
        assert!(soft >= hard.min(USEFUL));
    }
}
