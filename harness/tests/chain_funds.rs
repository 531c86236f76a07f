//! Coins, blocks, wallets and time, on a real bitcoind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod chain_stage;

use bitcoin::{Amount, BlockHash, FeeRate, Txid};
use boltwright::chain::{Chain, Error};
use chain_stage::on_a_chain;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const COIN: Amount = Amount::ONE_BTC;

#[test]
fn a_payment_is_in_the_mempool_at_once_and_in_the_next_block() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        let before = chain.tip().unwrap();
        let txid = chain.fund(&friend.address().unwrap(), COIN).unwrap();
        assert_eq!(chain.mempool().unwrap(), [txid]);
        let found = chain.transaction(&txid).unwrap().unwrap();
        assert_eq!((found.confirmations, found.block), (0, None));
        assert_eq!(friend.balance().unwrap(), Amount::ZERO);
        assert_eq!(friend.balances().unwrap().pending, COIN);

        let mined = chain.mine(1).unwrap();
        let tip = chain.tip().unwrap();
        assert_eq!(
            (tip.height, &[tip.hash][..]),
            (before.height + 1, &mined[..])
        );
        let found = chain.transaction(&txid).unwrap().unwrap();
        assert_eq!((found.confirmations, found.block), (1, Some(tip.hash)));
        assert_eq!(friend.balance().unwrap(), COIN);
    });
}

#[test]
fn fifty_payments_are_one_transaction_of_few_inputs() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        let outputs: Vec<_> = (0..50)
            .map(|number| (friend.address().unwrap(), COIN / 10 * (number + 1)))
            .collect();
        let total: Amount = outputs.iter().map(|(_, amount)| *amount).sum();
        let txid = chain.fund_many(&outputs).unwrap();
        assert_eq!(chain.mempool().unwrap(), [txid]);
        chain.mine(1).unwrap();
        assert_eq!(friend.balance().unwrap(), total);
        let transaction = chain.transaction(&txid).unwrap().unwrap().transaction;
        for (address, amount) in &outputs {
            let script = address.script_pubkey();
            let paid = |output: &&bitcoin::TxOut| {
                output.script_pubkey == script && output.value == *amount
            };
            assert_eq!(transaction.output.iter().filter(paid).count(), 1);
        }
        // 127.5 BTC, from coins of 5 and 50.
        let inputs = transaction.input.len();
        assert!(inputs <= 30, "{inputs} inputs");
    });
}

#[test]
fn an_address_given_twice_is_refused_before_anything_is_paid() {
    on_a_chain(|chain| {
        let address = chain.wallet("friend").unwrap().address().unwrap();
        let twice = [(address.clone(), COIN), (address.clone(), COIN)];
        let error = chain.fund_many(&twice).unwrap_err().to_string();
        assert!(
            error.contains(&format!("duplicated address: {address}")),
            "{error}"
        );
        assert!(chain.mempool().unwrap().is_empty());
    });
}

#[test]
fn paying_more_than_there_is_fails_in_words() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        let error = friend.send(&friend.address().unwrap(), COIN).unwrap_err();
        assert_eq!(error.code(), Some(-6));
        let words = error.to_string();
        assert!(words.contains("sendmany"), "{words}");
        assert!(
            words.to_lowercase().contains("insufficient funds"),
            "{words}"
        );
        assert!(words.contains("debug.log"), "{words}");
    });
}

#[test]
fn a_hundred_payments_in_a_row_are_confirmed_by_one_block() {
    on_a_chain(|chain| {
        let address = chain.wallet("friend").unwrap().address().unwrap();
        let paid: Vec<Txid> = (0..100)
            .map(|_| chain.fund(&address, COIN / 100).unwrap())
            .collect();
        chain.wait_mempool(&paid).unwrap();
        assert_eq!(chain.wait_mempool_count(100).unwrap().len(), 100);
        let block = chain.mine(1).unwrap()[0];
        for txid in &paid {
            let found = chain.transaction(txid).unwrap().unwrap();
            assert_eq!(found.block, Some(block));
        }
    });
}

#[test]
fn payments_cost_the_feerate_that_was_set() {
    #[derive(Deserialize)]
    struct Entry {
        vsize: u64,
        fees: Fees,
    }
    #[derive(Deserialize)]
    struct Fees {
        #[serde(with = "bitcoin::amount::serde::as_btc")]
        base: Amount,
    }
    on_a_chain(|chain| {
        let address = chain.wallet("friend").unwrap().address().unwrap();
        for sat_per_vb in [1, 7, 80] {
            chain.set_feerate(FeeRate::from_sat_per_vb(sat_per_vb).unwrap());
            let txid = chain.fund(&address, COIN).unwrap();
            let entry: Entry = chain.call("getmempoolentry", &[json!(txid)]).unwrap();
            let (least, most) = (entry.vsize * sat_per_vb, (entry.vsize + 3) * sat_per_vb);
            let fee = entry.fees.base.to_sat();
            assert!(
                (least..=most).contains(&fee),
                "{fee} sat for {} vB",
                entry.vsize
            );
        }
    });
}

#[test]
fn wallets_are_apart_from_one_another_and_found_again() {
    on_a_chain(|chain| {
        let alice = chain.wallet("alice").unwrap();
        let bob = chain.wallet("bob's own wallet?").unwrap();
        chain
            .send_and_mine(&alice.address().unwrap(), COIN * 2)
            .unwrap();
        alice.send(&bob.address().unwrap(), COIN).unwrap();
        chain.mine(1).unwrap();
        assert_eq!(bob.balance().unwrap(), COIN);
        let again = chain.wallet("bob's own wallet?").unwrap();
        assert_eq!(again.balance().unwrap(), COIN);
        let left = alice.balance().unwrap();
        assert!(left < COIN && left > COIN * 99 / 100, "{left}");
    });
}

#[test]
fn a_wallet_asked_for_by_many_threads_is_made_once() {
    on_a_chain(|chain| {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| chain.wallet("shared").unwrap().address().unwrap());
            }
        });
        let loaded: Vec<String> = chain.call("listwallets", &[]).unwrap();
        assert_eq!(loaded.len(), 2, "{loaded:?}");
    });
}

#[test]
fn a_wait_for_the_mempool_ends_when_bitcoind_dies() {
    on_a_chain(|chain| {
        let stranger = Txid::from_raw_hash(bitcoin::hashes::Hash::hash(b"never sent"));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let error = chain.wait_mempool(&[stranger]).unwrap_err();
                (error, Instant::now())
            });
            // Not before it waits: its first look has come and gone by then.
            chain.mine(20).unwrap();
            let killed = Instant::now();
            chain.kill().unwrap();
            let (error, ended) = waiting.join().unwrap();
            let late = ended.saturating_duration_since(killed);
            assert!(late < Duration::from_secs(1), "{late:?}");
            assert!(error.to_string().contains("SIGKILL"), "{error}");
        });
    });
}

fn block_time(chain: &Chain, block: &BlockHash) -> u64 {
    let header: Value = chain.call("getblockheader", &[json!(block)]).unwrap();
    header["time"].as_u64().unwrap()
}

fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn blocks_carry_the_mock_time_until_it_is_taken_back() {
    on_a_chain(|chain| {
        let future = SystemTime::now() + Duration::from_secs(365 * 24 * 3600);
        chain.set_mock_time(Some(future)).unwrap();
        let block = chain.mine(1).unwrap()[0];
        assert_eq!(block_time(chain, &block), unix(future));

        chain.set_mock_time(None).unwrap();
        let block = chain.mine(1).unwrap()[0];
        let off = block_time(chain, &block).abs_diff(unix(SystemTime::now()));
        assert!(off <= 5, "{off} s off");
    });
}

#[test]
fn a_block_declared_invalid_is_gone_until_it_is_reconsidered() {
    on_a_chain(|chain| {
        let address = chain.wallet("friend").unwrap().address().unwrap();
        let before = chain.tip().unwrap();
        let txid = chain.send_and_mine(&address, COIN).unwrap();
        let after = chain.tip().unwrap();

        chain.invalidate(&after.hash).unwrap();
        assert_eq!(chain.tip().unwrap(), before);
        assert_eq!(chain.mempool().unwrap(), [txid]);

        chain.reconsider(&after.hash).unwrap();
        assert_eq!(chain.tip().unwrap(), after);
        assert!(chain.mempool().unwrap().is_empty());
    });
}

#[test]
fn a_block_can_be_mined_in_place_of_one_declared_invalid_in_the_same_second() {
    on_a_chain(|chain| {
        chain.set_mock_time(Some(SystemTime::now())).unwrap();
        for _ in 0..3 {
            let block = chain.mine(1).unwrap()[0];
            chain.invalidate(&block).unwrap();
            let other = chain.mine(1).unwrap()[0];
            assert_ne!(block, other);
        }
    });
}

#[test]
fn a_wallets_name_cannot_lead_out_of_the_lab() {
    on_a_chain(|chain| {
        for name in ["../outside", "/tmp/outside", "..", ""] {
            let error = chain.wallet(name).unwrap_err();
            assert!(matches!(error, Error::Wallet { .. }), "{error:?}");
        }
    });
}
