//! The official Bitcoin Core release: one archive, one pinned SHA-256.

use super::{
    Cause, Provider, Ui,
    fetch::{self, Patience},
    place::{Place, Receipt},
    unpack,
};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

// A symbolic link to node-fixtures/bitcoind/core.json, so that the packaged crate has it too.
const PINS: &str = include_str!("core.json");

/// The release that is pinned.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Official {
    /// `29.4`.
    pub version: String,
    /// The folder that holds the archives, as a URL.
    pub base: String,
    /// By platform: `x86_64-linux-gnu`.
    pub archives: BTreeMap<String, Archive>,
    /// How long the server may take.
    #[serde(skip)]
    pub patience: Patience,
}

/// One pinned file.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Archive {
    /// Its name.
    pub file: String,
    /// Its sum, in lower case.
    pub sha256: String,
}

impl Official {
    /// The release of `node-fixtures/bitcoind/core.json`, from another server if one is named.
    #[expect(clippy::expect_used, reason = "a test reads the same constant")]
    pub(super) fn pinned(mirror: Option<&str>) -> Self {
        let mut pinned: Self = serde_json::from_str(PINS).expect("core.json is well formed");
        if let Some(base) = mirror {
            pinned.base = base.to_owned();
        }
        pinned
    }
}

impl Provider for Official {
    fn name(&self) -> String {
        format!("the official release {}", self.version)
    }

    fn word(&self) -> &'static str {
        "official"
    }

    fn build(&self, stage: &Path, _place: &Place, ui: &Ui) -> Result<Receipt, Cause> {
        let platform = platform();
        let Some(Archive { file, sha256 }) = self.archives.get(&platform) else {
            return Err(Cause::Platform { platform });
        };
        let url = format!("{}/{file}", self.base.trim_end_matches('/'));
        let archive = stage.join("archive.tar.gz");
        ui.step(&format!("downloading {url}"));
        fetch::download(&url, &archive, sha256, self.patience, ui)?;
        ui.step(&format!("unpacking {file}"));
        unpack::programs(&archive, &stage.join("prefix"))?;
        Ok(Receipt {
            version: self.version.clone(),
            source: self.word().to_owned(),
            from: format!("Bitcoin Core {}, official release", self.version),
            url,
            checked: format!("SHA-256 {sha256}"),
            packages: Vec::new(),
        })
    }
}

/// This machine as Bitcoin Core's archives call it.
pub(super) fn platform() -> String {
    let libc = if cfg!(target_os = "linux") && cfg!(target_env = "musl") {
        "linux-musl"
    } else if cfg!(target_os = "linux") {
        "linux-gnu"
    } else {
        std::env::consts::OS
    };
    format!("{}-{libc}", std::env::consts::ARCH)
}
