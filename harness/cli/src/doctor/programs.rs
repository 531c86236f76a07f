//! The programs: bitcoind, the implementations, and what runs tests.

use super::{Finding, Verdict};
use boltwright::chain::SEARCH;
use boltwright::host::program::{NotFound, cache_dir};
use boltwright::host::{Origin, Program};
use boltwright::node::{self, KINDS};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Looks for all of them.
pub(super) fn look() -> Vec<Finding> {
    let mut findings = vec![program("bitcoind", SEARCH.find(), Verdict::Bad)];
    for kind in KINDS {
        // The default implementation is what most tests ask for; others are skipped if absent.
        let missing = if kind.name() == node::ldk::NAME {
            Verdict::Bad
        } else {
            Verdict::Note
        };
        findings.push(program(kind.name(), kind.find(), missing));
    }
    findings.push(nextest());
    findings
}

fn program(subject: &str, found: Result<Program, NotFound>, missing: Verdict) -> Finding {
    let program = match found {
        Ok(program) => program,
        Err(error) => {
            let looked = error.looked.join("\n");
            return Finding::new(subject, missing, format!("not found; looked at\n{looked}"))
                .cure(error.install)
                .data(json!({"found": false}));
        }
    };
    let embedded = program.origin == Origin::Role;
    let place = if embedded {
        "this very program".to_owned()
    } else {
        program.path.display().to_string()
    };
    let rule = match &program.origin {
        Origin::Variable(variable) => format!("named by {variable}"),
        Origin::Given => "given".to_owned(),
        Origin::Role => "embedded".to_owned(),
        Origin::Installed => "in Boltwright's own folder".to_owned(),
        Origin::Path => "on PATH".to_owned(),
    };
    let version = program.version_line();
    let data = json!({
        "found": true,
        "path": (!embedded).then(|| program.path.clone()),
        "rule": rule,
        "version": version.as_ref().ok(),
    });
    let finding = match &version {
        Ok(version) => Finding::new(
            subject,
            Verdict::Good,
            format!("{version}\n{place} ({rule})"),
        ),
        Err(error) => Finding::new(subject, missing, format!("does not run: {error} ({rule})")),
    };
    let finding = finding.data(data);
    if embedded && !node::ldk::is_optimised() {
        return Finding {
            verdict: Verdict::Note,
            ..finding
        }
        .cure("it is not optimised: build with --release, or with the profile settings of `boltwright init`");
    }
    finding
}

fn nextest() -> Finding {
    let subject = "cargo-nextest";
    let own = cache_dir().ok().and_then(newest_own);
    let on_path = version_of(PathBuf::from("cargo-nextest"));
    let found = on_path
        .map(|version| (version, "on PATH".to_owned()))
        .or_else(|| {
            own.and_then(|path| Some((version_of(path.clone())?, path.display().to_string())))
        });
    match found {
        Some((version, place)) => {
            Finding::new(subject, Verdict::Good, format!("{version} ({place})"))
                .data(json!({"found": true, "version": version, "place": place}))
        }
        None => Finding::new(
            subject,
            Verdict::Note,
            "not found; `cargo test` runs the same tests, without a process for each",
        )
        .cure("cargo install --locked cargo-nextest")
        .data(json!({"found": false})),
    }
}

/// Where `ci/setup` builds one.
fn newest_own(cache: PathBuf) -> Option<PathBuf> {
    let homes = std::fs::read_dir(cache.join("cargo-nextest")).ok()?;
    let programs = homes
        .flatten()
        .map(|home| home.path().join("bin/cargo-nextest"));
    programs.filter(|program| program.is_file()).max()
}

fn version_of(program: PathBuf) -> Option<String> {
    let output = Command::new(program)
        .args(["nextest", "--version"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().next()?.trim().to_owned();
    output.status.success().then_some(line)
}
