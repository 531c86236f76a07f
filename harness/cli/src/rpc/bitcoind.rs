//! A call to a lab's bitcoind.

use crate::error::{Error, Result};
use boltwright::chain::bitcoincore_rpc::jsonrpc;
use boltwright::lab::Description;
use jsonrpc::simple_http::SimpleHttpTransport;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A raw call may be one that waits.
const LONGEST: Duration = Duration::from_secs(3600);

/// Calls any method; wallet calls are for `wallet`.
pub(super) fn call(
    dir: &Path,
    lab: &Description,
    wallet: &str,
    method: &str,
    params: Value,
) -> Result<Value> {
    let Some(bitcoind) = &lab.bitcoind else {
        return Err(Error::Failed(format!(
            "bitcoind of the lab {} is not ready yet",
            dir.display()
        )));
    };
    let path = dir.join(&bitcoind.cookie);
    let cookie =
        std::fs::read_to_string(&path).map_err(Error::file("read bitcoind's cookie", &path))?;
    let failed = |problem: String| Error::Failed(format!("bitcoind: {method}: {problem}"));
    let (user, password) = cookie.split_once(':').unwrap_or((&cookie, ""));
    let url = format!("http://{}/wallet/{wallet}", bitcoind.rpc);
    let transport = SimpleHttpTransport::builder()
        .timeout(LONGEST)
        .auth(user, Some(password))
        .url(&url)
        .map_err(|error| failed(error.to_string()))?
        .build();
    let client = jsonrpc::Client::with_transport(transport);
    let params =
        serde_json::value::to_raw_value(&params).map_err(|error| failed(error.to_string()))?;
    client
        .call(method, Some(&params))
        .map_err(|error| match error {
            jsonrpc::Error::Rpc(refused) => {
                failed(format!("{} (code {})", refused.message, refused.code))
            }
            other => failed(format!("{other}; is the lab still running?")),
        })
}
