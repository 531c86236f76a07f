//! Release archives of our own making: the programs in them are stubs that know `--version` only.

use sha2::{Digest, Sha256};
use std::io::Write;

/// A stub that calls itself this version.
pub fn stub(version: &str) -> String {
    format!("#!/bin/sh\necho \"Stub daemon version {version}\"\n")
}

/// An archive laid out as the official ones, with this text for both programs.
pub fn release(program: &str) -> Vec<u8> {
    let mut archive = Archive::new();
    archive.add(b"bitcoin-9.9/README.md", b'0', "", "about");
    archive.add(b"bitcoin-9.9/bin/bitcoin-cli", b'0', "", program);
    archive.add(b"bitcoin-9.9/bin/bitcoind", b'0', "", program);
    archive.add(b"bitcoin-9.9/share/man/bitcoind", b'0', "", "a page");
    archive.finish()
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes names as they are, the wicked ones too, which the `tar` crate's own builder would not.
pub struct Archive(tar::Builder<flate2::write::GzEncoder<Vec<u8>>>);

impl Archive {
    pub fn new() -> Self {
        Self(tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        )))
    }

    pub fn add(&mut self, name: &[u8], kind: u8, link: &str, text: &str) {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        header.set_cksum();
        self.0.append(&header, text.as_bytes()).expect("an entry");
    }

    pub fn finish(self) -> Vec<u8> {
        let mut gzip = self.0.into_inner().expect("an archive");
        gzip.flush().expect("an archive");
        gzip.finish().expect("an archive")
    }
}
