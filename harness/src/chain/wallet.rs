//! Wallets: who has coins and pays with them.
use super::{Chain, Error, code, daemon::Daemon, rpc::Rpc, starting::LAB};
use bitcoin::{Address, Amount, Denomination, FeeRate, Network, Txid, address::NetworkUnchecked};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// 10 sat/vB: what wallets pay unless told otherwise: ten times what is relayed at all, so that nothing gets
/// stuck, and a fixed rate, so that no estimate changes it.
pub(super) const FEERATE: FeeRate = FeeRate::from_sat_per_kwu(2_500);

/// One of bitcoind's wallets. A cheap handle.
#[derive(Debug, Clone)]
pub struct Wallet {
    chain: Chain,
    name: String,
    rpc: Arc<Rpc>,
}

/// What a wallet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Balances {
    /// Confirmed, or change of its own payments: what it can spend.
    pub spendable: Amount,
    /// Received, but not confirmed yet.
    pub pending: Amount,
    /// Mined, but not yet a hundred blocks deep.
    pub immature: Amount,
}

impl Wallet {
    pub(super) fn new(chain: &Chain, name: &str) -> Wallet {
        Wallet {
            chain: chain.clone(),
            name: name.to_owned(),
            rpc: Arc::new(chain.inner.daemon.wallet_rpc(name)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client of `bitcoincore-rpc`, for typed calls to this wallet.
    pub fn rpc(&self) -> &bitcoincore_rpc::Client {
        self.rpc.client()
    }

    /// Calls any method for this wallet, with positional parameters.
    ///
    /// # Errors
    /// [`Error::Rpc`] with bitcoind's code and message if it refuses.
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: &[Value]) -> Result<T, Error> {
        self.rpc.call(method, params)
    }

    /// A fresh address, bech32 (P2WPKH).
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn address(&self) -> Result<Address, Error> {
        let address: Address<NetworkUnchecked> = self.call("getnewaddress", &[])?;
        address
            .require_network(Network::Regtest)
            .map_err(|problem| Error::Answer {
                call: "getnewaddress".to_owned(),
                problem: problem.to_string(),
                answer: "an address of another network".to_owned(),
                log: self.chain.log().path().to_owned(),
            })
    }

    /// What it can spend.
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn balance(&self) -> Result<Amount, Error> {
        Ok(self.balances()?.spendable)
    }

    /// What it holds.
    ///
    /// # Errors
    /// When bitcoind cannot be asked.
    pub fn balances(&self) -> Result<Balances, Error> {
        #[derive(Deserialize)]
        struct All {
            mine: Mine,
        }
        #[derive(Deserialize)]
        struct Mine {
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            trusted: Amount,
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            untrusted_pending: Amount,
            #[serde(with = "bitcoin::amount::serde::as_btc")]
            immature: Amount,
        }
        let All { mine } = self.call("getbalances", &[])?;
        Ok(Balances {
            spendable: mine.trusted,
            pending: mine.untrusted_pending,
            immature: mine.immature,
        })
    }

    /// Pays; the transaction is in the mempool when this returns.
    ///
    /// # Errors
    /// When the wallet has too little, or bitcoind refuses otherwise.
    pub fn send(&self, address: &Address, amount: Amount) -> Result<Txid, Error> {
        self.send_many(&[(address.clone(), amount)])
    }

    /// Makes all these payments in one transaction, which is in the mempool when this returns.
    /// The addresses must differ from one another.
    ///
    /// # Errors
    /// When the wallet has too little, or bitcoind refuses otherwise.
    pub fn send_many(&self, outputs: &[(Address, Amount)]) -> Result<Txid, Error> {
        let mut amounts = Map::new();
        for (address, amount) in outputs {
            let amount = amount.to_string_in(Denomination::Bitcoin);
            if amounts.insert(address.to_string(), json!(amount)).is_some() {
                return Err(Error::Rpc {
                    call: "sendmany".to_owned(),
                    code: -8,
                    message: format!("duplicated address: {address}"),
                    log: self.chain.log().path().to_owned(),
                });
            }
        }
        // From the third on: confirmations of what is spent, a comment, who pays the fee,
        // replaceable, target, mode, sat/vB.
        self.call(
            "sendmany",
            &[
                json!(""),
                Value::Object(amounts),
                Value::Null,
                json!(""),
                json!([]),
                json!(true),
                Value::Null,
                Value::Null,
                json!(sat_per_vb(self.chain.feerate())),
            ],
        )
    }
}

impl Chain {
    /// Pays from the lab's wallet; the transaction is in the mempool when this returns.
    ///
    /// # Errors
    /// When the wallet has too little, or bitcoind refuses otherwise.
    pub fn fund(&self, address: &Address, amount: Amount) -> Result<Txid, Error> {
        self.wallet(LAB)?.send(address, amount)
    }

    /// Makes all these payments from the lab's wallet in *one* transaction, which is in the
    /// mempool when this returns. The addresses must differ from one another.
    ///
    /// # Errors
    /// When the wallet has too little, or bitcoind refuses otherwise.
    pub fn fund_many(&self, outputs: &[(Address, Amount)]) -> Result<Txid, Error> {
        self.wallet(LAB)?.send_many(outputs)
    }

    /// Pays from the lab's wallet and mines one block, which confirms it (and whatever else is in
    /// the mempool).
    ///
    /// # Errors
    /// When the wallet has too little, or bitcoind refuses otherwise.
    pub fn send_and_mine(&self, address: &Address, amount: Amount) -> Result<Txid, Error> {
        let txid = self.fund(address, amount)?;
        self.mine(1)?;
        Ok(txid)
    }
}

/// Loads the wallet if it is stored, else creates it.
pub(super) fn open(daemon: &Daemon, name: &str) -> Result<(), Error> {
    // To bitcoind it is a path, which may lead out of the lab's directory.
    let problem = match name {
        "" | "." | ".." => Some("a wallet needs a name"),
        _ if name.contains('/') => Some("a wallet's name is no path"),
        _ => None,
    };
    if let Some(problem) = problem {
        let name = name.to_owned();
        return Err(Error::Wallet { name, problem });
    }
    #[derive(Deserialize)]
    struct Stored {
        wallets: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
    }
    let stored: Stored = daemon.rpc().call("listwalletdir", &[])?;
    let opened = if stored.wallets.iter().any(|entry| entry.name == name) {
        daemon.rpc().call::<Value>("loadwallet", &[json!(name)])
    } else {
        daemon.rpc().call::<Value>("createwallet", &[json!(name)])
    };
    match opened {
        // A test that speaks to bitcoind itself may have loaded it.
        Err(Error::Rpc { code, .. }) if code == code::WALLET_ALREADY_LOADED => Ok(()),
        other => other.map(drop),
    }
}

/// In bitcoind's unit, which has three decimals.
fn sat_per_vb(feerate: FeeRate) -> String {
    let thousandths = feerate.to_sat_per_kwu() * 4;
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feerate_is_given_in_sat_per_virtual_byte() {
        assert_eq!(sat_per_vb(FEERATE), "10.000");
        assert_eq!(sat_per_vb(FeeRate::from_sat_per_kwu(253)), "1.012");
    }
}
