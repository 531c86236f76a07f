//! HTTP to bitcoind, under `bitcoincore-rpc`.
//!
//! Its stock transport hides what a daemon must know: whether the connection or the
//! credential failed. This one keeps connections open, sets TCP_NODELAY on them, opens a
//! new one when bitcoind has dropped an idle one, and reads the cookie again when bitcoind
//! has been restarted with a new one.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcoincore_rpc::jsonrpc::{self, Request, Response, base64, client::Transport};

use crate::options::BitcoindAuth;

/// Longer than any call that is made here, `waitforblockheight` included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MOST_IDLE: usize = 8;
/// More than the hexadecimal form of any block.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Why a request got no JSON-RPC answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("cannot connect to {address}: {source}")]
    Connect {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot read the cookie file {path}: {source}")]
    Cookie { path: String, source: io::Error },
    #[error("bitcoind at {address} rejected {credential}")]
    Rejected {
        address: SocketAddr,
        credential: String,
    },
    #[error("the connection to {address} broke: {source}")]
    Broken {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("{address} answered with HTTP status {status}: {body}")]
    Status {
        address: SocketAddr,
        status: u16,
        body: String,
    },
}

pub(super) struct HttpTransport {
    address: SocketAddr,
    path: String,
    auth: BitcoindAuth,
    /// The `Authorization` header that was accepted last.
    header: Mutex<Option<String>>,
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    keep: bool,
}

impl HttpTransport {
    /// `path` is `/`, or `/wallet/NAME` for the calls of one wallet.
    pub(super) fn new(address: SocketAddr, path: String, auth: BitcoindAuth) -> Self {
        HttpTransport {
            address,
            path,
            auth,
            header: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    fn post(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        let known = self
            .header
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let header = match known {
            Some(header) => header,
            None => self.credential()?,
        };
        let mut answer = self.exchange(&header, body)?;
        if matches!(answer.status, 401 | 403) {
            let fresh = self.credential()?;
            if answer.status == 403 || fresh == header {
                return Err(self.rejected());
            }
            answer = self.exchange(&fresh, body)?;
            if matches!(answer.status, 401 | 403) {
                return Err(self.rejected());
            }
            *self.header.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
        } else {
            *self.header.lock().unwrap_or_else(PoisonError::into_inner) = Some(header);
        }
        // JSON-RPC errors come with status 500, or 404 for an unknown method, and a body.
        if answer.body.first() != Some(&b'{') && answer.body.first() != Some(&b'[') {
            return Err(TransportError::Status {
                address: self.address,
                status: answer.status,
                body: String::from_utf8_lossy(&answer.body).trim().to_owned(),
            });
        }
        Ok(answer.body)
    }

    fn rejected(&self) -> TransportError {
        let credential = match &self.auth {
            BitcoindAuth::Cookie(path) => format!("the cookie in {}", path.display()),
            BitcoindAuth::Password { user, .. } => format!("the password of user {user}"),
        };
        TransportError::Rejected {
            address: self.address,
            credential,
        }
    }

    fn credential(&self) -> Result<String, TransportError> {
        let plain = match &self.auth {
            BitcoindAuth::Password { user, password } => format!("{user}:{password}"),
            BitcoindAuth::Cookie(path) => std::fs::read_to_string(path)
                .map_err(|source| TransportError::Cookie {
                    path: path.display().to_string(),
                    source,
                })?
                .trim()
                .to_owned(),
        };
        Ok(base64::encode(plain))
    }

    /// Sends one request. A kept connection may have been closed by bitcoind in the
    /// meantime: if it is closed before a byte of an answer, the request goes out once more on
    /// a new connection. A request that bitcoind may be at work on is never sent twice.
    fn exchange(&self, header: &str, body: &[u8]) -> Result<Answer, TransportError> {
        let mut request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Basic {header}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.path,
            self.address,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        let kept = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        if let Some(mut stream) = kept {
            match converse(&mut stream, &request) {
                Ok(answer) => {
                    self.keep(stream, &answer);
                    return Ok(answer);
                }
                Err(Interrupted::Midway(source)) => return Err(self.broken(source)),
                Err(Interrupted::Closed(_)) => {}
            }
            // One closed connection means that the others are closed as well.
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
        let mut stream = self.connect()?;
        match converse(&mut stream, &request) {
            Ok(answer) => {
                self.keep(stream, &answer);
                Ok(answer)
            }
            Err(Interrupted::Closed(source) | Interrupted::Midway(source)) => {
                Err(self.broken(source))
            }
        }
    }

    fn broken(&self, source: io::Error) -> TransportError {
        TransportError::Broken {
            address: self.address,
            source,
        }
    }

    fn connect(&self) -> Result<BufReader<TcpStream>, TransportError> {
        let open = || {
            let stream = TcpStream::connect_timeout(&self.address, CONNECT_TIMEOUT)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
            Ok(BufReader::new(stream))
        };
        open().map_err(|source| TransportError::Connect {
            address: self.address,
            source,
        })
    }

    fn keep(&self, stream: BufReader<TcpStream>, answer: &Answer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.keep && idle.len() < MOST_IDLE {
            idle.push(stream);
        }
    }
}

/// Why a request has no answer.
enum Interrupted {
    /// The other side closed without a word: it was gone before the request came.
    Closed(io::Error),
    /// The answer was late or broke off: the other side may have done what was asked.
    Midway(io::Error),
}

/// Writes a request and reads its answer.
fn converse(stream: &mut BufReader<TcpStream>, request: &[u8]) -> Result<Answer, Interrupted> {
    let first_byte = stream
        .get_mut()
        .write_all(request)
        .and_then(|()| Ok(stream.fill_buf()?.is_empty()));
    match first_byte {
        Ok(false) => answer(stream).map_err(Interrupted::Midway),
        Ok(true) => Err(Interrupted::Closed(io::ErrorKind::UnexpectedEof.into())),
        // How a read or write that has timed out ends depends on the system.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(Interrupted::Midway(error))
        }
        Err(error) => Err(Interrupted::Closed(error)),
    }
}

/// Reads an answer.
fn answer(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|code| code.trim().parse().ok())
        .ok_or_else(|| malformed("no HTTP status line"))?;
    let mut length = None;
    let mut keep = true;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            keep = !value.trim().eq_ignore_ascii_case("close");
        }
    }
    let length = length
        .filter(|length| *length <= MOST_BYTES)
        .ok_or_else(|| malformed("no usable Content-Length"))?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Answer { status, body, keep })
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Transport for HttpTransport {
    fn send_request(&self, request: Request<'_>) -> Result<Response, jsonrpc::Error> {
        let body = serde_json::to_vec(&request)?;
        let answer = self
            .post(&body)
            .map_err(|error| jsonrpc::Error::Transport(Box::new(error)))?;
        Ok(serde_json::from_slice(&answer)?)
    }

    fn send_batch(&self, requests: &[Request<'_>]) -> Result<Vec<Response>, jsonrpc::Error> {
        let body = serde_json::to_vec(requests)?;
        let answer = self
            .post(&body)
            .map_err(|error| jsonrpc::Error::Transport(Box::new(error)))?;
        Ok(serde_json::from_slice(&answer)?)
    }

    fn fmt_target(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.address, self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Serves one connection for each list: one status for each request, then closes.
    fn serve(connections: Vec<Vec<u16>>) -> (SocketAddr, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("has an address");
        let serving = std::thread::spawn(move || {
            let mut credentials = Vec::new();
            for statuses in connections {
                let (stream, _) = listener.accept().expect("accepts");
                let mut stream = BufReader::new(stream);
                for status in statuses {
                    credentials.push(read_request(&mut stream));
                    let body = if status == 200 { "{}" } else { "" };
                    let answer = format!(
                        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream
                        .get_mut()
                        .write_all(answer.as_bytes())
                        .expect("answers");
                }
            }
            credentials
        });
        (address, serving)
    }

    /// Reads a request and returns its credential, decoded.
    fn read_request(stream: &mut BufReader<TcpStream>) -> String {
        let (mut length, mut credential) = (0, String::new());
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("reads");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                Some(("Authorization", value)) => {
                    let encoded = value.strip_prefix("Basic ").expect("is basic");
                    let plain = base64::decode(encoded).expect("is base64");
                    credential = String::from_utf8(plain).expect("is UTF-8");
                }
                Some(_) => {}
                None if line.starts_with("POST") => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("reads");
        credential
    }

    fn with_password(address: SocketAddr) -> HttpTransport {
        let auth = BitcoindAuth::Password {
            user: "alice".to_owned(),
            password: "secret".to_owned(),
        };
        HttpTransport::new(address, "/".to_owned(), auth)
    }

    #[test]
    fn a_connection_is_kept_and_a_dropped_one_is_opened_again() {
        let (address, serving) = serve(vec![vec![200, 200], vec![200]]);
        let transport = with_password(address);
        for _ in 0..3 {
            assert_eq!(transport.post(b"{}").expect("is answered"), b"{}");
        }
        assert_eq!(serving.join().expect("serves"), ["alice:secret"; 3]);
    }

    #[test]
    fn a_request_whose_answer_breaks_off_is_not_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("has an address");
        let serving = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("accepts");
            let mut stream = BufReader::new(stream);
            for answer in [
                "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}",
                "HTTP/1.1 2",
            ] {
                read_request(&mut stream);
                let stream = stream.get_mut();
                stream.write_all(answer.as_bytes()).expect("answers");
            }
            drop(stream);
            listener.set_nonblocking(true).expect("is a listener");
            listener
        });
        let transport = with_password(address);
        transport.post(b"{}").expect("is answered");
        let error = transport.post(b"{}").expect_err("breaks off");
        assert!(matches!(error, TransportError::Broken { .. }));
        let listener = serving.join().expect("serves");
        let again = listener.accept().expect_err("nobody comes again");
        assert_eq!(again.kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_new_cookie_is_read_when_the_old_one_is_rejected() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("cookie");
        let (address, serving) = serve(vec![vec![200, 401, 200]]);
        let auth = BitcoindAuth::Cookie(path.clone());
        let transport = HttpTransport::new(address, "/".to_owned(), auth);
        std::fs::write(&path, "__cookie__:old").expect("writes");
        transport.post(b"{}").expect("is answered");
        std::fs::write(&path, "__cookie__:new").expect("writes");
        transport.post(b"{}").expect("is answered");
        assert_eq!(
            serving.join().expect("serves"),
            ["__cookie__:old", "__cookie__:old", "__cookie__:new"]
        );
    }

    #[test]
    fn a_rejected_password_is_an_error_of_its_own() {
        let (address, serving) = serve(vec![vec![401]]);
        let error = with_password(address).post(b"{}").expect_err("is rejected");
        assert!(matches!(error, TransportError::Rejected { .. }));
        assert!(error.to_string().contains("user alice"));
        serving.join().expect("serves");
    }
}
