//! What a test and its keeper say to each other: one JSON object a line, over a Unix socket.
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
};

/// What a test asks of its keeper. There is no "end": the socket's end-of-file is that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Spawn(Box<Order>),
    Signal {
        id: u64,
        /// The id of the order that started the process.
        process: u64,
        signal: i32,
        to: Target,
    },
}

/// Whom a signal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Target {
    /// The process alone.
    Process,
    /// All of its process group, as far as it lives, also when the process itself is gone.
    Group,
}

/// A process to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Its name from here on.
    pub id: u64,
    pub program: PathBuf,
    /// Start this very binary instead of `program`.
    pub role: bool,
    pub argv0: OsString,
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    pub dir: PathBuf,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

/// What a keeper tells its test.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// The first words: ready, and this is the leased block's number.
    Ready { block: u32 },
    /// The first words: not ready, and why. The keeper exits.
    NoLease(String),
    /// An order was carried out.
    Spawned { id: u64, pid: u32 },
    /// An order failed at this step.
    Refused { id: u64, step: Step, errno: i32 },
    /// A signal went out to this many processes.
    Signalled { id: u64, reached: usize },
    /// A process that was ordered has ended and was reaped; its wait status.
    Exited { process: u64, status: i32 },
    /// A bug: the keeper panicked. It kills all and exits.
    Panicked(String),
}

/// The steps of starting a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Stdout,
    Stderr,
    Start,
}

/// Writes one message.
pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

/// Bytes as they came in, cut into messages.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<io::Result<T>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let message = self.bytes.get(..end).map(serde_json::from_slice);
        self.bytes.drain(..=end);
        Some(message?.map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Read, os::unix::ffi::OsStringExt};

    #[test]
    fn an_order_with_bytes_that_are_no_text_arrives_as_it_was_sent() {
        let odd = OsString::from_vec(vec![0xff, b'\n', b'"']);
        let order = Order {
            id: 3,
            program: "/bin/true".into(),
            role: false,
            argv0: "true".into(),
            args: vec![odd.clone()],
            env: vec![("A".into(), odd.clone())],
            dir: "/".into(),
            stdout: "out".into(),
            stderr: "err".into(),
        };
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        send(&ours, &Request::Spawn(Box::new(order))).unwrap();
        drop(ours);
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        let mut inbox = Inbox::default();
        // Byte by byte, as a socket may deliver it.
        let mut got = None;
        for byte in bytes {
            assert!(got.is_none());
            inbox.push(&[byte]);
            got = inbox.next::<Request>();
        }
        let Some(Ok(Request::Spawn(order))) = got else {
            panic!("{got:?}")
        };
        assert_eq!(order.args.first(), Some(&odd));
        assert_eq!(order.env, [("A".into(), odd)]);
    }
}
