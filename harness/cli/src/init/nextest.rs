//! The workspace's .config/nextest.toml: a limit that lies above the lab's own, and a profile for
//! CI that writes JUnit.

use super::tables::{commented, get, set, table};
use crate::error::{Error, Result};
use std::time::Duration;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

/// A lab ends itself after 100 s, or three times that on a slow machine: `BOLTWRIGHT_DEADLINE`.
const LAB: Duration = Duration::from_secs(300);

const WHY: &str = "\
A lab ends itself at BOLTWRIGHT_DEADLINE (100 s; three times that with SLOW_MACHINE=1), with a report
that says what it was waiting for. nextest's own limit must lie above that: 11 x 30 s.";

/// Adds what is missing; what is there stays as it is. `test` is the name of the test target.
pub(super) fn configure(
    config: &mut DocumentMut,
    notes: &mut Vec<String>,
    test: &str,
) -> Result<()> {
    match get(config, &["profile", "default", "slow-timeout"]) {
        None => set(
            table(config, &["profile", "default"])?,
            "slow-timeout",
            slow_timeout(),
            WHY,
        ),
        Some(limit) => match kills_after(limit) {
            Some(limit) if limit <= LAB => {
                notes.push(format!(
                    "nextest's slow-timeout ends a test after {} s, before its lab could report: \
                     the tests in `{test}` get a longer one",
                    limit.as_secs()
                ));
                exempt(config, test)?;
            }
            _ => {}
        },
    }
    if get(config, &["profile", "ci"]).is_none() {
        let comment = "For CI: all failures of one run, and target/nextest/ci/junit.xml.";
        set(
            table(config, &["profile", "ci"])?,
            "fail-fast",
            false.into(),
            comment,
        );
    }
    if get(config, &["profile", "ci", "junit", "path"]).is_none() {
        table(config, &["profile", "ci", "junit"])?.insert("path", value("junit.xml"));
    }
    Ok(())
}

fn slow_timeout() -> Value {
    let mut limit = InlineTable::new();
    limit.insert("period", "30s".into());
    limit.insert("terminate-after", 11.into());
    // From SIGTERM, on which a lab reports, to SIGKILL.
    limit.insert("grace-period", "10s".into());
    limit.into()
}

/// When nextest would end a test by this setting, if it ever would.
fn kills_after(limit: &Item) -> Option<Duration> {
    let times = limit.get("terminate-after")?.as_integer()?;
    let period = humantime::parse_duration(limit.get("period")?.as_str()?).ok()?;
    Some(period.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX)))
}

/// A limit of their own for the tests of this target.
fn exempt(config: &mut DocumentMut, test: &str) -> Result<()> {
    let filter = format!("binary(={test})");
    let overrides = table(config, &["profile", "default"])?
        .entry("overrides")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match overrides {
        Item::ArrayOfTables(overrides) => {
            if overrides
                .iter()
                .any(|one| one.get("filter").and_then(Item::as_str) == Some(filter.as_str()))
            {
                return Ok(());
            }
            let mut one = Table::new();
            one.insert("filter", value(filter));
            one.insert("slow-timeout", value(slow_timeout()));
            one.decor_mut().set_prefix(format!("\n{}", commented(WHY)));
            overrides.push(one);
        }
        Item::Value(Value::Array(overrides)) => {
            let filter_of = |one: &Value| {
                Some(one.as_inline_table()?.get("filter")?.as_str() == Some(filter.as_str()))
            };
            if overrides.iter().any(|one| filter_of(one) == Some(true)) {
                return Ok(());
            }
            let mut one = InlineTable::new();
            one.insert("filter", filter.into());
            one.insert("slow-timeout", slow_timeout());
            overrides.push(one);
        }
        _ => {
            return Err(Error::Failed(
                "`profile.default.overrides` is no list".to_owned(),
            ));
        }
    }
    Ok(())
}
