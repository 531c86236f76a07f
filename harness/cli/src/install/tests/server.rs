//! A server of one file on loopback, with the manners of bad ones.
#![allow(dead_code, reason = "each of its two users needs another part of it")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

/// How it treats the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Sends it whole.
    Whole,
    /// Promises it whole, sends half and closes.
    BreaksOff,
    /// Promises it whole, sends half and then nothing more.
    Stalls,
    /// Accepts the connection and says nothing.
    Silent,
}

/// Runs until dropped.
pub struct Server {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    sent: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(file: Vec<u8>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicUsize::new(0));
        let stopped = Arc::new(AtomicBool::new(false));
        let (tell, sent) = channel();
        let thread = thread::spawn({
            let (requests, stopped) = (requests.clone(), stopped.clone());
            move || {
                // Connections that are left hanging, until the server ends.
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    if stopped.load(Ordering::SeqCst) {
                        break;
                    }
                    requests.fetch_add(1, Ordering::SeqCst);
                    held.extend(stream.ok().and_then(|s| serve(s, &file, manner, &tell)));
                }
            }
        });
        Self {
            address,
            requests,
            stopped,
            sent,
            thread: Some(thread),
        }
    }

    pub fn base(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Waits until it has sent what it is going to send of one file.
    pub fn wait_until_sent(&self) {
        self.sent
            .recv_timeout(std::time::Duration::from_secs(30))
            .expect("a client");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes it from its wait for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An address on loopback where nobody listens.
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/", listener.local_addr().expect("an address"))
}

fn serve(
    mut stream: TcpStream,
    file: &[u8],
    manner: Manner,
    sent: &Sender<()>,
) -> Option<TcpStream> {
    if manner == Manner::Silent {
        return Some(stream);
    }
    let request = BufReader::new(stream.try_clone().ok()?);
    for line in request.lines() {
        if line.ok()?.is_empty() {
            break;
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        file.len()
    );
    let part = match manner {
        Manner::Whole => file,
        _ => &file[..file.len() / 2],
    };
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(part).ok()?;
    let _ = sent.send(());
    (manner == Manner::Stalls).then_some(stream)
}
