//! Why trials are listed as ignored, for programs: one JSON object a line.
//!
//! A test binary of `boltwright::main!()`, run with `BOLTWRIGHT_SKIPS=1` and `--list`, prints
//! `{"trial": "interop::pays::cln_to_ldk", "reason": "lightningd not found…"}` for each ignored
//! trial instead of the list, and exits with 0.

use super::trial::Trial;
use crate::host::knobs;
use std::{io, io::Write};

/// The environment variable that asks for it.
const VARIABLE: &str = "BOLTWRIGHT_SKIPS";

/// Whether it was asked for.
pub(crate) fn asked() -> bool {
    knobs::variable(VARIABLE).is_some_and(|value| value != "0")
}

/// Writes the ignored ones among these trials.
pub(crate) fn write(trials: &[Trial], mut to: impl Write) -> io::Result<()> {
    for trial in trials {
        if let Some(ignored) = &trial.ignored {
            let line = serde_json::json!({ "trial": trial.name, "reason": ignored.reason() });
            writeln!(to, "{line}")?;
        }
    }
    to.flush()
}
