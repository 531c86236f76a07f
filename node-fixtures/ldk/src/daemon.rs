//! The life of the process: start, wait for a reason to stop, leave in order.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use crate::gossip;
use crate::log::{Log, log_at};
use crate::node::{Background, ChainFollower, Node, StartError, Stop, assemble, claim_data_dir};
use crate::options::Options;
use crate::peers;
use crate::rpc;

/// Threads that serve sockets. Waiting for bitcoind and for the disk happens elsewhere.
const WORKERS: usize = 2;
/// How long leaving may take before it is cut short.
const LONGEST_STOP: Duration = Duration::from_secs(10);

/// Runs the daemon and returns its exit code.
pub(crate) fn run(options: Options) -> i32 {
    let log = match Log::open(options.log_file.as_deref(), options.log_level) {
        Ok(log) => Arc::new(log),
        Err(error) => {
            let path = options.log_file.unwrap_or_default();
            complain(&format!(
                "cannot open the log file {}: {error}",
                path.display()
            ));
            return 1;
        }
    };
    end_on_panic(&log);
    log_at!(
        log,
        Info,
        "boltwright-ldk {} starts, pid {}, optimised: {}",
        crate::VERSION,
        std::process::id(),
        crate::is_optimised()
    );
    log_at!(log, Info, "options: {}", describe(&options));
    let to_stderr = options.log_file.is_some();
    let outcome = runtime().map_err(StartError::from).and_then(|runtime| {
        let outcome = runtime.block_on(live(options, Arc::clone(&log)));
        // Threads that still wait for bitcoind are not waited for.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(Stop::Asked(by)) => {
            log_at!(log, Info, "stopped by {by}");
            0
        }
        Ok(Stop::Fatal(why)) => {
            log_at!(log, Error, "stopped: {why}");
            if to_stderr {
                complain(&why);
            }
            1
        }
        Err(error) => {
            log_at!(log, Error, "{error}");
            if to_stderr {
                complain(&error.to_string());
            }
            1
        }
    }
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("node")
        .enable_all()
        .build()
}

fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "boltwright-ldk: {message}");
}

/// A panic in any thread ends the process: a node that has lost one of its threads would
/// look alive and do nothing.
fn end_on_panic(log: &Arc<Log>) {
    let log = Arc::clone(log);
    std::panic::set_hook(Box::new(move |panic| {
        log_at!(log, Error, "panic: {panic}");
        complain(&format!("panic: {panic}"));
        // Finding the names takes a while; the words above are out already.
        let backtrace = std::backtrace::Backtrace::force_capture();
        log_at!(log, Error, "the panic came from: {backtrace}");
        std::process::exit(101);
    }));
}

/// The options as the log shows them; secrets are left out.
fn describe(options: &Options) -> String {
    let mut shown = options.clone();
    if let crate::options::BitcoindAuth::Password { password, .. } = &mut shown.bitcoind_auth {
        "(not shown)".clone_into(password);
    }
    shown.seed = None;
    format!("{shown:?}")
}

/// Starts the node, waits for a reason to stop, and takes everything down.
async fn live(options: Options, log: Arc<Log>) -> Result<Stop, StartError> {
    let stop = watch::Sender::new(None);
    listen_for_signals(&stop)?;
    let mut stopping = stop.subscribe();
    let mut stopping_early = stop.subscribe();
    let (node, listener, rpc_listener, lock) = tokio::select! {
        started = start(options, log, stop) => started?,
        asked = stopping_early.wait_for(Option::is_some) => {
            return Ok(reason(asked.ok().and_then(|stop| stop.clone())));
        }
    };

    let (nothing_changes, leave) = oneshot::channel();
    let background = Background::new(Arc::clone(&node)).run(leave);
    let background = on_own_thread("background", background)?;
    let chain = spawn_chain_thread(&node)?;
    let nodelay = node.options.nodelay;
    let accepting = tokio::spawn(peers::accept(
        listener,
        Arc::clone(&node.peers),
        nodelay,
        Arc::clone(&node.log),
    ));
    node.keeper.start();
    node.sweep_wanted.notify_one();
    let announcing = tokio::spawn(gossip::announce_node(Arc::clone(&node)));
    let serving = rpc::serve(rpc_listener, Arc::clone(&node));
    log_at!(
        node.log,
        Info,
        "ready at block {}, peers at {}, RPC at {}",
        node.sync.tip().height,
        node.address,
        node.options.rpc_socket.display()
    );

    let asked = stopping.wait_for(Option::is_some).await.ok();
    let reason = reason(asked.and_then(|stop| stop.clone()));
    log_at!(node.log, Info, "stopping: {reason:?}");
    let leave = async {
        serving.finish().await;
        accepting.abort();
        announcing.abort();
        node.keeper.stop();
        node.sync.stop();
        node.broadcaster.stop();
        // Peers go first, so that the last commit has nothing after it.
        node.peers.disconnect_all_peers();
        let _ = nothing_changes.send(());
        let _ = background.await;
        if let Err(error) = node.store.close() {
            log_at!(node.log, Warn, "the store is saved but not tidy: {error}");
        }
    };
    if tokio::time::timeout(LONGEST_STOP, leave).await.is_err() {
        return Ok(Stop::Fatal("stopping took too long".to_owned()));
    }
    drop((chain, lock));
    // A commit that failed on the way out changes the verdict.
    let last = node.stop.borrow().clone();
    Ok(last
        .filter(|stop| matches!(stop, Stop::Fatal(_)))
        .unwrap_or(reason))
}

fn reason(stop: Option<Stop>) -> Stop {
    stop.unwrap_or(Stop::Asked("the end of the process"))
}

type Started = (Arc<Node>, TcpListener, rpc::Listener, File);

async fn start(
    options: Options,
    log: Arc<Log>,
    stop: watch::Sender<Option<Stop>>,
) -> Result<Started, StartError> {
    let lock = claim_data_dir(&options.data_dir)?;
    // Taken first: a port that is in use is the commonest error and needs no bitcoind.
    let listen = options.listen;
    let fail = |source| StartError::Listen {
        address: listen,
        source,
    };
    let listener = TcpListener::bind(listen).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    let rpc_socket = options.rpc_socket.clone();
    rpc::check_free(&rpc_socket)?;
    // The lock goes along: a signal ends the wait for this thread, not the thread.
    let assembled = tokio::task::spawn_blocking(move || {
        assemble(options, address, log, stop).map(|node| (node, lock))
    });
    let (node, lock) = match assembled.await {
        Ok(started) => started?,
        Err(error) => return Err(std::io::Error::other(error).into()),
    };
    let rpc_listener = rpc::listen(&rpc_socket)?;
    Ok((node, listener, rpc_listener, lock))
}

/// SIGTERM and SIGINT stop the node. SIGPIPE is caught and dropped: a write to a socket
/// whose reader is gone is an error to handle, and a caller that did not come through
/// Rust's own start-up has not seen to that.
fn listen_for_signals(stop: &watch::Sender<Option<Stop>>) -> std::io::Result<()> {
    let mut pipe = signal(SignalKind::pipe())?;
    tokio::spawn(async move { while pipe.recv().await.is_some() {} });
    let signals = [
        (SignalKind::terminate(), "SIGTERM"),
        (SignalKind::interrupt(), "SIGINT"),
    ];
    for (kind, name) in signals {
        let mut signal = signal(kind)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                stop.send_if_modified(|stop| {
                    let first = stop.is_none();
                    if first {
                        *stop = Some(Stop::Asked(name));
                    }
                    first
                });
            }
        });
    }
    Ok(())
}

/// Runs a future on a thread that may block; the returned receiver ends when it has ended.
fn on_own_thread(
    name: &str,
    future: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<oneshot::Receiver<()>> {
    let (done, ended) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            runtime.block_on(future);
            let _ = done.send(());
        })?;
    Ok(ended)
}

fn spawn_chain_thread(node: &Arc<Node>) -> std::io::Result<std::thread::JoinHandle<()>> {
    let sync = Arc::clone(&node.sync);
    let follower = ChainFollower::of(node);
    let node = Arc::clone(node);
    std::thread::Builder::new()
        .name("chain".to_owned())
        .spawn(move || {
            if let Err(error) = sync.run(&follower) {
                node.request_stop(Stop::Fatal(error.to_string()));
            }
        })
}
