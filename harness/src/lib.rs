//! Integration tests for Lightning nodes, on real daemons.
#![warn(missing_docs)]

mod amount;
pub mod chain;
pub mod host;
pub mod lab;
pub mod node;
pub mod prelude;
mod roles;
pub mod suite;

// So that what is written for users' crates, paths of the attribute's expansion and our tests'
// stub alike, can be used in this one as well.
#[cfg(test)]
extern crate self as boltwright;

pub use amount::Msat;
/// A test, as its author writes it:
///
/// ```no_run
/// use boltwright::prelude::*;
///
/// #[boltwright::test]
/// fn a_payment_crosses_two_hops(lab: &Lab) -> Result {
///     let [alice, _bob, carol] = lab.line(Amount::from_sat(1_000_000))?;
///     let invoice = carol.invoice(Msat::from_sat(25_000), "coffee")?;
///     let payment = alice.pay(&invoice)?;
///     assert_eq!(payment.preimage.hash(), invoice.payment_hash());
///     Ok(())
/// }
///
/// boltwright::main!();
/// ```
pub use boltwright_macros::test;
#[doc(hidden)]
pub use suite::__private;
