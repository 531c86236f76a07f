//! Calls to a real bitcoind, and what comes back when they fail.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod chain_stage;

use boltwright::{
    chain::{
        ChainOptions, Error,
        bitcoincore_rpc::{Auth, Client, RpcApi},
    },
    host::{Step, Wait},
};
use chain_stage::{on_a_chain, on_a_chain_with};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

#[test]
fn a_refusal_tells_what_was_asked_what_came_back_and_where_the_log_is() {
    on_a_chain(|chain| {
        let error = chain.call::<Value>("getblock", &[json!("00")]).unwrap_err();
        assert_eq!(error.code(), Some(-8));
        let words = error.to_string();
        assert!(
            words.starts_with("getblock \"00\": blockhash must be of length 64"),
            "{words}"
        );
        assert!(words.contains("code -8, invalid parameter"), "{words}");
        assert!(
            words.contains(&chain.log().path().display().to_string()),
            "{words}"
        );
    });
}

#[test]
fn an_unknown_method_is_refused_in_words() {
    on_a_chain(|chain| {
        let error = chain.call::<Value>("mineabitcoin", &[]).unwrap_err();
        assert!(error.to_string().contains("no such method"), "{error}");
    });
}

#[test]
fn an_answer_of_another_shape_is_shown() {
    on_a_chain(|chain| {
        let error = chain.call::<Vec<u8>>("getblockcount", &[]).unwrap_err();
        assert!(matches!(error, Error::Answer { .. }), "{error:?}");
        assert!(error.to_string().contains("161"), "{error}");
    });
}

#[test]
fn the_typed_client_answers_as_the_calls_do() {
    on_a_chain(|chain| {
        let tip = chain.tip().unwrap();
        assert_eq!(chain.rpc().get_best_block_hash().unwrap(), tip.hash);
        let lab = chain.wallet("lab").unwrap();
        assert_eq!(lab.rpc().get_wallet_info().unwrap().wallet_name, "lab");
    });
}

#[test]
fn the_fixed_credentials_and_the_cookie_let_a_node_in() {
    on_a_chain(|chain| {
        let endpoint = chain.endpoint();
        let url = format!("http://{}", endpoint.rpc);
        let fixed = Auth::UserPass(endpoint.user, endpoint.password);
        let cookie = Auth::CookieFile(endpoint.cookie);
        for credentials in [fixed, cookie] {
            let client = Client::new(&url, credentials).unwrap();
            assert_eq!(client.get_block_count().unwrap(), 161);
        }
        let wrong = Auth::UserPass("boltwright".to_owned(), "guessed".to_owned());
        assert!(Client::new(&url, wrong).unwrap().get_block_count().is_err());
    });
}

#[test]
fn a_connection_that_bitcoind_dropped_is_replaced() {
    let options = ChainOptions {
        extra_args: vec!["-rpcservertimeout=1".to_owned()],
        ..ChainOptions::default()
    };
    on_a_chain_with(options, |chain| {
        let began = Instant::now();
        for round in 1..=3 {
            assert_eq!(chain.tip().unwrap().height, 161);
            Wait::for_("bitcoind to find the connection idle")
                .until(
                    || match began.elapsed() > Duration::from_millis(1_600) * round {
                        true => Step::Done(()),
                        false => Step::NotYet(String::new()),
                    },
                )
                .unwrap();
        }
        // A call that must not be made twice.
        assert_eq!(chain.mine(1).unwrap().len(), 1);
        assert_eq!(chain.tip().unwrap().height, 162);
    });
}

#[test]
fn calls_that_wait_hold_up_no_others() {
    on_a_chain(|chain| {
        thread::scope(|scope| {
            let waiting: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| -> Value {
                        let limit = json!(20_000);
                        chain
                            .call("waitforblockheight", &[json!(163), limit])
                            .unwrap()
                    })
                })
                .collect();
            let began = Instant::now();
            for _ in 0..50 {
                chain.tip().unwrap();
            }
            chain.mine(2).unwrap();
            for waiter in waiting {
                assert_eq!(waiter.join().unwrap()["height"], json!(163));
            }
            let took = began.elapsed();
            assert!(took < Duration::from_secs(5), "{took:?}");
        });
    });
}

#[test]
fn after_a_kill_the_next_call_says_that_bitcoind_died() {
    on_a_chain(|chain| {
        chain.kill().unwrap();
        let error = chain.tip().unwrap_err();
        assert!(matches!(error, Error::Died { .. }), "{error:?}");
        let words = error.to_string();
        assert!(
            words.starts_with("getblockchaininfo: bitcoind (pid "),
            "{words}"
        );
        assert!(words.contains("SIGKILL"), "{words}");
        let words = chain.rpc().get_block_count().unwrap_err().to_string();
        assert!(words.contains("SIGKILL"), "{words}");
    });
}

#[test]
fn a_call_in_flight_ends_when_bitcoind_dies() {
    on_a_chain(|chain| {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                chain.call::<Value>("waitforblockheight", &[json!(1_000), json!(50_000)])
            });
            Wait::for_("the call to be in flight")
                .until(|| {
                    let info: Value = chain.call("getrpcinfo", &[]).unwrap();
                    match info["active_commands"].as_array().map_or(0, Vec::len) {
                        2.. => Step::Done(()),
                        active => Step::NotYet(format!("{active} active calls")),
                    }
                })
                .unwrap();
            let killed = Instant::now();
            chain.kill().unwrap();
            let error = waiting.join().unwrap().unwrap_err();
            let late = killed.elapsed();
            assert!(late < Duration::from_secs(1), "{late:?}");
            assert!(matches!(error, Error::Died { .. }), "{error:?}");
        });
    });
}
