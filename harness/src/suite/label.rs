//! From a value to the part of a trial's name that stands for it.

use std::fmt::Debug;

/// The longest that a label may get: names are typed, and become those of directories.
const LONGEST: usize = 60;

/// A value's name: its `Debug` form in snake case, so that `Store::Sqlite` becomes `sqlite`,
/// `ZeroConf { depth: 3 }` `zero_conf_depth_3`, `"a b"` `a_b`, `0.5` `0_5`, `-1` `minus_1`.
pub fn label<T: Debug>(value: &T) -> String {
    snake_case(&format!("{value:?}"))
}

fn snake_case(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut label = String::new();
    let mut separate = false;
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at + 1).copied();
        if !character.is_alphanumeric() {
            separate = true;
            if character == '-' && is_sign(before, after) {
                push(&mut label, true, "minus");
            }
            continue;
        }
        separate |= character.is_uppercase() && starts_word(before, after);
        push(&mut label, separate, &character.to_lowercase().to_string());
        separate = false;
    }
    if label.is_empty() {
        label.push_str("empty");
    }
    label.chars().take(LONGEST).collect()
}

fn push(label: &mut String, separate: bool, text: &str) {
    if separate && !label.is_empty() {
        label.push('_');
    }
    label.push_str(text);
}

/// Whether a minus is a sign and not a hyphen.
fn is_sign(before: Option<char>, after: Option<char>) -> bool {
    after.is_some_and(|after| after.is_ascii_digit())
        && !before.is_some_and(|before| before.is_alphanumeric())
}

/// Whether an upper-case letter begins a word: `zero|Conf`, `HTTP|Server`.
fn starts_word(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|before| {
        before.is_lowercase()
            || before.is_ascii_digit()
            || before.is_uppercase() && after.is_some_and(char::is_lowercase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[derive(Debug)]
    #[expect(dead_code, reason = "read by Debug only")]
    enum Store {
        Memory,
        SqliteWal,
        HTTPServer,
        Zero { depth: u32 },
    }

    #[test]
    fn variants_become_snake_case() {
        assert_eq!(label(&Store::Memory), "memory");
        assert_eq!(label(&Store::SqliteWal), "sqlite_wal");
        assert_eq!(label(&Store::HTTPServer), "http_server");
        assert_eq!(label(&Store::Zero { depth: 3 }), "zero_depth_3");
        assert_eq!(label(&Some(Store::Memory)), "some_memory");
    }

    #[test]
    fn strings_numbers_and_durations_can_be_read() {
        assert_eq!(label(&"cut, then delayed"), "cut_then_delayed");
        assert_eq!(label(&"x-1"), "x_1");
        assert_eq!(label(&-1), "minus_1");
        assert_eq!(label(&(1, -0.5)), "1_minus_0_5");
        assert_eq!(label(&1_000_000_u64), "1000000");
        assert_eq!(label(&Duration::from_millis(1500)), "1_5s");
        assert_eq!(label(&"größe"), "größe");
    }

    #[test]
    fn no_value_is_without_a_name() {
        assert_eq!(label(&""), "empty");
        assert_eq!(label(&()), "empty");
        assert_eq!(label(&"x".repeat(200)).len(), LONGEST);
    }
}
