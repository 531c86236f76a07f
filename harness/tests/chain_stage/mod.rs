//! What the chain's tests share: a site to stand on, and a chain in it.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]
use boltwright::{
    chain::{Chain, ChainOptions},
    host::Site,
};
use std::sync::Arc;

/// Runs a test in a site of its own, which goes when the test passes and stays when it panics.
pub fn in_a_site(test: impl FnOnce(&Arc<Site>)) {
    let site = Arc::new(Site::open().unwrap());
    test(&site);
    Arc::into_inner(site).unwrap().remove().unwrap();
}

/// Runs a test on a chain of its own.
pub fn on_a_chain(test: impl FnOnce(&Chain)) {
    on_a_chain_with(ChainOptions::default(), test);
}

/// Runs a test on a chain of its own, with these options.
pub fn on_a_chain_with(options: ChainOptions, test: impl FnOnce(&Chain)) {
    in_a_site(|site| test(&Chain::start(site, options).unwrap()));
}
