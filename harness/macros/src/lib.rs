//! The attribute `#[boltwright::test]`.
//!
//! Users meet it re-exported from the `boltwright` crate, which also holds everything that its
//! expansion names (`boltwright::__private`). An attribute is read in three steps, each of which
//! works on `proc_macro2` tokens and so is tested without a compiler: `arguments` are what stands
//! in its parentheses, `attributes` what else stands above the function, `signature` the
//! function's shape; together they make a `case`. `expansion` writes it out. All mistakes of one
//! function are told at once, each at the place where it has to be mended.

#![forbid(unsafe_code)]

mod arguments;
mod attributes;
mod case;
mod expansion;
mod signature;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a function a test that is given a lab.
///
/// The function takes `&Lab` and returns `()` or any `Result<(), E>` whose `E` can be displayed or
/// debug-printed. It is registered for `boltwright::main!()` and also becomes an ordinary
/// `#[test]`, so that it runs in a file without `harness = false` too.
///
/// # Matrices
///
/// Arguments make many trials of one function. Each is named after its cell:
///
/// | Attribute | Function | Trials of `pays` |
/// | --- | --- | --- |
/// | `test(nodes = every)` | `fn pays(lab: &Lab, kind: Kind)` | `pays::ldk`, `pays::cln`… |
/// | `test(nodes = every_pair)` | `fn pays(lab: &Lab, [payer, payee]: [Kind; 2])` | `pays::ldk_to_ldk`, `pays::ldk_to_cln`… |
/// | `test(nodes = every_triple)` | `fn pays(lab: &Lab, [a, b, c]: [Kind; 3])` | `pays::ldk_to_ldk_to_ldk`… |
/// | `test(each = [Store::Memory, Store::Sqlite])` | `fn pays(lab: &Lab, store: Store)` | `pays::memory`, `pays::sqlite` |
/// | `test(nodes = every, each = [1, 100])` | `fn pays(lab: &Lab, kind: Kind, count: u32)` | `pays::ldk::1`, `pays::ldk::100`… |
///
/// - `nodes` arranges the implementations that Boltwright knows. Their list is the same on every
///   machine; a trial that needs one that is not installed is listed as ignored.
/// - `among = EXPR` arranges others instead: any slice, array or `Vec` of `Kind`, for example
///   `among = [&ldk::Ldk, &MyNode]`.
/// - `each = EXPR` takes anything that can be iterated; a trial is named after the `Debug` form of
///   its value, which must be the same in every run. The values are `Send + 'static`. The
///   expression is evaluated whenever the tests are listed: keep it cheap and without effects.
///
/// # Other attributes
///
/// `#[ignore]` and `#[ignore = "why"]`, `#[should_panic]` (on a function that returns `()`) and
/// `#[cfg]` work as they do with `#[test]`; a doc comment or a lint level stays with the function.
/// `async fn` is refused: make the lab by `Lab::new()` in a `#[tokio::test]`.
///
/// # Known limitations
///
/// - The expansion says `::boltwright`: the dependency cannot be renamed.
/// - The function cannot be called by other code; move what is shared into one without attribute.
/// - Under libtest (without `harness = false`) a matrix is one test that runs its cells in turn.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expansion::test(arguments.into(), item.into()).into()
}
