//! Blocks and the nodes that follow them: mining that syncs, reorgs, a bitcoind that goes away.

use boltwright::chain::ReorgOptions;
use boltwright::prelude::*;
use std::collections::BTreeSet;

const CAPACITY: Amount = Amount::from_sat(1_000_000);

/// Every node's tip is the chain's.
fn all_at_the_tip(lab: &Lab) -> Result {
    let tip = lab.chain().tip()?;
    for node in lab.all_nodes() {
        let info = node.info()?;
        assert_eq!(
            (info.height, info.tip),
            (tip.height, Some(tip.hash)),
            "{}",
            node.title()
        );
    }
    Ok(())
}

#[boltwright::test]
fn a_mined_block_is_known_to_every_node_at_once(lab: &Lab) -> Result {
    let _nodes = lab.nodes::<3>()?;
    for blocks in [1, 6, 30] {
        assert_eq!(lab.mine(blocks)?.len(), blocks as usize);
        all_at_the_tip(lab)?;
    }
    assert_eq!(lab.mine(0)?, []);
    Ok(())
}

#[boltwright::test]
fn nodes_follow_a_reorg_and_their_channel_goes_on(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    lab.mine(6)?;
    let reorg = lab.reorg(3, ReorgOptions::default())?;
    assert_ne!(reorg.old.hash, reorg.new.hash);
    all_at_the_tip(lab)?;
    alice.pay(&bob.invoice(Msat::from_sat(5_000), "after the reorg")?)?;
    Ok(())
}

#[boltwright::test]
fn nodes_catch_up_with_a_bitcoind_that_was_restarted(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    lab.chain().restart()?;
    lab.mine(2)?;
    all_at_the_tip(lab)?;
    alice.pay(&bob.invoice(Msat::from_sat(5_000), "after the restart")?)?;
    Ok(())
}

#[boltwright::test]
fn two_who_mine_at_once_do_not_wait_for_each_others_tips(lab: &Lab) -> Result {
    let _nodes = lab.nodes::<2>()?;
    let before = lab.chain().tip()?.height;
    std::thread::scope(|scope| {
        let mine = || (0..5).try_for_each(|_| lab.mine(1).map(drop));
        let threads = [scope.spawn(mine), scope.spawn(mine)];
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    assert_eq!(lab.chain().tip()?.height, before + 10);
    all_at_the_tip(lab)
}

#[boltwright::test]
fn nodes_started_from_many_threads_get_names_of_their_own(lab: &Lab) -> Result {
    let names: BTreeSet<String> = std::thread::scope(|scope| {
        let start = || lab.node().map(|node| node.name());
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect::<boltwright::lab::Result<_>>()
    })?;
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(lab.get("alice").is_some() && lab.get("nobody").is_none());
    Ok(())
}

#[boltwright::test]
fn funds_from_the_lab_are_confirmed(lab: &Lab) -> Result {
    let node = lab.node()?;
    let amount = Amount::from_sat(123_456);
    lab.fund(&node, amount)?;
    assert_eq!(node.balance()?.confirmed, amount);
    Ok(())
}

#[boltwright::test]
fn the_journal_says_what_a_block_has_confirmed(lab: &Lab) -> Result {
    let node = lab.node()?;
    let txid = lab.fund(&node, Amount::from_sat(50_000))?;
    let journal = std::fs::read_to_string(lab.journal().path())?;
    assert!(journal.contains(&format!("confirming {txid}")), "{journal}");
    Ok(())
}

boltwright::main!();
