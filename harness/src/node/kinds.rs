//! The list of implementations: one line each.

use super::{Kind, ldk};

/// All implementations that Boltwright knows, in the order of matrices and tables.
pub static KINDS: &[Kind] = &[&ldk::Ldk];

/// The implementation of this name.
pub fn kind(name: &str) -> Option<Kind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}
