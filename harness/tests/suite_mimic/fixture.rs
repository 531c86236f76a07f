//! The cases that the tests of this target look at from outside.

use crate::stub::{Absent, Here};
use boltwright::prelude::*;

#[boltwright::test]
fn passes(lab: &Lab) -> Result {
    assert!(lab.dir().exists());
    Ok(())
}

#[boltwright::test]
fn fails(_lab: &Lab) -> Result {
    Err("no route to carol".into())
}

#[boltwright::test]
fn panics(_lab: &Lab) {
    assert_eq!(1 + 1, 3, "sums");
}

#[boltwright::test]
#[should_panic(expected = "to carol")]
fn panics_as_it_should(_lab: &Lab) {
    panic!("no route to carol");
}

#[boltwright::test]
#[should_panic(expected = "to carol")]
fn panics_otherwise(_lab: &Lab) {
    panic!("no funds");
}

#[boltwright::test]
#[should_panic]
fn does_not_panic(_lab: &Lab) {}

#[boltwright::test]
#[ignore = "takes an hour"]
fn slow(_lab: &Lab) {}

#[boltwright::test]
#[cfg_attr(all(), ignore)]
fn slow_here(_lab: &Lab) {}

#[boltwright::test]
#[cfg(any())]
fn elsewhere(_lab: &Lab) {
    this_does_not_even_compile();
}

#[boltwright::test(nodes = every_pair, among = [&Here, &Absent])]
fn pays(_lab: &Lab, [payer, payee]: [Kind; 2]) {
    assert_eq!(payer.name(), payee.name());
}

#[derive(Debug)]
enum Store {
    Memory,
    SqliteWal,
}

#[boltwright::test(nodes = every, among = [&Here], each = [Store::Memory, Store::SqliteWal])]
fn stores(lab: &Lab, kind: Kind, store: Store) -> Result<(), String> {
    let expected = match store {
        Store::Memory => "memory",
        Store::SqliteWal => "sqlite_wal",
    };
    let name = format!("fixture::stores::{}::{expected}", kind.name());
    if lab.name() == name {
        Ok(())
    } else {
        Err(format!("{} is not {name}", lab.name()))
    }
}

#[boltwright::test(each = 1..=3)]
fn counts(_lab: &Lab, number: u32) {
    assert!((1..=3).contains(&number));
}
