//! The starting chain: mined once, the same everywhere.
//!
//! Its keys, its clock and its transactions are fixed, so that it is the same chain, hash for
//! hash, whoever mines it. Only what a lab mines on top tells one lab from another.
use super::{Error, daemon::Daemon, launch::Launch, mine::Tip, mine::anyones_address};
use bitcoin::{
    Address, Amount, BlockHash, Network, OutPoint, Sequence, Transaction, TxIn, TxOut, Txid,
    absolute::LockTime, address::NetworkUnchecked, bip32::Xpriv, consensus::encode,
    transaction::Version,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// The wallet that pays for everything.
pub(super) const LAB: &str = "lab";

/// Raised whenever the starting chain, or how it is stored, becomes another.
pub(super) const FORMAT: u32 = 1;

/// When it was "mined": 2024-01-01, and never in the future.
const TIME: Duration = Duration::from_secs(1_704_067_200);
/// The seed of the lab wallet's keys. Its coins are worth nothing.
const SEED: [u8; 32] = *b"boltwright: coins worth nothing.";

/// Coins of 50 BTC, one block each.
const LARGE: u32 = 40;
/// So many more of 50 BTC are divided…
const DIVIDED: u32 = 20;
/// …into coins of 5 BTC: enough for a channel or a node's wallet each.
const SMALL: u32 = 200;
/// How deep a coinbase must lie under the block that spends it.
const MATURITY: u32 = 100;
/// For dividing them, taken from the last small coin: above the relay fee for its 8 kvB.
const FEE: Amount = Amount::from_sat(10_000);

/// Mines it in `daemon`'s still empty directory, checks it, and leaves bitcoind stopped.
pub(super) fn mine(daemon: &Daemon, launch: &Launch) -> Result<Tip, Error> {
    let launch = Launch {
        wallets: Vec::new(),
        mock: Some(UNIX_EPOCH + TIME),
        ..launch.clone()
    };
    let process = daemon.start(&launch)?;
    let mined = mine_in(daemon);
    let stopped = daemon.stop(&process);
    let tip = mined?;
    stopped?;
    Ok(tip)
}

fn mine_in(daemon: &Daemon) -> Result<Tip, Error> {
    let node = daemon.rpc();
    let wallet = daemon.wallet_rpc(LAB);

    // name, without private keys: no, blank: yes.
    node.call::<Value>("createwallet", &[json!(LAB), json!(false), json!(true)])?;
    import_keys(daemon)?;
    let address: Address<NetworkUnchecked> = wallet.call("getnewaddress", &[])?;
    let address = address.assume_checked();

    let own: Vec<BlockHash> = node.call(
        "generatetoaddress",
        &[json!(LARGE + DIVIDED), json!(address.to_string())],
    )?;
    // Nobody's blocks, until the last one of those is mature.
    let nobody = anyones_address(0).to_string();
    node.call::<Value>("generatetoaddress", &[json!(MATURITY - 1), json!(nobody)])?;

    let mut coins = Vec::new();
    for hash in own.iter().take(DIVIDED as usize) {
        #[derive(Deserialize)]
        struct Block {
            tx: Vec<Txid>,
        }
        let block: Block = node.call("getblock", &[json!(hash)])?;
        coins.extend(block.tx.first().copied());
    }
    let division = divide(&coins, &address);
    #[derive(Deserialize)]
    struct Signed {
        hex: String,
    }
    let signed: Signed = wallet.call(
        "signrawtransactionwithwallet",
        &[json!(encode::serialize_hex(&division))],
    )?;
    node.call::<Txid>("sendrawtransaction", &[json!(signed.hex)])?;
    let last: Vec<BlockHash> = node.call("generatetoaddress", &[json!(1), json!(nobody)])?;

    let coins: Vec<Value> = wallet.call("listunspent", &[])?;
    if coins.len() != (LARGE + SMALL) as usize {
        return Err(Error::Prepare {
            problem: format!(
                "the wallet has {} coins, not {}",
                coins.len(),
                LARGE + SMALL
            ),
            log: daemon.log().path().to_owned(),
        });
    }
    let height = LARGE + DIVIDED + MATURITY;
    last.first()
        .map(|&hash| Tip { height, hash })
        .ok_or_else(|| Error::Prepare {
            problem: "bitcoind mined no block and said nothing".to_owned(),
            log: daemon.log().path().to_owned(),
        })
}

/// Gives the wallet its keys: BIP 84, external and change.
fn import_keys(daemon: &Daemon) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Info {
        checksum: String,
    }
    #[derive(Debug, Deserialize)]
    struct Imported {
        success: bool,
        error: Option<Value>,
    }
    let log = || daemon.log().path().to_owned();
    let master = Xpriv::new_master(Network::Regtest, &SEED).map_err(|problem| Error::Prepare {
        problem: problem.to_string(),
        log: log(),
    })?;
    let mut requests = Vec::new();
    for (branch, internal) in [(0, false), (1, true)] {
        let descriptor = format!("wpkh({master}/84h/1h/0h/{branch}/*)");
        let info: Info = daemon
            .rpc()
            .call("getdescriptorinfo", &[json!(descriptor)])?;
        requests.push(json!({
            "desc": format!("{descriptor}#{}", info.checksum),
            "active": true,
            "internal": internal,
            "range": [0, 4],
            "timestamp": "now",
        }));
    }
    let imported: Vec<Imported> = daemon
        .wallet_rpc(LAB)
        .call("importdescriptors", &[json!(requests)])?;
    match imported.iter().find(|result| !result.success) {
        None => Ok(()),
        Some(refused) => Err(Error::Prepare {
            problem: format!("the wallet refused its keys: {:?}", refused.error),
            log: log(),
        }),
    }
}

/// One transaction that makes many small coins of a few large ones. By hand, since bitcoind's own
/// calls do not pay to one address twice.
fn divide(coins: &[Txid], address: &Address) -> Transaction {
    let input = coins
        .iter()
        .map(|&txid| TxIn {
            previous_output: OutPoint { txid, vout: 0 },
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            ..TxIn::default()
        })
        .collect();
    let each = Amount::ONE_BTC * 50 * u64::from(DIVIDED) / u64::from(SMALL);
    let output = (1..=SMALL)
        .map(|number| TxOut {
            value: if number == SMALL { each - FEE } else { each },
            script_pubkey: address.script_pubkey(),
        })
        .collect();
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input,
        output,
    }
}
