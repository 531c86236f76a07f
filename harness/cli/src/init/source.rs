//! Where the crate `boltwright` comes from.

use super::changes::{parse, read};
use crate::error::{Error, Result};
use std::path::{Component, Path, PathBuf};
use toml_edit::{InlineTable, Value};

/// Where the crate `boltwright` comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A registry, by this version requirement.
    Registry(String),
    /// A directory: as it is written, and where it really is.
    Path { written: PathBuf, real: PathBuf },
    /// A git repository.
    Git(String),
}

impl Source {
    /// A directory that a person named: a checkout, or the crate in it.
    pub fn at(path: &Path, crate_dir: &Path) -> Result<Source> {
        let real = path.canonicalize().map_err(Error::file("find", path))?;
        let inside = [real.clone(), real.join("harness")];
        let Some(real) = inside.into_iter().find(|dir| is_boltwright(dir)) else {
            return Err(Error::Usage(format!(
                "there is no crate `boltwright` in {0} or in {0}/harness",
                path.display()
            )));
        };
        let written = if path.is_absolute() {
            real.clone()
        } else {
            relative(
                &real,
                &crate_dir
                    .canonicalize()
                    .map_err(Error::file("find", crate_dir))?,
            )
        };
        Ok(Source::Path { written, real })
    }

    /// What fits this very program: the checkout that it was built in, else its own version.
    pub fn of_this_program() -> Source {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let checkout = home.parent().filter(|harness| is_boltwright(harness));
        // Cargo's own copies of sources are nobody's checkout; it may clean them up.
        let cargos = home.components().any(|part| {
            part == Component::Normal("checkouts".as_ref())
                || part == Component::Normal("registry".as_ref())
        });
        match checkout {
            Some(harness) if !cargos => Source::Path {
                written: harness.to_owned(),
                real: harness.to_owned(),
            },
            _ => Source::Registry(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// Whether the crate lies in this directory: cargo takes it for a member of the workspace then.
    pub fn is_in(&self, workspace: &Path) -> bool {
        match self {
            Source::Path { real, .. } => workspace
                .canonicalize()
                .is_ok_and(|workspace| real.starts_with(workspace)),
            _ => false,
        }
    }

    /// The right-hand side of `boltwright = …`.
    pub fn value(&self) -> Value {
        let table = |key: &str, value: String| {
            let mut table = InlineTable::new();
            table.insert(key, value.into());
            table.into()
        };
        match self {
            Source::Registry(version) => version.as_str().into(),
            Source::Path { written, .. } => table("path", written.display().to_string()),
            Source::Git(url) => table("git", url.clone()),
        }
    }
}

/// Whether the Cargo.toml in `dir` is that of the crate `boltwright`.
fn is_boltwright(dir: &Path) -> bool {
    let manifest = dir.join("Cargo.toml");
    let Ok(Some(text)) = read(&manifest) else {
        return false;
    };
    parse(&manifest, &text).is_ok_and(|manifest| {
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"));
        name.and_then(|name| name.as_str()) == Some("boltwright")
    })
}

/// `to` as seen from the directory `from`; both absolute.
fn relative(to: &Path, from: &Path) -> PathBuf {
    let common = to
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(common)).collect();
    if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_where_it_is_written() {
        for (to, from, seen) in [
            ("/a/b/harness", "/a/c", "../b/harness"),
            ("/a/b", "/a/b/c", ".."),
            ("/a/b/c", "/a/b", "c"),
            ("/a", "/a", "."),
        ] {
            assert_eq!(relative(Path::new(to), Path::new(from)), Path::new(seen));
        }
    }

    #[test]
    fn this_program_was_built_in_a_checkout() {
        let Source::Path { real, .. } = Source::of_this_program() else {
            panic!("{:?}", Source::of_this_program());
        };
        assert!(real.join("src/lib.rs").exists());
    }
}
