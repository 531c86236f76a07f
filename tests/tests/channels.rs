//! Channels between real nodes: shapes of networks, what each end sees, and how they end.

use boltwright::host::Step;
use boltwright::node::OpenChannel;
use boltwright::prelude::*;

const CAPACITY: Amount = Amount::from_sat(1_000_000);

#[boltwright::test]
fn both_ends_see_the_same_channel(lab: &Lab) -> Result {
    let push = Msat::from_sat(300_000);
    let [alice, bob] = lab.topology().capacity(CAPACITY).push(push).line()?;
    let [near] = &alice.channels()?[..] else {
        panic!("alice has one channel")
    };
    let [far] = &bob.channels()?[..] else {
        panic!("bob has one channel")
    };
    assert_eq!(near.funding, far.funding);
    assert_eq!(near.scid, far.scid);
    assert_eq!((near.peer, far.peer), (bob.id(), alice.id()));
    assert_eq!((near.capacity, far.capacity), (CAPACITY, CAPACITY));
    assert_eq!(far.local, push);
    assert!(near.is_usable() && far.is_usable());
    Ok(())
}

#[boltwright::test]
fn every_shape_has_its_channels_and_takes_two_blocks(lab: &Lab) -> Result {
    let before = lab.chain().tip()?.height;
    let star = lab.star::<3>(CAPACITY)?;
    let degrees = |nodes: &[Node]| -> Result<Vec<usize>> {
        let count = |node: &Node| Ok(node.channels()?.len());
        nodes.iter().map(count).collect()
    };
    assert_eq!(degrees(&star)?, [2, 1, 1]);
    assert_eq!(degrees(&lab.ring::<3>(CAPACITY)?)?, [2, 2, 2]);
    assert_eq!(degrees(&lab.mesh::<3>(CAPACITY)?)?, [2, 2, 2]);
    let pair = lab.topology().graph::<2, _>([(0, 1), (1, 0)])?;
    assert_eq!(degrees(&pair)?, [2, 2]);
    assert_eq!(lab.chain().tip()?.height - before, 4 * 2);
    Ok(())
}

#[boltwright::test]
fn an_announced_line_is_known_to_all_of_it(lab: &Lab) -> Result {
    let [alice, bob, carol] = lab.topology().capacity(CAPACITY).announced().line()?;
    for node in [&alice, &bob, &carol] {
        let graph = node.graph()?;
        assert_eq!(graph.len(), 2, "{graph:?}");
        assert!(
            graph.iter().all(|channel| channel.both_directions),
            "{graph:?}"
        );
    }
    assert!(alice.can_route(&carol.id(), Msat::from_sat(50_000))?);
    Ok(())
}

#[boltwright::test]
fn a_private_channel_stays_unknown_where_a_public_one_of_the_same_age_is_known(
    lab: &Lab,
) -> Result {
    let [alice, bob, carol] = lab.nodes()?;
    let nodes = [alice.clone(), bob.clone(), carol.clone()];
    lab.topology().capacity(CAPACITY).open(&nodes, [(0, 1)])?;
    lab.topology()
        .capacity(CAPACITY)
        .announced()
        .open(&nodes, [(1, 2)])?;
    assert!(!alice.channel_with(&bob)?.announced);
    assert!(bob.channel_with(&carol)?.announced);
    // Both are deep enough by now, and what carol knows has come by the same way.
    let known = carol.graph()?;
    assert_eq!(known.len(), 1, "{known:?}");
    Ok(())
}

#[boltwright::test]
fn a_cooperative_close_returns_the_funds(lab: &Lab) -> Result {
    let push = Msat::from_sat(400_000);
    let [alice, bob] = lab.topology().capacity(CAPACITY).push(push).line()?;
    let funding = alice.channels()?[0].funding;
    let before = bob.balance()?.confirmed;
    alice.close(&funding, Close::Cooperative)?;
    lab.mine_when_count(1, 1)?;
    for node in [&alice, &bob] {
        node.wait_until("the channel to be gone", |node| {
            Ok(match node.channel(&funding)? {
                None => Step::Done(()),
                Some(channel) => Step::NotYet(channel.state.to_string()),
            })
        })?;
    }
    swept(lab, &bob, before + Amount::from_sat(390_000))
}

#[boltwright::test]
fn a_forced_close_ends_with_the_funds_in_wallets(lab: &Lab) -> Result {
    let push = Msat::from_sat(400_000);
    let [alice, bob] = lab.topology().capacity(CAPACITY).push(push).line()?;
    let funding = alice.channels()?[0].funding;
    let (a, b) = (alice.balance()?.confirmed, bob.balance()?.confirmed);
    alice.close(&funding, Close::Force)?;
    lab.mine_when_count(1, 1)?;
    // The fees of a commitment transaction and a sweep are the closer's.
    swept(lab, &alice, a + Amount::from_sat(500_000))?;
    swept(lab, &bob, b + Amount::from_sat(390_000))
}

/// Mines as long as it takes for so much to be confirmed in the node's wallet; a to-self delay
/// (BOLT 3) is at most two weeks of blocks.
fn swept(lab: &Lab, node: &Node, at_least: Amount) -> Result {
    for _ in 0..2100 {
        if node.balance()?.confirmed >= at_least {
            return Ok(());
        }
        lab.mine(1)?;
    }
    panic!("{}: {:?} and not {at_least}", node.title(), node.balance()?);
}

#[boltwright::test]
fn impossible_channels_are_refused_in_words_before_a_daemon_is_asked(lab: &Lab) -> Result {
    let zero = lab.topology().capacity(Amount::ZERO).line::<2>();
    assert!(
        zero.expect_err("zero")
            .to_string()
            .contains("needs a capacity")
    );
    let vast = lab.topology().capacity(Amount::MAX).line::<2>();
    assert!(
        vast.expect_err("vast")
            .to_string()
            .contains("never as many")
    );
    let push = Msat::from_sat(1_000_001);
    let push = lab.topology().capacity(CAPACITY).push(push).line::<2>();
    assert!(push.expect_err("push").to_string().contains("cannot push"));
    let itself = lab.topology().graph::<2, _>([(0, 0)]);
    assert!(itself.expect_err("self").to_string().contains("two nodes"));
    let nobody = lab.topology().graph::<2, _>([(0, 2)]);
    assert!(
        nobody
            .expect_err("nobody")
            .to_string()
            .contains("there are 2 nodes")
    );
    assert!(lab.topology().ring::<2>().is_err());
    assert!(lab.all_nodes().is_empty(), "nodes were started for nothing");
    Ok(())
}

#[boltwright::test]
fn a_node_of_another_lab_is_refused_at_once(lab: &Lab) -> Result {
    let other = Lab::builder().name("another lab").start()?;
    let (near, far) = (lab.node()?, other.node()?);
    let opened = lab.open(&near, &far, CAPACITY);
    other.finish()?;
    let words = opened.expect_err("another chain").to_string();
    assert!(words.contains("of another lab"), "{words}");
    Ok(())
}

#[boltwright::test]
fn a_channel_without_funds_fails_in_the_daemons_words(lab: &Lab) -> Result {
    let [alice, bob] = lab.nodes()?;
    alice.connect(&bob)?;
    let error = alice
        .open(&OpenChannel {
            peer: bob.id(),
            capacity: CAPACITY,
            push: Msat::ZERO,
            announced: false,
        })
        .expect_err("it has nothing");
    let words = error.to_string();
    assert!(
        words.contains("alice (ldk)") && words.contains("unds"),
        "{words}"
    );
    Ok(())
}

boltwright::main!();
