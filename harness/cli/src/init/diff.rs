//! A unified diff of two small texts.

use std::fmt::Write as _;
use std::path::Path;

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// One line of either text, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference as `patch` reads it; nothing for equal texts.
pub(super) fn unified(name: &Path, before: Option<&str>, after: &str) -> String {
    let lines = lines(before.unwrap_or_default(), after);
    let mut text = String::new();
    for hunk in hunks(&lines) {
        if text.is_empty() {
            let old = before.map_or("/dev/null".to_owned(), |_| format!("a/{}", name.display()));
            let _ = writeln!(text, "--- {old}\n+++ b/{}", name.display());
        }
        text.push_str(&written(&lines, hunk));
    }
    text
}

/// Aligns the two by their longest common subsequence of lines.
fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // `common[i][j]`: how many lines `old[i..]` and `new[j..]` have in common.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

/// Where something changed, with its surroundings; what touches is one hunk.
fn hunks(lines: &[Line]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if matches!(line, Line::Same(_)) {
            continue;
        }
        let around = place.saturating_sub(CONTEXT)..(place + 1 + CONTEXT).min(lines.len());
        match hunks.last_mut() {
            Some(last) if last.end >= around.start => last.end = around.end,
            _ => hunks.push(around),
        }
    }
    hunks
}

fn written(lines: &[Line], hunk: std::ops::Range<usize>) -> String {
    let range = |other: fn(&Line) -> bool| {
        let count = |lines: &[Line]| lines.iter().filter(|line| !other(line)).count();
        let (before, length) = (count(&lines[..hunk.start]), count(&lines[hunk.clone()]));
        // An empty range is named by the line before it.
        format!("{},{length}", if length == 0 { before } else { before + 1 })
    };
    let old = range(|line| matches!(line, Line::New(_)));
    let new = range(|line| matches!(line, Line::Gone(_)));
    let mut text = format!("@@ -{old} +{new} @@\n");
    for line in &lines[hunk.clone()] {
        let _ = match line {
            Line::Same(line) => writeln!(text, " {line}"),
            Line::Gone(line) => writeln!(text, "-{line}"),
            Line::New(line) => writeln!(text, "+{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insertion_is_shown_with_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\n5\nnew\n6\n7\n8\n9\n";
        assert_eq!(
            unified(Path::new("x"), Some(before), after),
            "--- a/x\n+++ b/x\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn a_new_file_is_all_additions() {
        assert_eq!(
            unified(Path::new("x"), None, "1\n2\n"),
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+1\n+2\n"
        );
    }

    #[test]
    fn equal_texts_differ_in_nothing() {
        assert_eq!(unified(Path::new("x"), Some("1\n"), "1\n"), "");
    }
}
