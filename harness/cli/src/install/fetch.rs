//! One file over HTTP, to disk, against a pinned SHA-256.

use super::{Cause, Ui};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{Read, Write},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

/// How long a server may take. A machine without internet must learn so within seconds, for
/// another source is waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// To find the address of the host.
    pub resolve: Duration,
    /// To connect, over all of its addresses.
    pub connect: Duration,
    /// To begin to answer.
    pub answer: Duration,
    /// Between two pieces of the file.
    pub piece: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            resolve: Duration::from_secs(2),
            connect: Duration::from_secs(3),
            answer: Duration::from_secs(10),
            piece: Duration::from_secs(20),
        }
    }
}

/// No archive of bitcoind is as large as that; a server without end must not fill the disk.
const LIMIT: u64 = 512 << 20;

type Piece = Result<Vec<u8>, String>;

/// Downloads `url` to `path` and checks its sum. On an error the file is worthless; it lies in a
/// staging folder that is removed.
pub(super) fn download(
    url: &str,
    path: &Path,
    sha256: &str,
    patience: Patience,
    ui: &Ui,
) -> Result<(), Cause> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_resolve(Some(patience.resolve))
        .timeout_connect(Some(patience.connect))
        .timeout_recv_response(Some(patience.answer))
        .user_agent(concat!("boltwright/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let response = agent.get(url).call().map_err(|source| Cause::Http {
        url: url.to_owned(),
        source: Box::new(source),
    })?;
    let total = response.body().content_length();
    let mut file = File::create_new(path).map_err(Cause::disk("create", path))?;
    let mut sum = Sha256::new();
    let mut done = 0;
    let broken = |bytes, reason: &str| Cause::Transfer {
        url: url.to_owned(),
        bytes,
        reason: reason.to_owned(),
    };
    let pieces = in_pieces(response.into_body().into_reader());
    loop {
        let piece = match pieces.recv_timeout(patience.piece) {
            Ok(Ok(piece)) => piece,
            Ok(Err(reason)) => return Err(broken(done, &reason)),
            Err(RecvTimeoutError::Timeout) => {
                let waited = patience.piece.as_secs_f32();
                return Err(broken(done, &format!("nothing came for {waited} s")));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        done += piece.len() as u64;
        if done > LIMIT {
            return Err(broken(done, "it is larger than any bitcoind"));
        }
        sum.update(&piece);
        file.write_all(&piece).map_err(Cause::disk("write", path))?;
        ui.bytes(done, total);
    }
    if total.is_some_and(|total| total != done) {
        return Err(broken(done, "the server closed the connection"));
    }
    let found = hex(&sum.finalize());
    if found != sha256 {
        return Err(Cause::Checksum {
            url: url.to_owned(),
            expected: sha256.to_owned(),
            found,
        });
    }
    Ok(())
}

/// Reads on a thread of its own, so that a connection that stalls without closing is noticed:
/// the HTTP client has a deadline for a whole body, none for the pause between two reads.
/// A stalled thread ends with the process, or when its connection does.
fn in_pieces(mut body: impl Read + Send + 'static) -> Receiver<Piece> {
    let (pieces, received): (SyncSender<Piece>, _) = sync_channel(8);
    thread::spawn(move || {
        loop {
            let mut piece = vec![0; 128 << 10];
            let read = body.read(&mut piece);
            let sent = match read {
                Ok(0) => break,
                Ok(length) => {
                    piece.truncate(length);
                    pieces.send(Ok(piece))
                }
                Err(error) => {
                    let _ = pieces.send(Err(error.to_string()));
                    break;
                }
            };
            if sent.is_err() {
                break;
            }
        }
    });
    received
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
