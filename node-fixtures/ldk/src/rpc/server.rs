//! Serves connections: each request runs on its own and is answered when it is done.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use super::methods;
use super::protocol::{self, Failure, LONGEST_LINE, code};
use super::socket::Listener;
use crate::log::log_at;
use crate::node::{Node, Stop};

/// Requests of one connection that may run at once; more are read when some are done.
const MOST_AT_ONCE: usize = 256;
/// The pause after a failed accept, for example when descriptors have run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// How soon a connection ends whose client died while its requests are at work.
const LOOK_FOR_THE_DEAD: Duration = Duration::from_secs(1);
/// How long the answer to `stop` may take to leave.
const LAST_ANSWERS: Duration = Duration::from_millis(50);

/// A server at work.
pub(crate) struct Serving {
    accepting: JoinHandle<()>,
    /// Closed when every connection has written what it had.
    alive: mpsc::Receiver<()>,
    closing: watch::Sender<bool>,
}

impl Serving {
    /// Stops serving: the socket file goes, answers on their way still leave.
    pub(crate) async fn finish(mut self) {
        self.closing.send_replace(true);
        self.accepting.abort();
        let _ = self.accepting.await;
        let _ = tokio::time::timeout(LAST_ANSWERS, self.alive.recv()).await;
    }
}

/// Starts to serve.
pub(crate) fn serve(listener: Listener, node: Arc<Node>) -> Serving {
    let (connection_alive, alive) = mpsc::channel(1);
    let closing = watch::Sender::new(false);
    let closed = closing.subscribe();
    let accepting = tokio::spawn(async move {
        loop {
            match listener.socket.accept().await {
                Ok((stream, _)) => {
                    let node = Arc::clone(&node);
                    let closed = closed.clone();
                    let alive = connection_alive.clone();
                    tokio::spawn(async move {
                        converse(stream, node, closed).await;
                        drop(alive);
                    });
                }
                Err(error) => {
                    log_at!(node.log, Warn, "cannot accept an RPC connection: {error}");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    });
    Serving {
        accepting,
        alive,
        closing,
    }
}

/// One connection, until its other end closes or the node stops.
async fn converse(stream: UnixStream, node: Arc<Node>, mut closed: watch::Receiver<bool>) {
    let (reader, writer) = stream.into_split();
    let (answers, outgoing) = mpsc::channel(MOST_AT_ONCE);
    let writing = tokio::spawn(write(writer, outgoing));
    tokio::select! {
        () = read(reader, node, answers) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
    // The writer ends when the last request has answered, or the other end is gone.
    if *closed.borrow() {
        let _ = tokio::time::timeout(LAST_ANSWERS, writing).await;
    } else {
        let _ = writing.await;
    }
}

async fn write(mut writer: OwnedWriteHalf, mut outgoing: mpsc::Receiver<Outgoing>) {
    loop {
        let answer = tokio::select! {
            answer = outgoing.recv() => answer,
            () = hung_up(&writer) => return,
        };
        let Some(answer) = answer else {
            return;
        };
        if writer.write_all(&answer.line).await.is_err() {
            return;
        }
        // Only now, so that the caller has its answer before the node stops.
        drop(answer);
    }
}

/// Returns when the other end is gone altogether. One that has only said all that it had to say
/// (`shutdown` of its writing side) still waits for its answers.
async fn hung_up(writer: &OwnedWriteHalf) {
    loop {
        // The end of writing has no event of its own, so it is looked for.
        tokio::time::sleep(LOOK_FOR_THE_DEAD).await;
        let ready = writer.ready(Interest::WRITABLE).await;
        if ready.is_ok_and(|ready| ready.is_write_closed()) {
            return;
        }
    }
}

/// Asks the node to stop when it goes: after the answer has left, or with an answer that
/// nobody is there to read.
struct StopAfter(Arc<Node>);

impl Drop for StopAfter {
    fn drop(&mut self) {
        self.0.request_stop(Stop::Asked("the RPC method stop"));
    }
}

/// An answer on its way, and what it holds until it has left.
struct Outgoing {
    line: Vec<u8>,
    _stop: Option<StopAfter>,
    _slot: Option<OwnedSemaphorePermit>,
}

async fn read(reader: OwnedReadHalf, node: Arc<Node>, answers: mpsc::Sender<Outgoing>) {
    let mut reader = BufReader::new(reader);
    let slots = Arc::new(Semaphore::new(MOST_AT_ONCE));
    let refuse = |id: Value, failure: Failure| Outgoing {
        line: protocol::answer(&id, Err(failure)),
        _stop: None,
        _slot: None,
    };
    loop {
        let line = match next_line(&mut reader).await {
            Line::Is(line) => line,
            Line::TooLong => {
                let why = format!("the line is longer than {LONGEST_LINE} bytes");
                let failure = Failure::new(code::INVALID_REQUEST, why);
                if answers.send(refuse(Value::Null, failure)).await.is_err() {
                    return;
                }
                continue;
            }
            Line::End => return,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let request = match protocol::parse(&line) {
            Ok(request) => request,
            Err((id, failure)) => {
                if answers.send(refuse(id, failure)).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let node = Arc::clone(&node);
        let answers = answers.clone();
        tokio::spawn(async move {
            let id = request.id.clone();
            let is_stop = request.method == "stop";
            let outcome = methods::call(&node, request).await;
            let stop = (is_stop && outcome.is_ok()).then(|| StopAfter(node));
            let _ = answers
                .send(Outgoing {
                    line: protocol::answer(&id, outcome),
                    _stop: stop,
                    _slot: Some(slot),
                })
                .await;
        });
    }
}

enum Line {
    Is(Vec<u8>),
    TooLong,
    End,
}

/// Reads up to a line feed. A line that is too long is read to its end and dropped.
async fn next_line(reader: &mut BufReader<OwnedReadHalf>) -> Line {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let Ok(chunk) = reader.fill_buf().await else {
            return Line::End;
        };
        if chunk.is_empty() {
            // The last line may come without its line feed.
            return match (too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Is(line),
            };
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        if !too_long {
            line.extend_from_slice(&chunk[..end.unwrap_or(taken)]);
            too_long = line.len() > LONGEST_LINE;
            if too_long {
                line = Vec::new();
            }
        }
        reader.consume(taken);
        if end.is_some() {
            return if too_long {
                Line::TooLong
            } else {
                Line::Is(line)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;

    use super::*;

    #[tokio::test]
    async fn a_dead_client_is_noticed_and_one_that_has_said_all_is_not() {
        let (mut client, server) = std::os::unix::net::UnixStream::pair().expect("a pair");
        server.set_nonblocking(true).expect("is a socket");
        let server = UnixStream::from_std(server).expect("is a socket");
        let (mut reader, mut writer) = server.into_split();
        client.write_all(b"all").expect("writes");
        client.shutdown(Shutdown::Write).expect("half-closes");
        let mut said = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut said)
            .await
            .expect("reads");
        let patience = LOOK_FOR_THE_DEAD * 5 / 2;
        let gone = tokio::time::timeout(patience, hung_up(&writer)).await;
        assert!(gone.is_err(), "it still waits");
        writer.write_all(b"answer").await.expect("writes");
        let mut heard = [0; 6];
        client.read_exact(&mut heard).expect("is answered");
        drop(client);
        tokio::time::timeout(patience, hung_up(&writer))
            .await
            .expect("it is gone");
    }
}
