//! What the expansion of `#[boltwright::test]` names. Not for people: no promise about it is kept
//! from one version to the next.

pub use super::{
    case::{Case, Cells},
    label::label,
    libtest::{Concluded, libtest},
    matrix::{every, every_pair, every_triple},
    returned::{ByChain, ByDebug, ByDisplay, ByError, Returned, Told, returned},
};
pub use crate::node::KINDS;
pub use inventory;
