//! How a chain starts, fails to start, and starts again, on a real bitcoind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod chain_stage;

use bitcoin::Amount;
use boltwright::{
    chain::{Chain, ChainOptions, Error, SEARCH},
    host::{Mark, Program, Site, State, address::RPC_PORT},
};
use chain_stage::{in_a_site, on_a_chain, on_a_chain_with};
use serde_json::{Value, json};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// Starts a chain that cannot start; its error must come within two seconds.
fn start_and_fail(site: &Arc<Site>, options: ChainOptions) -> Error {
    // So that only the failure is timed, and not the preparation of a chain.
    on_a_chain(|_| {});
    let began = Instant::now();
    let error = Chain::start(site, options).unwrap_err();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}: {error}");
    error
}

fn with_argument(argument: &str) -> ChainOptions {
    ChainOptions {
        extra_args: vec![argument.to_owned()],
        ..ChainOptions::default()
    }
}

#[test]
fn a_chain_is_ready_with_a_fresh_block_and_hundreds_of_coins() {
    on_a_chain(|chain| {
        assert!(
            chain.version().starts_with("Bitcoin "),
            "{}",
            chain.version()
        );
        assert_eq!(chain.process().state(), State::Running);
        let info: Value = chain.call("getblockchaininfo", &[]).unwrap();
        assert_eq!(info["chain"], json!("regtest"));
        assert_eq!(info["blocks"], json!(161));
        assert_eq!(info["initialblockdownload"], json!(false));
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let age = now.as_secs().abs_diff(info["time"].as_u64().unwrap());
        assert!(age <= 5, "its last block is {age} s old");

        let lab = chain.wallet("lab").unwrap();
        let coins: Vec<Value> = lab.call("listunspent", &[json!(1)]).unwrap();
        assert!(coins.len() >= 200, "{} coins", coins.len());
        let balance = lab.balance().unwrap();
        assert!(balance >= Amount::ONE_BTC * 2_500, "{balance}");
        assert_eq!(lab.balances().unwrap().immature, Amount::ZERO);
    });
}

#[test]
fn a_chain_listens_on_the_addresses_of_its_own_block_alone() {
    in_a_site(|site| {
        let chain = Chain::start(site, ChainOptions::default()).unwrap();
        let endpoint = chain.endpoint();
        let address = site.block().address(2);
        for socket in [
            endpoint.rpc,
            endpoint.p2p,
            endpoint.zmq_raw_block,
            endpoint.zmq_raw_tx,
            endpoint.zmq_hash_block,
            endpoint.zmq_hash_tx,
            endpoint.zmq_sequence,
        ] {
            assert_eq!(*socket.ip(), address);
            TcpStream::connect(socket).unwrap();
            assert!(TcpStream::connect(("127.0.0.1", socket.port())).is_err());
        }
        let topics: Vec<Value> = chain.call("getzmqnotifications", &[]).unwrap();
        assert_eq!(topics.len(), 5, "{topics:?}");
    });
}

#[test]
fn two_chains_stand_side_by_side() {
    on_a_chain(|one| {
        on_a_chain(|other| {
            one.mine(3).unwrap();
            assert_eq!(one.tip().unwrap().height, 164);
            assert_eq!(other.tip().unwrap().height, 161);
        });
    });
}

#[test]
fn options_reach_bitcoind() {
    let options = ChainOptions {
        block_filters: true,
        txindex: false,
        extra_args: vec!["-uacomment=mine".to_owned()],
        ..ChainOptions::default()
    };
    on_a_chain_with(options, |chain| {
        let network: Value = chain.call("getnetworkinfo", &[]).unwrap();
        let agent = network["subversion"].to_string();
        assert!(agent.contains("(mine)"), "{agent}");
        let indexes: Value = chain.call("getindexinfo", &[]).unwrap();
        assert!(indexes.get("txindex").is_none(), "{indexes}");
        assert!(
            indexes.get("basic block filter index").is_some(),
            "{indexes}"
        );
    });
}

#[test]
fn a_restart_keeps_coins_wallets_mempool_and_mock_time() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        let address = friend.address().unwrap();
        chain.send_and_mine(&address, Amount::ONE_BTC).unwrap();
        let waiting = chain.fund(&address, Amount::ONE_BTC).unwrap();
        let time = SystemTime::now() + Duration::from_secs(3 * 24 * 3600);
        chain.set_mock_time(Some(time)).unwrap();
        let (tip, endpoint, first) = (chain.tip().unwrap(), chain.endpoint(), chain.process());

        chain.restart().unwrap();

        assert_ne!(chain.process().pid(), first.pid());
        assert_eq!(chain.endpoint(), endpoint);
        assert_eq!(chain.tip().unwrap(), tip);
        chain.wait_mempool(&[waiting]).unwrap();
        assert_eq!(friend.balance().unwrap(), Amount::ONE_BTC);
        let block = chain.mine(1).unwrap()[0];
        let header: Value = chain.call("getblockheader", &[json!(block)]).unwrap();
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(header["time"], json!(since.as_secs()));
        let info: Value = chain.call("getblockchaininfo", &[]).unwrap();
        assert_eq!(info["initialblockdownload"], json!(false));
    });
}

#[test]
fn a_chain_that_was_killed_or_stopped_can_be_started_again_with_other_options() {
    on_a_chain(|chain| {
        let tip = chain.tip().unwrap();
        chain.kill().unwrap();
        assert!(chain.was_asked_to_end());
        chain.restart().unwrap();
        assert!(!chain.was_asked_to_end());
        assert!(chain.tip().unwrap().height >= tip.height - 1);

        chain.stop().unwrap();
        chain.stop().unwrap();
        assert!(matches!(chain.process().state(), State::Exited(exit) if exit.is_success()));
        chain
            .restart_with(with_argument("-uacomment=again"))
            .unwrap();
        let network: Value = chain.call("getnetworkinfo", &[]).unwrap();
        assert!(network["subversion"].to_string().contains("(again)"));
    });
}

#[test]
fn what_was_flushed_survives_a_kill() {
    on_a_chain(|chain| {
        let friend = chain.wallet("friend").unwrap();
        let address = friend.address().unwrap();
        chain.send_and_mine(&address, Amount::ONE_BTC).unwrap();
        chain.flush().unwrap();
        let flushed = chain.tip().unwrap();
        chain.mine(3).unwrap();
        chain.kill().unwrap();
        chain.restart().unwrap();
        let tip = chain.tip().unwrap();
        assert!(
            (flushed.height..=flushed.height + 3).contains(&tip.height),
            "{tip:?}"
        );
        assert_eq!(friend.balance().unwrap(), Amount::ONE_BTC);
    });
}

#[test]
fn a_second_chain_in_a_site_is_refused_and_the_first_unharmed() {
    in_a_site(|site| {
        let chain = Chain::start(site, ChainOptions::default()).unwrap();
        let error = Chain::start(site, ChainOptions::default()).unwrap_err();
        assert!(error.to_string().contains("has a chain already"), "{error}");
        chain.mine(1).unwrap();
        chain.restart().unwrap();
        assert_eq!(chain.tip().unwrap().height, 162);
    });
}

#[test]
fn a_held_port_is_told_in_bitcoinds_words_and_by_its_holder() {
    in_a_site(|site| {
        let held = (site.block().address(2), RPC_PORT);
        let _holder = TcpListener::bind(held).unwrap();
        let error = start_and_fail(site, ChainOptions::default()).to_string();
        assert!(error.contains("Unable to start HTTP server"), "{error}");
        assert!(error.contains(&format!("{}:{}", held.0, held.1)), "{error}");
        assert!(
            error.contains(&format!("pid {}", std::process::id())),
            "{error}"
        );
        assert!(site.living().is_empty(), "{:?}", site.living());
    });
}

#[test]
fn a_bad_option_is_told_in_bitcoinds_words() {
    in_a_site(|site| {
        let error = start_and_fail(site, with_argument("-colour=blue"));
        assert!(matches!(error, Error::Start { .. }), "{error:?}");
        let words = error.to_string();
        assert!(words.contains("Invalid parameter -colour"), "{words}");
        assert!(site.living().is_empty(), "{:?}", site.living());
    });
}

#[test]
fn a_corrupt_data_directory_is_told_in_bitcoinds_words() {
    in_a_site(|site| {
        let chain = Chain::start(site, ChainOptions::default()).unwrap();
        chain.stop().unwrap();
        let manifest = site.dir().join("bitcoind/regtest/chainstate/CURRENT");
        fs::write(manifest, "MANIFEST-999999\n").unwrap();
        let began = Instant::now();
        let error = chain.restart().unwrap_err();
        let took = began.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}");
        let words = error.to_string();
        assert!(words.contains("Error opening coins database"), "{words}");
        assert!(words.contains("debug.log"), "{words}");
    });
}

#[test]
fn a_corrupt_wallet_is_told_in_bitcoinds_words() {
    in_a_site(|site| {
        let chain = Chain::start(site, ChainOptions::default()).unwrap();
        chain.stop().unwrap();
        let wallet = site.dir().join("bitcoind/regtest/wallets/lab/wallet.dat");
        fs::write(wallet, "no wallet at all").unwrap();
        let error = chain.restart().unwrap_err().to_string();
        assert!(error.contains("wallet"), "{error}");
        assert!(error.contains("Error"), "{error}");
    });
}

#[test]
fn a_program_that_is_no_bitcoind_is_refused() {
    in_a_site(|site| {
        let options = ChainOptions {
            executable: Some("/bin/bash".into()),
            ..ChainOptions::default()
        };
        let error = start_and_fail(site, options).to_string();
        assert!(error.contains("/bin/bash"), "{error}");
        assert!(error.contains("does not look like"), "{error}");
    });
}

#[test]
fn a_program_that_is_not_there_is_named() {
    in_a_site(|site| {
        let options = ChainOptions {
            executable: Some("/nowhere/bitcoind".into()),
            ..ChainOptions::default()
        };
        let error = start_and_fail(site, options).to_string();
        assert!(error.contains("/nowhere/bitcoind"), "{error}");
    });
}

#[test]
fn a_chain_does_not_keep_its_site_alive() {
    let site = Arc::new(Site::open().unwrap());
    let chain = Chain::start(&site, ChainOptions::default()).unwrap();
    Arc::into_inner(site).unwrap().remove().unwrap();
    assert!(matches!(chain.process().state(), State::Exited(_)));
    assert!(chain.tip().is_err());
    assert!(chain.restart().is_err());
}

/// What a person would do by hand, as the measure of what a chain costs: bitcoind, started on a
/// copy of the same data by the same keeper, until it answers.
fn start_by_hand(site: &Arc<Site>, program: &Program) -> Duration {
    use boltwright::{
        chain::bitcoincore_rpc::{Auth, Client, RpcApi},
        host::{Command, Step, Wait},
    };
    let dir = site.dir().join("by-hand");
    fs::create_dir_all(&dir).unwrap();
    let rpc = format!("{}:{RPC_PORT}", site.block().address(3));
    let mut command = Command::new("by-hand", program.clone(), &dir);
    command.args = [
        "-regtest".to_owned(),
        format!("-datadir={}", dir.display()),
        format!("-rpcbind={rpc}"),
        "-rpcallowip=127.0.0.0/8".to_owned(),
        "-listen=0".to_owned(),
        "-printtoconsole=0".to_owned(),
    ]
    .map(Into::into)
    .to_vec();
    let began = Instant::now();
    let process = site.spawn(command).unwrap();
    let cookie = dir.join("regtest/.cookie");
    let look = || {
        let auth = Auth::CookieFile(cookie.clone());
        let Ok(client) = Client::new(&format!("http://{rpc}"), auth) else {
            return Step::NotYet("no cookie".to_owned());
        };
        match client.get_block_count() {
            Ok(_) => Step::Done(()),
            Err(error) => Step::NotYet(error.to_string()),
        }
    };
    Wait::for_("bitcoind by hand")
        .until_pulsed(look, |_| {
            let _ = process.wait_exit(Duration::from_millis(2));
            true
        })
        .unwrap();
    let took = began.elapsed();
    process.kill().unwrap();
    fs::remove_dir_all(&dir).unwrap();
    took
}

/// When bitcoind wrote the first line of its log that has these words.
fn logged(chain: &Chain, words: &str) -> SystemTime {
    let line = chain.log().find(Mark::START, words).unwrap();
    let line = line.unwrap_or_else(|| panic!("{words} is not in the log"));
    let stamp = line.split(' ').next().unwrap();
    humantime::parse_rfc3339(stamp).unwrap()
}

fn print_median(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let (middle, last) = (times.len() / 2, times.len() - 1);
    let median = (times[middle] + times[last - middle]) / 2;
    println!(
        "{what:30} {median:>8.1?}  ({:.1?}-{:.1?})",
        times[0], times[last]
    );
}

/// Prints figures, asserts nothing:
/// `TEST_DIR=/dev/shm cargo test -p boltwright --test chain_start -- --ignored --nocapture how_long`
#[test]
#[ignore = "measures, asserts nothing"]
fn how_long_a_chain_takes_to_be_ready() {
    const STEPS: [(&str, &str); 5] = [
        ("  --version, copy, exec", "Bitcoin .* version"),
        ("  its random numbers", "additional entropy"),
        ("  its RPC is up", "Starting HTTP server"),
        ("  all loaded", "Done loading"),
        ("  answered, one block mined", "UpdateTip"),
    ];
    let program = SEARCH.find().unwrap();
    on_a_chain(|_| {});
    let (mut sites, mut ready, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
    let mut steps = STEPS.map(|_| Vec::new());
    for _ in 0..20 {
        let began = Instant::now();
        in_a_site(|site| {
            sites.push(began.elapsed());
            let (began, mut then) = (Instant::now(), SystemTime::now());
            let chain = Chain::start(site, ChainOptions::default()).unwrap();
            ready.push(began.elapsed());
            for ((_, words), times) in STEPS.iter().zip(&mut steps) {
                let now = logged(&chain, words);
                times.push(now.duration_since(then).unwrap_or_default());
                then = now;
            }
            chain.kill().unwrap();
        });
        in_a_site(|site| by_hand.push(start_by_hand(site, &program)));
    }
    println!("medians of 20 interleaved runs (least-most)");
    print_median("bare bitcoind by hand", by_hand);
    print_median("a site opened", sites);
    print_median("chain ready", ready);
    for ((what, _), times) in STEPS.into_iter().zip(steps) {
        print_median(what, times);
    }
}
