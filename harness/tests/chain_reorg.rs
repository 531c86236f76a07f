//! Reorganisations, on a real bitcoind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod chain_stage;

use bitcoin::{Amount, Transaction, Txid, consensus::encode};
use boltwright::chain::{Chain, Orphans, ReorgOptions};
use chain_stage::on_a_chain;
use serde_json::{Value, json};

const COIN: Amount = Amount::ONE_BTC;

fn options(orphans: Orphans) -> ReorgOptions {
    ReorgOptions {
        orphans,
        ..ReorgOptions::default()
    }
}

/// A payment of the lab's wallet in each of so many blocks.
fn one_payment_a_block(chain: &Chain, blocks: u32) -> Vec<Txid> {
    let address = chain.wallet("friend").unwrap().address().unwrap();
    (0..blocks)
        .map(|_| chain.send_and_mine(&address, COIN).unwrap())
        .collect()
}

/// The height of the block that confirms it; `None` in the mempool.
fn height_of(chain: &Chain, txid: &Txid) -> Option<u32> {
    let found = chain.transaction(txid).unwrap().unwrap();
    (found.confirmations > 0).then(|| chain.tip().unwrap().height + 1 - found.confirmations)
}

#[test]
fn the_new_branch_is_longer_and_has_the_same_payments_at_the_same_heights() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 3);
        let old = chain.tip().unwrap();
        let heights: Vec<_> = paid.iter().map(|txid| height_of(chain, txid)).collect();

        let reorg = chain.reorg(3, options(Orphans::MineAgain)).unwrap();

        assert_eq!(reorg.old, old);
        assert_eq!(reorg.new, chain.tip().unwrap());
        assert_eq!(reorg.new.height, old.height + 1);
        assert_eq!(reorg.fork.height, old.height - 3);
        assert_eq!((reorg.dropped.len(), reorg.added.len()), (3, 4));
        assert_eq!(reorg.dropped.last(), Some(&old.hash));
        assert_eq!(reorg.added.last(), Some(&reorg.new.hash));
        assert!(
            reorg
                .dropped
                .iter()
                .all(|block| !reorg.added.contains(block))
        );
        assert_eq!(reorg.mined_again, paid);
        assert!(reorg.to_mempool.is_empty() && reorg.lost.is_empty());
        let after: Vec<_> = paid.iter().map(|txid| height_of(chain, txid)).collect();
        assert_eq!(after, heights);
        assert_eq!(chain.wallet("friend").unwrap().balance().unwrap(), COIN * 3);
    });
}

#[test]
fn payments_can_return_to_the_mempool_and_be_mined_later() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 2);
        let reorg = chain.reorg(2, options(Orphans::ToMempool)).unwrap();
        assert_eq!(reorg.to_mempool, paid);
        assert!(reorg.mined_again.is_empty() && reorg.lost.is_empty());
        let friend = chain.wallet("friend").unwrap();
        assert_eq!(friend.balances().unwrap().pending, COIN * 2);
        chain.mine(1).unwrap();
        assert_eq!(friend.balance().unwrap(), COIN * 2);
    });
}

#[test]
fn payments_of_the_wallet_survive_a_reorg_deeper_than_ten_blocks() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 15);
        let reorg = chain.reorg(15, options(Orphans::ToMempool)).unwrap();
        assert_eq!(reorg.to_mempool, paid);
        chain.mine(1).unwrap();
        assert_eq!(
            chain.wallet("friend").unwrap().balance().unwrap(),
            COIN * 15
        );
        // And the wallet can still pay.
        one_payment_a_block(chain, 1);
    });
}

#[test]
fn payments_can_be_shifted_to_later_blocks() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 2);
        let before: Vec<_> = paid.iter().map(|txid| height_of(chain, txid)).collect();
        let reorg = chain.reorg(2, options(Orphans::Shift(5))).unwrap();
        assert_eq!(reorg.added.len(), 7, "as long as the shift needs");
        for (txid, before) in paid.iter().zip(before) {
            assert_eq!(height_of(chain, txid), before.map(|height| height + 5));
        }
    });
}

#[test]
fn payments_can_be_shifted_to_earlier_blocks_as_far_as_their_lock_time_allows() {
    on_a_chain(|chain| {
        let address = chain.wallet("friend").unwrap().address().unwrap();
        let fork = chain.tip().unwrap().height;
        chain.mine(3).unwrap();
        let pay = |lock_time: u32| -> Txid {
            let outputs = json!([{ address.to_string(): 1 }]);
            let options = json!({ "locktime": lock_time, "fee_rate": 10 });
            let nothing = Value::Null;
            let paid: Value = chain
                .wallet("lab")
                .unwrap()
                .call(
                    "send",
                    &[outputs, nothing.clone(), nothing.clone(), nothing, options],
                )
                .unwrap();
            serde_json::from_value(paid["txid"].clone()).unwrap()
        };
        let (free, locked) = (pay(0), pay(fork + 2));
        chain.mine(1).unwrap();
        assert_eq!(height_of(chain, &free), Some(fork + 4));

        let reorg = chain.reorg(4, options(Orphans::Shift(-3))).unwrap();
        assert_eq!(reorg.mined_again.len(), 2);
        assert_eq!(height_of(chain, &free), Some(fork + 1));
        assert_eq!(height_of(chain, &locked), Some(fork + 3));
    });
}

#[test]
fn a_payment_with_the_change_of_another_never_comes_before_it() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        chain
            .send_and_mine(&friend.address().unwrap(), COIN * 10)
            .unwrap();
        let thirds: Vec<Txid> = (0..3)
            .map(|_| {
                let txid = friend.send(&friend.address().unwrap(), COIN).unwrap();
                chain.mine(1).unwrap();
                txid
            })
            .collect();
        let reorg = chain.reorg(3, options(Orphans::Shift(-2))).unwrap();
        assert_eq!(reorg.mined_again, thirds);
        let heights: Vec<_> = thirds.iter().map(|txid| height_of(chain, txid)).collect();
        assert!(heights.is_sorted(), "{heights:?}");
    });
}

#[test]
fn the_new_branch_is_as_long_as_asked() {
    on_a_chain(|chain| {
        let old = chain.tip().unwrap();
        let longer = ReorgOptions {
            blocks: Some(9),
            ..ReorgOptions::default()
        };
        let reorg = chain.reorg(2, longer).unwrap();
        assert_eq!(reorg.new.height, old.height + 7);
        assert_eq!(reorg.added.len(), 9);
    });
}

#[test]
fn what_waits_in_the_mempool_stays_there() {
    on_a_chain(|chain| {
        one_payment_a_block(chain, 1);
        let address = chain.wallet("friend").unwrap().address().unwrap();
        let waiting = chain.fund(&address, COIN).unwrap();
        chain.reorg(1, ReorgOptions::default()).unwrap();
        assert_eq!(chain.mempool().unwrap(), [waiting]);
    });
}

/// A transaction that spends the same coins as that one, to another address, for a higher fee.
fn double_spend(chain: &Chain, original: &Transaction) -> Transaction {
    let thief = chain.wallet("thief").unwrap();
    let mut other = original.clone();
    let total: Amount = original.output.iter().map(|output| output.value).sum();
    other.output.truncate(1);
    other.output[0].value = total - Amount::from_sat(20_000);
    other.output[0].script_pubkey = thief.address().unwrap().script_pubkey();
    for input in &mut other.input {
        input.witness.clear();
    }
    // To bitcoind they are spent, so it has to be told of them.
    let coins: Vec<Value> = original
        .input
        .iter()
        .map(|input| {
            let coin = input.previous_output;
            let source = chain.transaction(&coin.txid).unwrap().unwrap().transaction;
            let output = &source.output[coin.vout as usize];
            json!({
                "txid": coin.txid,
                "vout": coin.vout,
                "scriptPubKey": output.script_pubkey.to_hex_string(),
                "amount": output.value.to_btc(),
            })
        })
        .collect();
    let lab = chain.wallet("lab").unwrap();
    let unsigned = json!(encode::serialize_hex(&other));
    let signed: Value = lab
        .call("signrawtransactionwithwallet", &[unsigned, json!(coins)])
        .unwrap();
    assert_eq!(signed["complete"], json!(true), "{signed}");
    encode::deserialize_hex(signed["hex"].as_str().unwrap()).unwrap()
}

#[test]
fn a_confirmed_payment_can_be_double_spent() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 1)[0];
        let original = chain.transaction(&paid).unwrap().unwrap().transaction;
        let theft = double_spend(chain, &original);
        let reorg = chain
            .reorg(
                1,
                ReorgOptions {
                    include: vec![theft.clone()],
                    ..ReorgOptions::default()
                },
            )
            .unwrap();
        assert_eq!(reorg.lost, [paid]);
        assert_eq!(chain.transaction(&paid).unwrap(), None);
        assert!(height_of(chain, &theft.compute_txid()).is_some());
        assert_eq!(
            chain.wallet("friend").unwrap().balance().unwrap(),
            Amount::ZERO
        );
    });
}

#[test]
fn the_old_branch_can_win_again() {
    on_a_chain(|chain| {
        let old = chain.tip().unwrap();
        let reorg = chain.reorg(1, ReorgOptions::default()).unwrap();
        chain.invalidate(&reorg.added[0]).unwrap();
        assert_eq!(chain.tip().unwrap(), old);
    });
}

#[test]
fn two_reorgs_in_a_row_make_two_new_branches() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 1)[0];
        let first = chain.reorg(1, ReorgOptions::default()).unwrap();
        let second = chain.reorg(2, ReorgOptions::default()).unwrap();
        assert_eq!(second.dropped, first.added);
        assert_eq!(second.new.height, first.new.height + 1);
        assert_eq!(second.mined_again, [paid]);
    });
}

#[test]
fn a_reorg_that_cannot_be_is_refused_in_words() {
    on_a_chain(|chain| {
        let tip = chain.tip().unwrap();
        for (depth, blocks, words) in [
            (0, None, "blocks to drop"),
            (tip.height + 1, None, "blocks to drop"),
            (u32::MAX, None, "blocks to drop"),
            (3, Some(3), "a branch of 3 blocks does not win"),
        ] {
            let options = ReorgOptions {
                blocks,
                ..ReorgOptions::default()
            };
            let error = chain.reorg(depth, options).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(chain.tip().unwrap(), tip);
    });
}

#[test]
fn a_transaction_that_does_not_belong_in_the_branch_is_refused_in_bitcoinds_words() {
    on_a_chain(|chain| {
        let paid = one_payment_a_block(chain, 1)[0];
        let mut forged = chain.transaction(&paid).unwrap().unwrap().transaction;
        forged.output[0].value -= Amount::from_sat(1);
        let tip = chain.tip().unwrap();
        let error = chain
            .reorg(
                1,
                ReorgOptions {
                    include: vec![forged],
                    ..ReorgOptions::default()
                },
            )
            .unwrap_err()
            .to_string();
        assert_eq!(chain.tip().unwrap(), tip);
        assert!(error.contains("script-verify-flag-failed"), "{error}");
    });
}
