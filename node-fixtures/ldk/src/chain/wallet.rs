//! The node's on-chain funds: one wallet of its own inside bitcoind.
//!
//! Coins for a funding transaction are locked in the wallet when it is built, so that
//! openings that run at the same time never spend the same coin; a failed opening unlocks
//! them. The locks live in bitcoind, which outlives this process, so a start clears them.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::address::NetworkUnchecked;
use bitcoin::hashes::Hash as _;
use bitcoin::{
    Address, Amount, Network, OutPoint, Psbt, ScriptBuf, Transaction, Txid, WPubkeyHash,
    WitnessProgram, consensus,
};
use bitcoincore_rpc::jsonrpc::base64;
use lightning::events::bump_transaction::Utxo;
use lightning::events::bump_transaction::sync::WalletSourceSync;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Bitcoind, ChainError, code, decode};
use super::fees::FixedFees;
use crate::log::{Log, log_at};
use crate::options::Options;

/// How often, and after which pause, to look for a wallet that is being loaded.
const LOAD_TRIES: u32 = 40;
const LOAD_AGAIN: Duration = Duration::from_millis(25);

/// What the wallet holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnchainBalance {
    pub confirmed: Amount,
    pub unconfirmed: Amount,
}

pub(crate) struct Wallet {
    name: String,
    node: Arc<Bitcoind>,
    wallet: Bitcoind,
    log: Arc<Log>,
}

impl Wallet {
    /// Opens the node's wallet: loads it, or makes it if there is none.
    pub(crate) fn open(
        node: Arc<Bitcoind>,
        options: &Options,
        log: Arc<Log>,
    ) -> Result<Self, ChainError> {
        let wallet = Wallet {
            name: options.bitcoind_wallet.clone(),
            wallet: Bitcoind::wallet(options),
            node,
            log,
        };
        wallet.load()?;
        // Locks of openings that a killed process had under way. The wallet is this node's
        // alone, so nobody else's are among them.
        wallet.call::<Value>("lockunspent", &[json!(true)])?;
        Ok(wallet)
    }

    fn load(&self) -> Result<(), ChainError> {
        let mut tries = 0;
        loop {
            if self.call_once::<Value>("getwalletinfo", &[]).is_ok() {
                return Ok(());
            }
            let loaded = self.node.call::<Value>("loadwallet", &[json!(self.name)]);
            match loaded {
                Ok(_) => return Ok(()),
                Err(error) if error.code() == Some(code::WALLET_NOT_FOUND) => {
                    return self.create();
                }
                // Another thread of ours, or another program, is loading it right now.
                Err(error)
                    if tries < LOAD_TRIES
                        && [code::WALLET_ALREADY_LOADED, code::WALLET_ERROR]
                            .map(Some)
                            .contains(&error.code()) =>
                {
                    tries += 1;
                    std::thread::sleep(LOAD_AGAIN);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// How fast this is depends on bitcoind's `-keypool`: a new wallet derives that many
    /// keys for each address type.
    fn create(&self) -> Result<(), ChainError> {
        log_at!(self.log, Info, "creating wallet {} in bitcoind", self.name);
        let made = self.node.call::<Value>("createwallet", &[json!(self.name)]);
        match made {
            Ok(_) => Ok(()),
            // Made by someone else between the two calls.
            Err(error) if error.code() == Some(code::WALLET_ERROR) => {
                self.call_once::<Value>("getwalletinfo", &[]).map(drop)
            }
            Err(error) => Err(error),
        }
    }

    fn call_once<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: &[Value],
    ) -> Result<T, ChainError> {
        self.wallet.call(method, params)
    }

    /// Makes a wallet call; a bitcoind that was restarted has to load the wallet first.
    fn call<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: &[Value],
    ) -> Result<T, ChainError> {
        match self.call_once(method, params) {
            Err(error) if error.code() == Some(code::WALLET_NOT_FOUND) => {
                self.load()?;
                self.call_once(method, params)
            }
            answer => answer,
        }
    }

    /// A new bech32 address.
    pub(crate) fn new_address(&self) -> Result<Address, ChainError> {
        // Some builds of bitcoind default to legacy addresses, which cannot fund a channel.
        let address: Address<NetworkUnchecked> =
            self.call("getnewaddress", &[json!(""), json!("bech32")])?;
        address
            .require_network(Network::Regtest)
            .map_err(|error| ChainError::Nonsense {
                method: "getnewaddress".to_owned(),
                why: error.to_string(),
            })
    }

    /// The witness program of a new address.
    pub(crate) fn new_witness_program(&self) -> Result<WitnessProgram, ChainError> {
        let address = self.new_address()?;
        address
            .witness_program()
            .ok_or_else(|| ChainError::Nonsense {
                method: "getnewaddress".to_owned(),
                why: format!("{address} is not bech32"),
            })
    }

    pub(crate) fn balance(&self) -> Result<OnchainBalance, ChainError> {
        #[derive(Deserialize)]
        struct Balances {
            mine: Mine,
        }
        #[derive(Deserialize)]
        struct Mine {
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            trusted: Amount,
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            untrusted_pending: Amount,
        }
        let balances: Balances = self.call("getbalances", &[])?;
        // "Trusted" counts our own unconfirmed change; what has a block behind it is asked
        // for apart.
        let confirmed: f64 = self.call("getbalance", &[json!("*"), json!(1)])?;
        let confirmed = Amount::from_btc(confirmed).map_err(|error| ChainError::Nonsense {
            method: "getbalance".to_owned(),
            why: error.to_string(),
        })?;
        let confirmed = confirmed.min(balances.mine.trusted);
        Ok(OnchainBalance {
            confirmed,
            unconfirmed: balances.mine.trusted - confirmed + balances.mine.untrusted_pending,
        })
    }

    /// Builds and signs a transaction that pays `amount` to `script`, and locks its coins.
    pub(crate) fn fund(
        &self,
        script: &ScriptBuf,
        amount: Amount,
        fees: &FixedFees,
    ) -> Result<Transaction, ChainError> {
        let address = Address::from_script(script, Network::Regtest).map_err(|error| {
            ChainError::Nonsense {
                method: "walletcreatefundedpsbt".to_owned(),
                why: error.to_string(),
            }
        })?;
        #[derive(Deserialize)]
        struct Funded {
            psbt: String,
        }
        let funded: Funded = self.call(
            "walletcreatefundedpsbt",
            &[
                json!([]),
                json!([{ address.to_string(): amount.to_btc() }]),
                json!(0),
                json!({
                    "lockUnspents": true,
                    "fee_rate": fees.sat_per_vb(),
                    "change_type": "bech32",
                    // The funding txid must not change once the channel exists.
                    "replaceable": false,
                }),
            ],
        )?;
        let transaction = self.sign(&funded.psbt);
        if transaction.is_err() {
            self.unlock_psbt(&funded.psbt);
        }
        transaction
    }

    fn sign(&self, psbt: &str) -> Result<Transaction, ChainError> {
        #[derive(Deserialize)]
        struct Processed {
            psbt: String,
            complete: bool,
        }
        #[derive(Deserialize)]
        struct Finalised {
            hex: Option<String>,
        }
        let processed: Processed = self.call("walletprocesspsbt", &[json!(psbt)])?;
        let nonsense = |why: &str| ChainError::Nonsense {
            method: "walletprocesspsbt".to_owned(),
            why: why.to_owned(),
        };
        if !processed.complete {
            return Err(nonsense("the wallet could not sign its own coins"));
        }
        let finalised: Finalised = self.node.call("finalizepsbt", &[json!(processed.psbt)])?;
        let hex = finalised
            .hex
            .ok_or_else(|| nonsense("the signed transaction is not complete"))?;
        decode("finalizepsbt", &hex)
    }

    /// Unlocks the coins of a transaction that will not be broadcast.
    pub(crate) fn unlock(&self, transaction: &Transaction) {
        let coins: Vec<Value> = transaction
            .input
            .iter()
            .map(|input| {
                json!({ "txid": input.previous_output.txid, "vout": input.previous_output.vout })
            })
            .collect();
        if let Err(error) = self.call::<Value>("lockunspent", &[json!(true), json!(coins)]) {
            log_at!(
                self.log,
                Warn,
                "the coins of a failed opening stay locked: {error}"
            );
        }
    }

    fn confirmed_coins(&self) -> Result<Vec<Utxo>, ChainError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Coin {
            txid: Txid,
            vout: u32,
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            amount: Amount,
            script_pub_key: ScriptBuf,
        }
        let coins: Vec<Coin> = self.call("listunspent", &[json!(1)])?;
        Ok(coins
            .into_iter()
            .filter_map(|coin| {
                let program = coin.script_pub_key.as_bytes().get(2..)?;
                let key = WPubkeyHash::from_slice(program).ok()?;
                coin.script_pub_key.is_p2wpkh().then(|| {
                    Utxo::new_v0_p2wpkh(OutPoint::new(coin.txid, coin.vout), coin.amount, &key)
                })
            })
            .collect())
    }

    fn unlock_psbt(&self, psbt: &str) {
        let psbt = base64::decode(psbt)
            .ok()
            .and_then(|bytes| Psbt::deserialize(&bytes).ok());
        if let Some(psbt) = psbt {
            self.unlock(&psbt.unsigned_tx);
        }
    }
}

/// The coins that pay for bumping a transaction with anchors.
impl WalletSourceSync for Wallet {
    fn list_confirmed_utxos(&self) -> Result<Vec<Utxo>, ()> {
        self.confirmed_coins().map_err(|error| {
            log_at!(
                self.log,
                Warn,
                "cannot list coins to bump a transaction with: {error}"
            );
        })
    }

    fn get_change_script(&self) -> Result<ScriptBuf, ()> {
        self.new_address()
            .map(|address| address.script_pubkey())
            .map_err(|error| {
                log_at!(
                    self.log,
                    Warn,
                    "no change address to bump a transaction with: {error}"
                );
            })
    }

    fn sign_psbt(&self, psbt: Psbt) -> Result<Transaction, ()> {
        // The psbt has foreign inputs (the anchor, HTLCs), which LDK signs afterwards.
        #[derive(Deserialize)]
        struct Signed {
            hex: String,
        }
        let unsigned = consensus::encode::serialize_hex(&psbt.unsigned_tx);
        let previous: Vec<Value> = psbt
            .unsigned_tx
            .input
            .iter()
            .zip(&psbt.inputs)
            .filter_map(|(input, known)| {
                let output = known.witness_utxo.as_ref()?;
                Some(json!({
                    "txid": input.previous_output.txid,
                    "vout": input.previous_output.vout,
                    "scriptPubKey": output.script_pubkey.to_hex_string(),
                    "amount": output.value.to_btc(),
                }))
            })
            .collect();
        self.call(
            "signrawtransactionwithwallet",
            &[json!(unsigned), json!(previous)],
        )
        .and_then(|signed: Signed| decode("signrawtransactionwithwallet", &signed.hex))
        .map_err(|error| {
            log_at!(self.log, Warn, "cannot sign a bumping transaction: {error}");
        })
    }
}
