//! The keeper: the process that makes sure that nothing outlives a test.
//!
//! A test can end in ways that run no code of its own (SIGKILL, abort, power of nextest). So the
//! daemons of a lab are not the test's children but the keeper's: this binary in that role, one a
//! site, in a session of its own, out of reach of what is sent to the test's process group. It
//! holds one end of a socket whose other end only the test holds; its end-of-file means that the
//! test is gone, however it went. Then the keeper kills and reaps all that descends from it, also
//! what has changed session or group or lost its parent (it is a child subreaper, so such orphans
//! come to it), frees the address lease, and exits.
//!
//! - [`run`] is the keeper's own life; it has one thread, so that `fork`, `wait` and the death
//!   signal that its children get (in case the keeper itself is killed) have no surprises;
//! - `wire` is what the two say to each other;
//! - `lease` finds a free address block;
//! - `reap` kills and collects;
//! - `link` is the test's end.
//!
//! If the keeper itself is killed, its children die with it and the test's end sweeps the rest by
//! the marker in their environment; if both die at once, the next keeper does.
mod lease;
pub(crate) mod link;
mod reap;
mod run;
pub(crate) mod sweep;
pub(crate) mod wire;

pub use run::run;

/// The role's name.
pub const ROLE: &str = "boltwright-keeper";
