//! Where programs are looked for.
//!
//! The order for every daemon: the environment variable that names it; this very binary, if it can
//! play the daemon ([`super::role`]); Boltwright's own folder, where `boltwright install` puts
//! things; `PATH`. A variable that names nothing usable is an error, and not a reason to look on:
//! a test must not silently run another program than it was told to.
use super::{
    Error, Step, Wait, knobs,
    role::{self},
};
use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{self, Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How long a program may take to tell its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(10);

/// A program that was found.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name: `bitcoind`.
    pub name: String,
    /// The file to execute.
    pub path: PathBuf,
    /// How it was found.
    pub origin: Origin,
    /// The `argv[0]` to start it with, if it is not `name`.
    pub argv0: Option<String>,
}

/// How a program was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Named by this environment variable.
    Variable(&'static str),
    /// Named by the test itself.
    Given,
    /// This very binary in another role.
    Role,
    /// In Boltwright's own folder.
    Installed,
    /// On `PATH`.
    Path,
}

/// What to look for and in what order: variable, (role), own folder, `PATH`.
#[derive(Debug, Clone)]
pub struct Search {
    /// File name of the program.
    pub name: &'static str,
    /// The environment variable that names it.
    pub variable: &'static str,
    /// The role in which this very binary can play it.
    pub role: Option<&'static str>,
    /// The command or words that tell how to get it.
    pub install: &'static str,
}

/// A program is nowhere to be found.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{name} not found (looked at: {}); {install}", looked.join(", "))]
pub struct NotFound {
    /// What was looked for.
    pub name: String,
    /// All places searched, in order, each with what was there.
    pub looked: Vec<String>,
    /// How to get it.
    pub install: String,
}

impl Search {
    /// Looks everywhere, in order.
    pub fn find(&self) -> Result<Program, NotFound> {
        let found = |path, origin, argv0| Program {
            name: self.name.to_owned(),
            path,
            origin,
            argv0,
        };
        let mut looked = Vec::new();
        if let Some(value) = knobs::variable(self.variable) {
            let path = absolute(Path::new(&value));
            match check(&path) {
                Ok(()) => return Ok(found(path, Origin::Variable(self.variable), None)),
                Err(problem) => {
                    return Err(NotFound {
                        name: self.name.to_owned(),
                        looked: vec![format!("{}={}: {problem}", self.variable, path.display())],
                        install: format!("correct {} or unset it", self.variable),
                    });
                }
            }
        }
        looked.push(format!("{}: not set", self.variable));
        if let Some(role) = self.role {
            let playing = role::known(role).then(role::executable);
            match playing {
                Some(Ok(path)) => return Ok(found(path, Origin::Role, Some(role.to_owned()))),
                Some(Err(error)) => looked.push(format!("this binary as {role}: {error}")),
                None => looked.push(format!("this binary as {role}: built without it")),
            }
        }
        match installed(self.name) {
            Ok(path) => match check(&path) {
                Ok(()) => return Ok(found(path, Origin::Installed, None)),
                Err(problem) => looked.push(format!("{}: {problem}", path.display())),
            },
            Err(error) => looked.push(format!("Boltwright's own folder: {error}")),
        }
        match which::which(self.name) {
            Ok(path) => return Ok(found(absolute(&path), Origin::Path, None)),
            Err(_) => looked.push("PATH: not there".to_owned()),
        }
        Err(NotFound {
            name: self.name.to_owned(),
            looked,
            install: self.install.to_owned(),
        })
    }
}

impl Program {
    /// A program given by the test itself.
    pub fn given(name: &str, path: &Path) -> Result<Program, NotFound> {
        let path = absolute(path);
        match check(&path) {
            Ok(()) => Ok(Program {
                name: name.to_owned(),
                path,
                origin: Origin::Given,
                argv0: None,
            }),
            Err(problem) => Err(NotFound {
                name: name.to_owned(),
                looked: vec![format!("{}: {problem}", path.display())],
                install: "the test itself gave this path".to_owned(),
            }),
        }
    }

    /// The first line of `program --version`, asked once per process and path.
    pub fn version_line(&self) -> super::Result<String> {
        static ASKED: Mutex<BTreeMap<(PathBuf, Option<String>), String>> =
            Mutex::new(BTreeMap::new());
        let key = (self.path.clone(), self.argv0.clone());
        // Held while asking, so that nodes which start at once ask once.
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = asked.get(&key) {
            return Ok(line.clone());
        }
        let line = self.ask_version().map_err(|problem| Error::Spawn {
            name: format!("{} --version", self.path.display()),
            problem,
        })?;
        asked.insert(key, line.clone());
        Ok(line)
    }

    fn ask_version(&self) -> Result<String, String> {
        let mut child = Command::new(&self.path)
            .arg0(self.argv0.as_ref().unwrap_or(&self.name))
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let patience = knobs::settings().map_or(VERSION_PATIENCE, |s| s.scaled(VERSION_PATIENCE));
        // A version fits the pipe's buffer, so it need not be read meanwhile.
        let ended = Wait::for_("its version")
            .timeout(patience)
            .until(|| match child.try_wait() {
                Ok(Some(status)) => Step::Done(status),
                Ok(None) => Step::NotYet("it still runs".to_owned()),
                Err(error) => Step::Never(error.to_string()),
            });
        let status = match ended {
            Ok(status) => status,
            Err(failure) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failure.to_string());
            }
        };
        let mut words = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = stdout.take(64 * 1024).read_to_end(&mut words);
        }
        let words = String::from_utf8_lossy(&words);
        match words.lines().find(|line| !line.trim().is_empty()) {
            Some(line) if status.success() => Ok(line.trim().to_owned()),
            _ => Err(format!(
                "it told no version and ended with {}",
                super::Exit::from_status(status)
            )),
        }
    }
}

/// Boltwright's own folder: `$XDG_CACHE_HOME/boltwright`, else `$HOME/.cache/boltwright`.
pub fn cache_dir() -> super::Result<PathBuf> {
    let xdg = knobs::variable("XDG_CACHE_HOME").map(PathBuf::from);
    // The XDG specification has relative paths ignored.
    if let Some(cache) = xdg.filter(|path| path.is_absolute()) {
        return Ok(cache.join("boltwright"));
    }
    match knobs::variable("HOME") {
        Some(home) => Ok(absolute(Path::new(&home)).join(".cache/boltwright")),
        None => Err(Error::Directory {
            path: "$HOME/.cache/boltwright".into(),
            problem: "neither XDG_CACHE_HOME nor HOME is set, so Boltwright has no folder"
                .to_owned(),
        }),
    }
}

/// Where `boltwright install` puts a program.
fn installed(name: &str) -> super::Result<PathBuf> {
    Ok(cache_dir()?.join(name).join("current/bin").join(name))
}

fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a file can be executed, else why not.
fn check(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("not there".to_owned()),
        Err(error) => Err(error.to_string()),
        Ok(meta) if meta.is_dir() => Err("a directory".to_owned()),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => Err("not executable".to_owned()),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Search = Search {
        name: "boltwright-nowhere",
        variable: "BOLTWRIGHT_NOWHERE_EXE",
        role: Some("boltwright-nowhere"),
        install: "run `boltwright install nowhere`",
    };

    #[test]
    fn a_search_in_vain_names_every_place_in_order_and_the_cure() {
        let error = NOWHERE.find().unwrap_err().to_string();
        let places = [
            "BOLTWRIGHT_NOWHERE_EXE",
            "this binary",
            "current/bin",
            "PATH",
        ];
        let found: Vec<_> = places.iter().map(|place| error.find(place)).collect();
        assert!(
            found.iter().all(Option::is_some) && found.is_sorted(),
            "{error}"
        );
        assert!(error.contains("boltwright install nowhere"), "{error}");
    }

    #[test]
    fn what_is_on_path_is_found_there() {
        let search = Search {
            name: "sh",
            ..NOWHERE
        };
        let program = search.find().unwrap();
        assert_eq!(program.origin, Origin::Path);
        assert!(program.path.is_absolute());
    }

    #[test]
    fn a_role_of_ours_is_found_as_this_binary() {
        let search = Search {
            role: Some(super::super::keeper::ROLE),
            ..NOWHERE
        };
        let program = search.find().unwrap();
        assert_eq!(program.origin, Origin::Role);
        assert_eq!(program.argv0.as_deref(), Some(super::super::keeper::ROLE));
    }

    #[test]
    fn a_given_path_is_checked() {
        let error = Program::given("bitcoind", Path::new("/etc/passwd")).unwrap_err();
        assert!(error.to_string().contains("not executable"), "{error}");
        let error = Program::given("bitcoind", Path::new("/etc")).unwrap_err();
        assert!(error.to_string().contains("a directory"), "{error}");
    }

    #[test]
    fn a_version_is_the_first_line() {
        let program = Program::given("sh", Path::new("/usr/bin/env")).unwrap();
        let line = program.version_line().unwrap();
        assert!(line.contains("env") && !line.contains('\n'), "{line}");
    }

    #[test]
    fn a_program_without_a_version_says_how_it_ended() {
        let program = Program::given("false", Path::new("/bin/false")).unwrap();
        let error = Program {
            argv0: Some("x".into()),
            ..program
        }
        .version_line();
        // GNU's false has a version; others' exit with 1 and say nothing.
        if let Err(error) = error {
            assert!(error.to_string().contains("exit code 1"), "{error}");
        }
    }
}
