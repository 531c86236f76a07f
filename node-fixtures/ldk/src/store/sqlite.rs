//! The durable store: one table in one sqlite database.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit is one append and one fsync, and
//! it is on the disk when it returns.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use super::{Backend, Change, Key, StoreError};

/// Marks the file as ours ("BWLK"), so that another program's database is refused.
const APPLICATION_ID: i32 = 0x4257_4c4b;
/// The layout of the table and of the records in it.
const FORMAT: i32 = 1;

pub(super) struct SqliteStore {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl SqliteStore {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = prepare(path).map_err(|error| name(path, error))?;
        let (application, format) = identity(&connection).map_err(|error| name(path, error))?;
        if application != APPLICATION_ID || format != FORMAT {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                why: format!(
                    "its application id is {application:#x} and its format {format}, \
                     expected {APPLICATION_ID:#x} and {FORMAT}"
                ),
            });
        }
        let verdict: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| name(path, error))?;
        if verdict != "ok" {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                why: verdict,
            });
        }
        Ok(SqliteStore {
            path: path.to_owned(),
            connection: Mutex::new(connection),
        })
    }

    fn with<T>(
        &self,
        act: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        act(&mut connection).map_err(|error| name(&self.path, error))
    }
}

fn prepare(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let empty: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if empty == 0 {
        connection.execute_batch(&format!(
            "BEGIN;
             PRAGMA application_id = {APPLICATION_ID};
             PRAGMA user_version = {FORMAT};
             CREATE TABLE records (
                 space TEXT NOT NULL,
                 subspace TEXT NOT NULL,
                 name TEXT NOT NULL,
                 value BLOB NOT NULL,
                 PRIMARY KEY (space, subspace, name)
             );
             COMMIT;"
        ))?;
    }
    Ok(connection)
}

fn identity(connection: &Connection) -> rusqlite::Result<(i32, i32)> {
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let format = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application, format))
}

/// Tells a damaged file from one that cannot be used for another reason.
fn name(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            path,
            why: error.to_string(),
        },
        _ => StoreError::Sqlite {
            path,
            source: error,
        },
    }
}

impl Backend for SqliteStore {
    fn read(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(|connection| {
            connection
                .prepare_cached(
                    "SELECT value FROM records WHERE space = ?1 AND subspace = ?2 AND name = ?3",
                )?
                .query_row(params![key.primary, key.secondary, key.name], |row| {
                    row.get(0)
                })
                .optional()
        })
    }

    fn list(&self, primary: &str, secondary: &str) -> Result<Vec<String>, StoreError> {
        self.with(|connection| {
            connection
                .prepare_cached(
                    "SELECT name FROM records WHERE space = ?1 AND subspace = ?2 ORDER BY name",
                )?
                .query_map(params![primary, secondary], |row| row.get(0))?
                .collect()
        })
    }

    fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            {
                let mut write = transaction.prepare_cached(
                    "INSERT INTO records (space, subspace, name, value) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (space, subspace, name) DO UPDATE SET value = excluded.value",
                )?;
                let mut remove = transaction.prepare_cached(
                    "DELETE FROM records WHERE space = ?1 AND subspace = ?2 AND name = ?3",
                )?;
                for (key, value) in &changes {
                    match value {
                        Some(value) => {
                            write.execute(params![key.primary, key.secondary, key.name, value])?
                        }
                        None => remove.execute(params![key.primary, key.secondary, key.name])?,
                    };
                }
            }
            transaction.commit()
        })
    }

    /// Moves the write-ahead log into the database, so that one file holds everything.
    fn close(&self) -> Result<(), StoreError> {
        self.with(|connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }
}
