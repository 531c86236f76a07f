//! The table of nodes: who they are and how they stand, asked while they can still answer.

use super::Paint;
use crate::host::Exit;
use crate::node::{Channel, Node, NodeState};
use std::fmt::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// One node's line.
#[derive(Debug, Clone)]
pub(in crate::lab) struct Row {
    cells: [String; COLUMNS.len()],
}

const COLUMNS: [&str; 6] = ["node", "id", "pid", "state", "height", "channels"];

/// How long all nodes together may take to answer: a hung one must not hold the report.
const ANSWER: Duration = Duration::from_millis(1500);

/// Asks all nodes at once.
pub(in crate::lab) fn table(nodes: &[Node]) -> Vec<Row> {
    let (sender, receiver) = mpsc::channel();
    let mut rows: Vec<Row> = nodes.iter().map(without_asking).collect();
    let mut asked = 0;
    for (index, node) in nodes.iter().enumerate() {
        if node.state() != NodeState::Running || node.is_suspended() {
            continue;
        }
        let (sender, node) = (sender.clone(), node.clone());
        let thread = std::thread::Builder::new().name("bw-table".to_owned());
        // One that cannot be asked stays as it is.
        if thread
            .spawn(move || drop(sender.send((index, ask(&node)))))
            .is_ok()
        {
            asked += 1;
        }
    }
    let end = Instant::now() + ANSWER;
    for _ in 0..asked {
        let left = end.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok((index, [height, channels])) => {
                rows[index].cells[4] = height;
                rows[index].cells[5] = channels;
            }
            Err(_) => break,
        }
    }
    rows
}

fn without_asking(node: &Node) -> Row {
    let process = node.process();
    let pid = process.map_or_else(|_| "-".to_owned(), |process| process.pid().to_string());
    let state = match node.state() {
        NodeState::New => "never started".to_owned(),
        NodeState::Running if node.is_suspended() => "suspended".to_owned(),
        NodeState::Running => "running".to_owned(),
        NodeState::Ended(exit @ Exit::Code(0)) => format!("ended ({exit})"),
        NodeState::Ended(exit) => format!("DIED ({exit})"),
    };
    let id = node
        .known_id()
        .map_or_else(|| "-".to_owned(), |id| id.to_string());
    let unknown = if node.state() == NodeState::Running {
        "no answer"
    } else {
        "-"
    };
    Row {
        cells: [
            node.title(),
            id.chars().take(12).collect(),
            pid,
            state,
            unknown.to_owned(),
            unknown.to_owned(),
        ],
    }
}

fn ask(node: &Node) -> [String; 2] {
    let height = node
        .info()
        .map_or_else(|_| "no answer".to_owned(), |info| info.height.to_string());
    let channels = node
        .channels()
        .map_or_else(|_| "no answer".to_owned(), |channels| in_words(&channels));
    [height, channels]
}

fn in_words(channels: &[Channel]) -> String {
    if channels.is_empty() {
        return "none".to_owned();
    }
    let one = |channel: &Channel| {
        let scid = channel.scid.as_deref().unwrap_or("unconfirmed");
        let mut words = format!(
            "{scid} {} ({}/{} sat)",
            channel.state,
            channel.local.to_amount_floor().to_sat(),
            channel.capacity.to_sat()
        );
        if channel.pending_htlcs > 0 {
            let _ = write!(words, " {} HTLCs pending", channel.pending_htlcs);
        }
        words
    };
    channels.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The table as text, a line each.
pub(super) fn render(rows: &[Row], paint: Paint) -> String {
    let mut widths = COLUMNS.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; COLUMNS.len()]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = format!("  {}\n", paint.faint(line(COLUMNS)));
    for row in rows {
        let plain = line(row.cells.each_ref().map(String::as_str));
        let dead = row.cells[3].starts_with("DIED");
        let shown = if dead { paint.bad(plain) } else { plain };
        let _ = writeln!(text, "  {shown}");
    }
    text
}
