//! `boltwright init`: adds Boltwright to a crate.
//!
//! It adds what is missing and changes nothing that is there: the dev-dependency and the test
//! target in the crate's Cargo.toml, the profile settings in the workspace's, `.config/nextest.toml`
//! beside that, and one example test. All of it is planned first, then shown (`--dry-run`) or
//! written; the second run finds nothing to do.

mod changes;
mod diff;
mod manifest;
mod nextest;
mod place;
mod profile;
mod source;
mod tables;

use crate::error::{Error, Result};
use crate::screen;
use changes::{Changes, parse, read};
use place::Place;
use source::Source;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The example test, a whole file.
const EXAMPLE: &str = include_str!("lightning.rs.txt");

const EXAMPLES: &str = "\
Examples:
  boltwright init                    the crate in this directory
  boltwright init --dry-run          only show what would change, as a diff
  boltwright init crates/wallet      a member of a workspace
  boltwright init --path ~/boltwright
                                     take Boltwright from a checkout of it

What it writes, each part only if it is missing:
  Cargo.toml             the dev-dependency, and a [[test]] target without libtest's harness
  the workspace's root   profile settings that optimise the nodes in dev and test builds
  .config/nextest.toml   a limit above the lab's own deadline, a profile `ci` with JUnit
  tests/lightning.rs     one example test

Exit codes: 0 done (or nothing to do), 1 failed and nothing written, 2 bad usage.";

/// Adds Boltwright to a crate: dependency, test target, profiles, nextest settings, one test.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Init {
    /// The crate's directory.
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// Take Boltwright from this checkout of it (its root or its folder `harness`).
    #[arg(long, value_name = "PATH", conflicts_with = "git")]
    path: Option<PathBuf>,

    /// Take Boltwright from this git repository.
    #[arg(long, value_name = "URL")]
    git: Option<String>,

    /// What the test target and its file in tests/ are called.
    #[arg(long, default_value = "lightning", value_parser = target_name)]
    name: String,

    /// Write nothing; show as a diff what would change.
    #[arg(long)]
    dry_run: bool,
}

impl Init {
    /// Plans, then shows or writes.
    pub fn run(&self) -> Result<()> {
        let place = Place::find(&self.dir)?;
        let (source, said) = self.source(&place)?;
        let changes = self.plan(&place, &source)?;
        if self.dry_run {
            let diff = changes.diff(place.workspace_dir());
            if diff.is_empty() {
                eprintln!("nothing would change");
            }
            for note in &changes.notes {
                eprintln!("note: {note}");
            }
            return screen::print(&diff);
        }
        changes.write()?;
        screen::print(&self.told(&place, &changes, said.as_deref()))
    }

    /// Where Boltwright comes from, and what to say about it if nobody asked for that.
    fn source(&self, place: &Place) -> Result<(Source, Option<String>)> {
        if let Some(path) = &self.path {
            return Ok((Source::at(path, place.dir())?, None));
        }
        if let Some(url) = &self.git {
            return Ok((Source::Git(url.clone()), None));
        }
        let source = Source::of_this_program();
        let said = match &source {
            Source::Path { written, .. } => Some(format!(
                "boltwright comes from the checkout that this command was built in, {} \
                 (a path of this machine); --path and --git choose another source",
                written.display()
            )),
            _ => None,
        };
        Ok((source, said))
    }

    /// Everything that is missing.
    fn plan(&self, place: &Place, source: &Source) -> Result<Changes> {
        let mut changes = Changes::default();
        let test = place.dir().join("tests").join(format!("{}.rs", self.name));
        self.example(&test, &mut changes)?;
        let root = read(&place.workspace_manifest)?.unwrap_or_default();
        let root = parse(&place.workspace_manifest, &root)?;
        let shared = tables::get(&root, &["workspace", "dependencies", "boltwright"]).is_some();
        changes.edit(&place.manifest, |manifest, notes| {
            manifest::dependency(manifest, notes, source, shared)?;
            manifest::target(manifest, &self.name)
        })?;
        let member = source.is_in(place.workspace_dir());
        changes.edit(&place.workspace_manifest, |manifest, notes| {
            profile::optimise(manifest, notes, member)
        })?;
        let config = place.workspace_dir().join(".config/nextest.toml");
        changes.edit(&config, |config, notes| {
            nextest::configure(config, notes, &self.name)
        })?;
        Ok(changes)
    }

    /// The example test; a file of that name that has nothing to do with us is a conflict.
    fn example(&self, test: &Path, changes: &mut Changes) -> Result<()> {
        match read(test)? {
            None => changes.create(test, EXAMPLE),
            Some(text) if text.contains("boltwright") => {}
            Some(_) => {
                return Err(Error::Failed(format!(
                    "{} is there already and does not use boltwright: \
                     choose another name (`boltwright init --name NAME`)",
                    test.display()
                )));
            }
        }
        Ok(())
    }

    /// What was done, and what to do next.
    fn told(&self, place: &Place, changes: &Changes, source: Option<&str>) -> String {
        let mut text = String::new();
        for (path, fresh) in changes.paths() {
            let what = if fresh { "created" } else { "changed" };
            let _ = writeln!(text, "{what}  {}", path.display());
        }
        if text.is_empty() {
            let _ = writeln!(
                text,
                "{} has everything already; nothing was changed",
                place.package
            );
        }
        let source = source.filter(|_| changes.paths().any(|(path, _)| path == place.manifest));
        for note in source
            .into_iter()
            .chain(changes.notes.iter().map(String::as_str))
        {
            let _ = writeln!(text, "note: {note}");
        }
        let me = screen::me();
        let mut next = Vec::new();
        if boltwright::chain::SEARCH.find().is_err() {
            next.push((
                format!("{me} install bitcoind"),
                "it is missing on this machine",
            ));
        }
        next.push((
            format!("cargo test --test {}", self.name),
            "runs the example; the first build compiles LDK, which takes minutes",
        ));
        next.push((
            "cargo nextest run".to_owned(),
            "the same with all other tests, in parallel",
        ));
        next.push((format!("{me} doctor"), "what this machine has and lacks"));
        let _ = write!(
            text,
            "\nnext, in {}:\n{}",
            place.dir().display(),
            screen::listed(&next)
        );
        text
    }
}

/// The name of a test target, which is also a file's.
fn target_name(name: &str) -> std::result::Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(fits) {
        return Err("a name of letters, digits, - and _".to_owned());
    }
    Ok(name.to_owned())
}
