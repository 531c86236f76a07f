//! Calls to bitcoind: `bitcoincore-rpc`'s client over connections of our own.
//!
//! The transport that the crate brings holds one connection behind a lock: a thread that waits
//! for a block would hold up all others. When an answer takes longer than its time limit it sends
//! the request a second time, mined blocks and payments included. Ours keeps a stock of
//! connections, takes one for each call in flight, sends a request again only where bitcoind had
//! hung up on an idle connection, and tells the death of bitcoind from a mere failure.
use super::{
    Error,
    http::{Answer, Broken, Connection, basic},
};
use crate::host::{Process, process::Death};
use bitcoincore_rpc::{
    Client, RpcApi,
    jsonrpc::{self, Request, Response, client::Transport},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    fmt, io,
    net::SocketAddrV4,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard},
    time::Duration,
};

/// How long a connection that broke may precede the news that its process has ended.
const NEWS_OF_DEATH: Duration = Duration::from_millis(500);

/// The way to one bitcoind, through all its restarts.
#[derive(Debug)]
pub(super) struct Link {
    address: SocketAddrV4,
    timeout: Duration,
    log: PathBuf,
    session: RwLock<Session>,
    idle: Mutex<Vec<Connection>>,
}

/// What changes from one start of bitcoind to the next.
#[derive(Debug, Clone, Default)]
struct Session {
    authorization: String,
    process: Option<Process>,
}

/// Why there is no answer to a call.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Bitcoind has ended.
    #[error("{0}")]
    Died(Box<Death>),
    /// It could not be connected to.
    #[error("connecting to {0}: {1}")]
    Connect(SocketAddrV4, #[source] io::Error),
    /// The connection broke.
    #[error("connection to {0} broke: {1}")]
    Broke(SocketAddrV4, #[source] io::Error),
    /// No answer came in time.
    #[error("no answer from {0} within {1:?}")]
    Silent(SocketAddrV4, Duration),
    /// The answer is no JSON-RPC.
    #[error("HTTP status {0}: {1}")]
    Http(u16, String),
}

impl Link {
    /// The way to a bitcoind that will listen at `address` and log to `log`.
    pub fn new(address: SocketAddrV4, log: &Path, timeout: Duration) -> Arc<Link> {
        Arc::new(Link {
            address,
            timeout,
            log: log.to_owned(),
            session: RwLock::default(),
            idle: Mutex::default(),
        })
    }

    /// From now on whoever knows this cookie is let in; connections to an earlier bitcoind are
    /// given up. While it starts, a broken connection is no sign of death.
    pub fn admit(&self, cookie: &str) {
        *self.session_mut() = Session {
            authorization: basic(cookie.trim_end()),
            process: None,
        };
        self.stock().clear();
    }

    /// From now on a connection that breaks may mean that this process has ended.
    pub fn attach(&self, process: &Process) {
        self.session_mut().process = Some(process.clone());
    }

    fn stock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session_mut(&self) -> RwLockWriteGuard<'_, Session> {
        self.session.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> Session {
        self.session
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn exchange(&self, path: &str, body: &[u8]) -> Result<Answer, Failure> {
        let session = self.session();
        let stocked = loop {
            match self.stock().pop() {
                Some(connection) if connection.usable() => break Some(connection),
                Some(_) => {}
                None => break None,
            }
        };
        if let Some(mut connection) = stocked {
            match connection.post(path, &session.authorization, body) {
                Ok(answered) => return Ok(self.restock(connection, answered)),
                // It hung up just as we asked: an idle connection is all that this tells.
                Err(Broken { unanswered, .. }) if unanswered => {}
                Err(Broken { source, .. }) => return Err(self.broke(source, &session)),
            }
        }
        let mut connection = Connection::open(self.address, self.timeout)
            .map_err(|source| died_or(&session, Failure::Connect(self.address, source)))?;
        match connection.post(path, &session.authorization, body) {
            Ok(answered) => Ok(self.restock(connection, answered)),
            Err(Broken { source, .. }) => Err(self.broke(source, &session)),
        }
    }

    fn restock(&self, connection: Connection, (answer, keep): (Answer, bool)) -> Answer {
        if keep {
            self.stock().push(connection);
        }
        answer
    }

    fn broke(&self, source: io::Error, session: &Session) -> Failure {
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Failure::Silent(self.address, self.timeout)
            }
            _ => died_or(session, Failure::Broke(self.address, source)),
        }
    }
}

/// A broken connection is often the first sign of a death, whose news takes another way.
fn died_or(session: &Session, failure: Failure) -> Failure {
    let Some(process) = &session.process else {
        return failure;
    };
    let _ = process.wait_exit(NEWS_OF_DEATH);
    match process.alive() {
        Ok(()) => failure,
        Err(death) => Failure::Died(Box::new(death)),
    }
}

/// A client with errors in words.
pub(super) struct Rpc {
    link: Arc<Link>,
    client: Client,
}

impl Rpc {
    /// A client whose calls go to `path`: `/`, or `/wallet/NAME`.
    pub fn new(link: &Arc<Link>, path: String) -> Rpc {
        let route = Route {
            link: Arc::clone(link),
            path,
        };
        Rpc {
            link: Arc::clone(link),
            client: Client::from_jsonrpc(jsonrpc::Client::with_transport(route)),
        }
    }

    /// The client of `bitcoincore-rpc`, with its many typed calls.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Calls any method.
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: &[Value]) -> Result<T, Error> {
        let answer: Value = self
            .client
            .call(method, params)
            .map_err(|error| self.explain(method, params, error))?;
        T::deserialize(&answer).map_err(|problem| Error::Answer {
            call: short_call(method, params),
            problem: problem.to_string(),
            answer: shorten(&answer.to_string(), 200),
            log: self.link.log.clone(),
        })
    }

    fn explain(&self, method: &str, params: &[Value], error: bitcoincore_rpc::Error) -> Error {
        let (call, log) = (short_call(method, params), self.link.log.clone());
        let problem = match error {
            bitcoincore_rpc::Error::JsonRpc(jsonrpc::Error::Rpc(refusal)) => {
                return Error::Rpc {
                    call,
                    code: refusal.code,
                    message: refusal.message,
                    log,
                };
            }
            bitcoincore_rpc::Error::JsonRpc(jsonrpc::Error::Transport(problem)) => {
                match problem.downcast::<Failure>() {
                    Ok(failure) => match *failure {
                        Failure::Died(death) => return Error::Died { call, death },
                        other => other.to_string(),
                    },
                    Err(other) => other.to_string(),
                }
            }
            other => other.to_string(),
        };
        Error::Transport { call, problem, log }
    }
}

impl fmt::Debug for Rpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

/// A method and its parameters, short enough for an error message.
fn short_call(method: &str, params: &[Value]) -> String {
    let params = params
        .iter()
        .map(|param| shorten(&param.to_string(), 80))
        .fold(String::new(), |all, param| all + " " + &param);
    format!("{method}{}", shorten(&params, 240))
}

/// At most `limit` characters of `text`.
fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A link and a path: what one client speaks through.
struct Route {
    link: Arc<Link>,
    path: String,
}

impl Route {
    fn ask<T: DeserializeOwned>(
        &self,
        request: impl serde::Serialize,
    ) -> Result<T, jsonrpc::Error> {
        let body = serde_json::to_vec(&request)?;
        let answer = self
            .link
            .exchange(&self.path, &body)
            .map_err(|failure| jsonrpc::Error::Transport(Box::new(failure)))?;
        // An RPC error comes with status 404 or 500 and says more than the status does.
        serde_json::from_slice(&answer.body).map_err(|error| match answer.status {
            200 => jsonrpc::Error::Json(error),
            status => {
                let text = String::from_utf8_lossy(&answer.body);
                let text = if status == 401 {
                    "wrong credentials: another bitcoind's, or a restart that we do not know of"
                } else {
                    text.trim()
                };
                jsonrpc::Error::Transport(Box::new(Failure::Http(status, text.to_owned())))
            }
        })
    }
}

impl Transport for Route {
    fn send_request(&self, request: Request) -> Result<Response, jsonrpc::Error> {
        self.ask(request)
    }

    fn send_batch(&self, requests: &[Request]) -> Result<Vec<Response>, jsonrpc::Error> {
        self.ask(requests)
    }

    fn fmt_target(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "http://{}{}", self.link.address, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_shortened_for_an_error_message() {
        let call = short_call("submitblock", &[json!("00".repeat(500)), json!(null)]);
        assert!(call.starts_with("submitblock \"0000"), "{call}");
        assert!(call.ends_with("… null"), "{call}");
        assert!(call.chars().count() < 120, "{call}");
        assert_eq!(short_call("getblockcount", &[]), "getblockcount");
    }
}
