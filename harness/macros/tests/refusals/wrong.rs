//! Every function here is refused. A comment that follows says at which column, and in which words.
use boltwright_macros::test as lab_test;

#[lab_test]
async fn asynchronous(lab: &Lab) {} //~ 1 a Boltwright test is a straight line and cannot be async

#[lab_test]
fn without_lab() {} //~ 15 a test takes its lab: write `fn without_lab(lab: &Lab)`

#[lab_test]
fn lab_by_value(lab: Lab) {} //~ 22 take it as `&Lab`

#[lab_test]
fn lab_mutable(lab: &mut Lab) {} //~ 22 take it as `&Lab`

#[lab_test]
fn surplus(lab: &Lab, count: u32) {} //~ 30 nothing gives this parameter a value

#[lab_test(nodes = every_pair)] //~ 20 write `fn pair(lab: &Lab, [payer, payee]: [Kind; 2])`
fn pair(lab: &Lab) {}

#[lab_test(each = [1])] //~ 12 write `fn each(lab: &Lab, value: T)`
fn each(lab: &Lab) {}

#[lab_test(nodes = all)] //~ 20 `nodes` is one of every, every_pair, every_triple
fn arrangement(lab: &Lab, kind: Kind) {}

#[lab_test(ech = [1])] //~ 12 unknown argument `ech`
fn argument(lab: &Lab, value: u32) {}

#[lab_test]
#[should_panic(because = "x")] //~ 16 expected = "part of the message"
fn panics(lab: &Lab) {}

#[lab_test]
fn generic<T>(lab: &Lab) {} //~ 11 a test cannot be generic

#[lab_test]
struct NotAFunction; //~ 1 stands above a function

fn main() {}
