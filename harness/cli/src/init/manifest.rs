//! The crate's own Cargo.toml: the dev-dependency and the test target.

use super::source::Source;
use super::tables::{commented, get, table};
use crate::error::{Error, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value, value};

/// The dev-dependency on `boltwright`, unless the crate depends on it already. `shared` says that
/// the workspace has it in `[workspace.dependencies]`.
pub(super) fn dependency(
    manifest: &mut DocumentMut,
    notes: &mut Vec<String>,
    source: &Source,
    shared: bool,
) -> Result<()> {
    let source = if shared {
        let mut inherited = toml_edit::InlineTable::new();
        inherited.insert("workspace", true.into());
        Value::from(inherited)
    } else {
        source.value()
    };
    for section in ["dev-dependencies", "dependencies"] {
        if let Some(found) = get(manifest, &[section, "boltwright"]) {
            let found = found.to_string().trim().to_owned();
            if found != source.to_string().trim() {
                notes.push(format!(
                    "[{section}] has boltwright = {found}, left as it is"
                ));
            }
            return Ok(());
        }
    }
    table(manifest, &["dev-dependencies"])?.insert("boltwright", value(source));
    if let Some(table) = manifest["dev-dependencies"].as_table_mut() {
        table.set_implicit(false);
    }
    Ok(())
}

/// The target `[[test]]` of this name, without libtest's harness.
pub(super) fn target(manifest: &mut DocumentMut, name: &str) -> Result<()> {
    let targets = manifest
        .entry("test")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if let Some(found) = named(targets, name) {
        return fits(found, name);
    }
    match targets {
        Item::ArrayOfTables(targets) => {
            let mut target = Table::new();
            target.insert("name", value(name));
            target.insert("harness", value(false));
            target.decor_mut().set_prefix(format!(
                "\n{}",
                commented(
                    "Boltwright runs its tests by itself: `boltwright::main!()` at the file's end."
                )
            ));
            targets.push(target);
        }
        Item::Value(Value::Array(targets)) => {
            let mut target = toml_edit::InlineTable::new();
            target.insert("name", name.into());
            target.insert("harness", false.into());
            targets.push(target);
        }
        _ => return Err(Error::Failed("`test` is no list of tables".to_owned())),
    }
    Ok(())
}

/// The target of this name, if there is one.
fn named<'a>(targets: &'a Item, name: &str) -> Option<&'a dyn TableLike> {
    let is_named =
        |target: &&dyn TableLike| target.get("name").and_then(|name| name.as_str()) == Some(name);
    match targets {
        Item::ArrayOfTables(targets) => {
            let mut targets = targets.iter().map(|target| target as &dyn TableLike);
            targets.find(is_named)
        }
        Item::Value(Value::Array(targets)) => {
            let tables = targets.iter().filter_map(Value::as_inline_table);
            let mut tables = tables.map(|target| target as &dyn TableLike);
            tables.find(is_named)
        }
        _ => None,
    }
}

/// Whether a target that is there already is what we would have written.
fn fits(target: &dyn TableLike, name: &str) -> Result<()> {
    let harness = target.get("harness").and_then(|harness| harness.as_bool());
    let path = target.get("path").and_then(|path| path.as_str());
    let problem = if harness != Some(false) {
        "it runs under libtest (no `harness = false`)".to_owned()
    } else if let Some(path) = path.filter(|path| *path != format!("tests/{name}.rs")) {
        format!("its file is {path}")
    } else {
        return Ok(());
    };
    Err(Error::Failed(format!(
        "there is a test target `{name}` already, and {problem}: \
         choose another name (`boltwright init --name NAME`)"
    )))
}
