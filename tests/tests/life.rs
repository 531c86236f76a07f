//! The life of a node: restart, kill, freeze, early death.

use boltwright::host::{Exit, Step, process::StoppedBy};
use boltwright::node::{NodeState, kind};
use boltwright::prelude::*;
use std::time::{Duration, Instant};

const CAPACITY: Amount = Amount::from_sat(1_000_000);

fn pay_one(from: &Node, to: &Node) -> Result {
    let invoice = to.invoice(Msat::from_sat(5_000), "after")?;
    from.pay(&invoice)?;
    Ok(())
}

fn wait_usable(nodes: &[&Node]) -> Result {
    for node in nodes {
        node.wait_usable()?;
    }
    Ok(())
}

#[boltwright::test]
fn a_restarted_node_keeps_its_identity_and_its_channels(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    let id = bob.id();
    let (exit, by) = bob.stop()?;
    assert_eq!((exit, by), (Exit::Code(0), StoppedBy::Request));
    assert_eq!(bob.state(), NodeState::Ended(Exit::Code(0)));
    bob.start()?;
    assert_eq!(bob.id(), id);
    wait_usable(&[&alice, &bob])?;
    pay_one(&alice, &bob)
}

#[boltwright::test]
fn a_killed_node_comes_back_with_its_channels(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    pay_one(&alice, &bob)?;
    bob.kill()?;
    bob.start()?;
    wait_usable(&[&alice, &bob])?;
    pay_one(&alice, &bob)
}

#[boltwright::test]
fn a_frozen_node_answers_again_when_it_is_let_go(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    bob.suspend()?;
    lab.mine(1)?; // waits for alice alone
    bob.resume()?;
    lab.sync()?;
    pay_one(&alice, &bob)
}

#[boltwright::test]
fn peers_find_each_other_again_after_a_cut(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    alice.disconnect(&bob)?;
    alice.connect(&bob)?;
    wait_usable(&[&alice, &bob])?;
    pay_one(&alice, &bob)
}

#[boltwright::test]
fn a_saved_directory_can_be_put_back(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    pay_one(&alice, &bob)?;
    alice.settle()?;
    alice.stop()?;
    let saved = lab.dir().join("saved");
    alice.save(&saved)?;
    let before = alice.log().mark()?;
    std::fs::remove_dir_all(alice.dir().join("data"))?;
    alice.restore(&saved)?;
    assert!(alice.log().mark()? >= before, "its log was turned back");
    alice.start()?;
    wait_usable(&[&alice, &bob])?;
    assert_eq!(alice.payments()?.len(), 1);
    pay_one(&alice, &bob)
}

#[boltwright::test]
fn a_call_to_a_stopped_node_says_so(lab: &Lab) -> Result {
    let node = lab.node()?;
    node.stop()?;
    let words = node.info().expect_err("it is stopped").to_string();
    assert!(words.contains("alice (ldk) is not running"), "{words}");
    node.start()?;
    assert!(node.start().is_err(), "started twice");
    Ok(())
}

#[boltwright::test]
fn a_bad_option_fails_at_once_in_the_daemons_words_and_the_others_are_ended(lab: &Lab) -> Result {
    let ldk = kind("ldk").expect("it is built in");
    let began = Instant::now();
    let error = lab
        .start_nodes([
            (ldk, NodeOptions::default()),
            (ldk, NodeOptions::default().arg("--no-such-option=1")),
        ])
        .expect_err("no such option");
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let words = error.to_string();
    assert!(
        words.contains("no-such-option") && words.contains("bob"),
        "{words}"
    );
    for node in lab.all_nodes() {
        assert_ne!(node.state(), NodeState::Running, "{}", node.title());
    }
    lab.allow("exit codes")?;
    Ok(())
}

#[boltwright::test]
fn a_node_whose_port_is_held_fails_at_once_and_says_address_in_use(lab: &Lab) -> Result {
    let port = boltwright::host::address::PEER_PORT;
    let held = std::net::TcpListener::bind((lab.site().block().address(10), port))?;
    let began = Instant::now();
    let error = lab.node().expect_err("its port is taken");
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let words = error.to_string().to_lowercase();
    assert!(words.contains("in use"), "{words}");
    drop(held);
    lab.allow("exit codes")?;
    lab.allow("error lines")?;
    Ok(())
}

#[boltwright::test]
fn a_corrupt_data_directory_fails_at_once_in_the_daemons_words(lab: &Lab) -> Result {
    let node = lab.node()?;
    node.stop()?;
    let mut damaged = 0;
    for entry in std::fs::read_dir(node.dir().join("data"))? {
        let path = entry?.path();
        if path.is_file() && path.to_string_lossy().contains("sqlite") {
            std::fs::write(
                path,
                b"this is no database at all, for all that it is called one",
            )?;
            damaged += 1;
        }
    }
    assert!(damaged > 0, "the store is not where this test looks for it");
    let began = Instant::now();
    let error = node.start().expect_err("its data is garbage");
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let words = error.to_string();
    assert!(
        words.contains("alice") && words.contains("not a database"),
        "{words}"
    );
    lab.allow("exit codes")?;
    lab.allow("error lines")?;
    Ok(())
}

#[boltwright::test]
fn an_unforeseen_death_ends_a_waiting_call_at_once(lab: &Lab) -> Result {
    let [alice, bob] = lab.line(CAPACITY)?;
    bob.suspend()?; // so that the payment hangs
    let invoice_of_a_frozen_node = {
        bob.resume()?;
        let invoice = bob.invoice(Msat::from_sat(5_000), "never")?;
        bob.suspend()?;
        invoice
    };
    let process = alice.process()?;
    let error = std::thread::scope(|scope| {
        let payment = scope.spawn(|| alice.pay(&invoice_of_a_frozen_node));
        let sent = alice.wait_until("the payment to be on its way", |node| {
            let pending: usize = node.channels()?.iter().map(|c| c.pending_htlcs).sum();
            Ok(match pending {
                0 => Step::NotYet("no HTLC".to_owned()),
                _ => Step::Done(()),
            })
        });
        process.signal(9).expect("a signal");
        let began = Instant::now();
        let error = payment.join().expect("no panic").expect_err("it is dead");
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{:?}",
            began.elapsed()
        );
        sent.map(|()| error)
    })?;
    assert!(error.to_string().contains("SIGKILL"), "{error}");
    bob.resume()?;
    for waived in ["exit codes", "stuck HTLCs"] {
        lab.allow(waived)?;
    }
    Ok(())
}

boltwright::main!();
