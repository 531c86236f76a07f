//! A file whose author forgot `harness = false`: its tests run under libtest, and so do plain
//! `#[test]`s that make their labs themselves.

use boltwright::prelude::*;

#[boltwright::test]
fn a_test_by_the_attribute_runs_under_libtest(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(Amount::from_sat(1_000_000))?;
    alice.pay(&bob.invoice(Msat::from_sat(5_000), "libtest")?)?;
    Ok(())
}

#[test]
fn a_plain_test_makes_and_finishes_its_own_lab() -> Result {
    let lab = Lab::new()?;
    assert_eq!(lab.name(), "a_plain_test_makes_and_finishes_its_own_lab");
    let [alice, bob] = lab.line(Amount::from_sat(1_000_000))?;
    alice.pay(&bob.invoice(Msat::from_sat(5_000), "plain")?)?;
    lab.finish()?;
    Ok(())
}

#[test]
fn a_lab_that_is_dropped_keeps_its_directory() -> Result {
    let lab = Lab::builder().name("dropped on purpose").start()?;
    let dir = lab.dir().to_owned();
    drop(lab);
    assert!(dir.join("harness.log").exists());
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_node_ids() -> Result {
    let id = |seed: u64| -> Result<boltwright::node::NodeId> {
        let lab = Lab::builder().seed(seed).start()?;
        let id = lab.node()?.id();
        lab.finish()?;
        Ok(id)
    };
    assert_eq!(id(7)?, id(7)?);
    assert_ne!(id(7)?, id(8)?);
    Ok(())
}
