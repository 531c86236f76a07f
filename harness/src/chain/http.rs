//! As much of HTTP as bitcoind's RPC server speaks: one POST, one answer, and on with the same
//! connection.
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, SocketAddrV4, TcpStream},
    time::Duration,
};

/// What the server answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A connection to an RPC server.
#[derive(Debug)]
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

/// Why an exchange failed.
#[derive(Debug)]
pub(super) struct Broken {
    /// What happened.
    pub source: io::Error,
    /// The server hung up without a byte of an answer, as it does on a connection that it has
    /// found idle for too long.
    pub unanswered: bool,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddrV4, timeout: Duration) -> io::Result<Connection> {
        let stream = TcpStream::connect_timeout(&SocketAddr::V4(address), timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Connection {
            stream: BufReader::new(stream),
        })
    }

    /// Whether the server has not hung up, as far as can be seen without asking it.
    pub fn usable(&self) -> bool {
        let stream = self.stream.get_ref();
        let silent = stream.set_nonblocking(true).is_ok()
            && matches!(stream.peek(&mut [0]), Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        silent && stream.set_nonblocking(false).is_ok()
    }

    /// Posts `body` and reads the answer; tells whether the connection can be used again.
    pub fn post(
        &mut self,
        path: &str,
        authorization: &str,
        body: &[u8],
    ) -> Result<(Answer, bool), Broken> {
        let host = self.stream.get_ref().peer_addr().map_err(Broken::hung_up)?;
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {authorization}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream
            .get_mut()
            .write_all(&request)
            .map_err(Broken::hung_up)?;
        if self.stream.fill_buf().map_err(Broken::hung_up)?.is_empty() {
            return Err(Broken::hung_up(io::ErrorKind::UnexpectedEof.into()));
        }
        self.read_answer().map_err(|source| Broken {
            source,
            unanswered: false,
        })
    }

    fn read_answer(&mut self) -> io::Result<(Answer, bool)> {
        let first = self.read_line()?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|status| status.parse().ok())
            .ok_or_else(|| malformed(format!("not an HTTP answer: {first}")))?;
        let mut length = None;
        let mut keep = true;
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else {
                return Err(malformed(format!("not an HTTP header: {line}")));
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    let parsed = value.parse::<u64>();
                    length = Some(parsed.map_err(|_| malformed(format!("length {value}")))?);
                }
                "connection" => keep = !value.eq_ignore_ascii_case("close"),
                "transfer-encoding" => return Err(malformed(format!("a {value} body"))),
                _ => {}
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => {
                let read = (&mut self.stream).take(length).read_to_end(&mut body)?;
                if (read as u64) < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            None => {
                self.stream.read_to_end(&mut body)?;
                keep = false;
            }
        }
        Ok((Answer { status, body }, keep))
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

impl Broken {
    /// The connection broke before the answer began; that it timed out is not a broken connection.
    fn hung_up(source: io::Error) -> Broken {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
        let unanswered = matches!(
            source.kind(),
            BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof
        );
        Broken { source, unanswered }
    }
}

fn malformed(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// The value of an `Authorization` header for `user:password`.
pub(super) fn basic(credentials: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut header = String::from("Basic ");
    for chunk in credentials.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sextet in 0..4 {
            if sextet <= chunk.len() {
                let index = (bits >> (18 - 6 * sextet)) & 63;
                header.push(char::from(ALPHABET[index as usize]));
            } else {
                header.push('=');
            }
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::basic;

    #[test]
    fn credentials_are_encoded_in_base64() {
        // The test vectors of RFC 4648, section 10.
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(basic(plain), format!("Basic {encoded}"));
        }
    }
}
