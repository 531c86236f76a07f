//! JSON-RPC 2.0 over the daemon's Unix socket: one object a line.

use crate::host::settings;
use crate::node::Failure;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Connections to one daemon: a call takes an idle one or makes a new one, so calls from many
/// threads do not wait for each other.
#[derive(Debug)]
pub(super) struct Rpc {
    socket: PathBuf,
    idle: Mutex<Vec<BufReader<UnixStream>>>,
    next: AtomicU64,
}

/// How long a daemon may take for what it should answer at once, at the most; `TIMEOUT` may say less.
const ANSWER: Duration = Duration::from_secs(30);

impl Rpc {
    /// Connects once, to know that somebody listens.
    pub fn connect(socket: &Path) -> Result<Rpc, Failure> {
        let rpc = Rpc {
            socket: socket.to_owned(),
            idle: Mutex::default(),
            next: AtomicU64::new(1),
        };
        let stream = rpc.dial("connect", &Value::Null)?;
        rpc.put_back(stream);
        Ok(rpc)
    }

    /// One call that is answered at once.
    pub fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        self.call_within(method, params, Duration::ZERO)
    }

    /// One call that the daemon may hold for so long before it answers.
    pub fn call_within(
        &self,
        method: &str,
        params: Value,
        longest: Duration,
    ) -> Result<Value, Failure> {
        let (mut stream, reused) = match self.take() {
            Some(stream) => (stream, true),
            None => (self.dial(method, &params)?, false),
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut request =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        request.push('\n');
        let patience = settings().map_or(ANSWER, |settings| settings.timeout.min(ANSWER));
        let unreachable = |problem: String| failure(method, &params, problem, true);
        if let Err(error) = stream.get_mut().write_all(request.as_bytes()) {
            // An idle connection may belong to a daemon that was restarted since. Nothing was
            // executed: the request was never read whole.
            if !reused {
                return Err(unreachable(format!("sending: {error}")));
            }
            stream = self.dial(method, &params)?;
            stream
                .get_mut()
                .write_all(request.as_bytes())
                .map_err(|error| unreachable(format!("sending: {error}")))?;
        }
        stream
            .get_ref()
            .set_read_timeout(Some(longest.saturating_add(patience)))
            .map_err(|error| unreachable(error.to_string()))?;
        let mut line = String::new();
        match stream.read_line(&mut line) {
            Ok(0) => return Err(unreachable("the daemon closed the connection".into())),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                let problem = format!(
                    "it runs, but has not answered for {:.0?}",
                    longest.saturating_add(patience)
                );
                return Err(failure(method, &params, problem, false));
            }
            Err(error) => return Err(unreachable(format!("no answer: {error}"))),
        }
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| unreachable(format!("answer is not JSON: {error}: {line:?}")))?;
        if answer["id"] != json!(id) {
            return Err(unreachable(format!("answer to another request: {line:?}")));
        }
        self.put_back(stream);
        match answer.get("error").filter(|error| !error.is_null()) {
            None => Ok(answer["result"].clone()),
            Some(error) => Err(Failure {
                code: error["code"].as_i64(),
                payment: super::client::payment_failure(error),
                ..failure(
                    method,
                    &params,
                    error["message"].as_str().unwrap_or("no message").to_owned(),
                    false,
                )
            }),
        }
    }

    fn dial(&self, method: &str, params: &Value) -> Result<BufReader<UnixStream>, Failure> {
        UnixStream::connect(&self.socket)
            .map(BufReader::new)
            .map_err(|error| {
                let problem = format!("connecting to {}: {error}", self.socket.display());
                failure(method, params, problem, true)
            })
    }

    fn take(&self) -> Option<BufReader<UnixStream>> {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    fn put_back(&self, stream: BufReader<UnixStream>) {
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(stream);
    }
}

/// A failure of this call, with its parameters cut to what a person reads.
pub(super) fn failure(method: &str, params: &Value, message: String, unreachable: bool) -> Failure {
    let mut text = params.to_string();
    if let Some((cut, _)) = text.char_indices().nth(200) {
        text.truncate(cut);
        text.push('…');
    }
    Failure {
        method: method.to_owned(),
        params: text,
        code: None,
        message,
        payment: None,
        unreachable,
    }
}
