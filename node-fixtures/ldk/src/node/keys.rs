//! The node's keys, all derived from one seed.
//!
//! LDK's `KeysManager` does the deriving. This wraps it in one point: what a closed channel
//! pays us goes straight to the bitcoind wallet, so a cooperative close needs no sweep.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bitcoin::hex::{DisplayHex as _, FromHex as _};
use bitcoin::{ScriptBuf, WitnessProgram};
use lightning::ln::script::ShutdownScript;
use lightning::sign::{
    ChangeDestinationSourceSync, EntropySource as _, InMemorySigner, KeysManager, SignerProvider,
};

/// A seed that cannot be read, made or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedError {
    #[error("the seed file {} cannot be used: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the seed file {} is damaged: expected 64 hexadecimal digits", .0.display())]
    Damaged(PathBuf),
    #[error("--seed differs from the seed in {}: this directory belongs to another node", .0.display())]
    Differs(PathBuf),
}

/// Reads the seed in `data_dir`, or saves `given`, or makes one.
pub(crate) fn seed(data_dir: &Path, given: Option<[u8; 32]>) -> Result<[u8; 32], SeedError> {
    let path = data_dir.join("seed");
    let file_error = |source| SeedError::File {
        path: path.clone(),
        source,
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let saved =
                <[u8; 32]>::from_hex(text.trim()).map_err(|_| SeedError::Damaged(path.clone()))?;
            match given {
                Some(given) if given != saved => Err(SeedError::Differs(path)),
                _ => Ok(saved),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let seed = match given {
                Some(seed) => seed,
                None => random().map_err(file_error)?,
            };
            save(&path, &seed).map_err(file_error)?;
            Ok(seed)
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(SeedError::Damaged(path))
        }
        Err(error) => Err(file_error(error)),
    }
}

/// 32 bytes from the kernel.
pub(crate) fn random() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The file is there in full or not at all, whenever the process ends.
fn save(path: &Path, seed: &[u8; 32]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let draft = path.with_extension("new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    writeln!(file, "{}", seed.to_lower_hex_string())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

/// Signers for channels, and the script that channels pay to.
///
/// LDK asks for that script while it holds locks, when no call to bitcoind should be made, so
/// one address of the wallet is fetched at the start and serves all channels of this run.
pub(crate) struct Keys {
    pub manager: Arc<KeysManager>,
    home: WitnessProgram,
}

impl Keys {
    pub(crate) fn new(manager: Arc<KeysManager>, home: WitnessProgram) -> Self {
        Keys { manager, home }
    }

    fn home_script(&self) -> ScriptBuf {
        ScriptBuf::new_witness_program(&self.home)
    }

    /// Whether a script is one that only LDK's own key can spend, so that it needs a sweep.
    pub(crate) fn is_own_script(&self, script: &ScriptBuf) -> bool {
        // KeysManager has one destination and one shutdown script, whatever the channel.
        let destination = self.manager.get_destination_script([0; 32]);
        let shutdown = self.manager.get_shutdown_scriptpubkey();
        destination.is_ok_and(|own| own == *script)
            || shutdown.is_ok_and(|own| own.into_inner() == *script)
    }

    /// Random bytes for a payment id and the like.
    pub(crate) fn random_bytes(&self) -> [u8; 32] {
        self.manager.get_secure_random_bytes()
    }
}

impl SignerProvider for Keys {
    type EcdsaSigner = InMemorySigner;

    fn generate_channel_keys_id(&self, inbound: bool, user_channel_id: u128) -> [u8; 32] {
        self.manager
            .generate_channel_keys_id(inbound, user_channel_id)
    }

    fn derive_channel_signer(&self, channel_keys_id: [u8; 32]) -> InMemorySigner {
        self.manager.derive_channel_signer(channel_keys_id)
    }

    fn get_destination_script(&self, _channel_keys_id: [u8; 32]) -> Result<ScriptBuf, ()> {
        Ok(self.home_script())
    }

    fn get_shutdown_scriptpubkey(&self) -> Result<ShutdownScript, ()> {
        ShutdownScript::new_witness_program(&self.home).map_err(drop)
    }
}

impl ChangeDestinationSourceSync for Keys {
    fn get_change_destination_script(&self) -> Result<ScriptBuf, ()> {
        Ok(self.home_script())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_kept_and_another_one_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = seed(dir.path(), None).expect("makes one");
        assert_eq!(seed(dir.path(), None).expect("reads it"), made);
        assert_eq!(seed(dir.path(), Some(made)).expect("the same"), made);
        assert!(matches!(
            seed(dir.path(), Some([7; 32])),
            Err(SeedError::Differs(_))
        ));
        std::fs::write(dir.path().join("seed"), "nonsense").expect("writes");
        assert!(matches!(seed(dir.path(), None), Err(SeedError::Damaged(_))));
    }
}
