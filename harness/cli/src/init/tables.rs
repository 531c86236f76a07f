//! Walking down into TOML tables, whatever way they are written.

use crate::error::{Error, Result};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The table at `path`; those on the way that are not there yet are made without a header of
/// their own.
pub(super) fn table<'a>(
    document: &'a mut DocumentMut,
    path: &[&str],
) -> Result<&'a mut dyn TableLike> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, key) in path.iter().enumerate() {
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| Error::Failed(format!("`{}` is no table", path[..=depth].join("."))))?;
    }
    Ok(table)
}

/// What stands at `path`, if anything.
pub(super) fn get<'a>(document: &'a DocumentMut, path: &[&str]) -> Option<&'a Item> {
    path.iter()
        .try_fold(document.as_item(), |item, key| item.get(key))
}

/// Sets a key that is not there yet, with a comment above it.
pub(super) fn set(table: &mut dyn TableLike, key: &str, value: toml_edit::Value, comment: &str) {
    table.insert(key, Item::Value(value));
    if let Some(mut key) = table.key_mut(key) {
        key.leaf_decor_mut().set_prefix(commented(comment));
    }
}

/// Lines of a comment as they stand before a key or a header.
pub(super) fn commented(comment: &str) -> String {
    comment.lines().map(|line| format!("# {line}\n")).collect()
}
