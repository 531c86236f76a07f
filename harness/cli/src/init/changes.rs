//! The files that are to be changed: shown as a diff, or written, each in one stroke.

use super::diff;
use crate::error::{Error, Result};
use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};
use toml_edit::DocumentMut;

/// What will be done, and what was left alone and why.
#[derive(Debug, Default)]
pub(super) struct Changes {
    files: Vec<File>,
    /// Remarks for the person: what was found and left as it is.
    pub notes: Vec<String>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    before: Option<String>,
    after: String,
}

impl Changes {
    /// Edits the TOML file at `path`, as it will be after the edits before this one.
    pub fn edit(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&mut DocumentMut, &mut Vec<String>) -> Result<()>,
    ) -> Result<()> {
        let (before, now) = match self.files.iter().find(|file| file.path == path) {
            Some(file) => (file.before.clone(), file.after.clone()),
            None => {
                let text = read(path)?;
                (text.clone(), text.unwrap_or_default())
            }
        };
        let mut document = parse(path, &now)?;
        edit(&mut document, &mut self.notes).map_err(|error| match error {
            Error::Failed(words) => Error::Failed(format!("{}: {words}", path.display())),
            other => other,
        })?;
        self.put(path, before, document.to_string());
        Ok(())
    }

    /// Adds a file that is not there yet.
    pub fn create(&mut self, path: &Path, text: &str) {
        self.put(path, None, text.to_owned());
    }

    fn put(&mut self, path: &Path, before: Option<String>, after: String) {
        self.files.retain(|file| file.path != path);
        if before.as_deref() != Some(after.as_str()) {
            self.files.push(File {
                path: path.to_owned(),
                before,
                after,
            });
        }
    }

    /// The files that will be other than they are.
    pub fn paths(&self) -> impl Iterator<Item = (&Path, bool)> {
        let fresh = |file: &File| file.before.is_none();
        self.files
            .iter()
            .map(move |file| (file.path.as_path(), fresh(file)))
    }

    /// All of it as one unified diff, with paths relative to `base`.
    pub fn diff(&self, base: &Path) -> String {
        let one = |file: &File| {
            let name = file.path.strip_prefix(base).unwrap_or(&file.path);
            diff::unified(name, file.before.as_deref(), &file.after)
        };
        self.files.iter().map(one).collect()
    }

    /// Writes all files: each beside its place first, then renamed into it, so that none is ever
    /// half written. If it is cut short, running it again does the rest.
    pub fn write(&self) -> Result<()> {
        self.files
            .iter()
            .try_for_each(|file| file.write().map_err(Error::file("write", &file.path)))
    }
}

impl File {
    fn write(&self) -> io::Result<()> {
        // Through a symbolic link: what it points to is changed, and the link stays.
        let path = match self.before {
            Some(_) => fs::canonicalize(&self.path)?,
            None => self.path.clone(),
        };
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)?;
        let mut draft = tempfile::Builder::new()
            .prefix(".boltwright-")
            .permissions(permissions(&path))
            .tempfile_in(dir)?;
        draft.write_all(self.after.as_bytes())?;
        draft.as_file().sync_all()?;
        match self.before {
            Some(_) => draft.persist(&path)?,
            None => draft.persist_noclobber(&path)?,
        };
        Ok(())
    }
}

/// The rights of the file that is replaced, else what a new file gets.
fn permissions(path: &Path) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(path) {
        Ok(metadata) => metadata.permissions(),
        Err(_) => fs::Permissions::from_mode(0o666),
    }
}

/// The text of a file, `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path)(error)),
    }
}

/// A TOML file, editable in place.
pub(super) fn parse(path: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error| {
        let error: toml_edit::TomlError = error;
        Error::Failed(format!("{} is not valid TOML: {error}", path.display()))
    })
}
