//! Parameters as a person types them.

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// One JSON object or array, or key=value pairs, or values by position; nothing is `{}`.
pub(super) fn read(words: &[String]) -> Result<Value> {
    if let [word] = words
        && word.starts_with(['{', '['])
    {
        return serde_json::from_str(word).map_err(|error| {
            Error::Usage(format!(
                "the parameters are not valid JSON: {error}: {word}"
            ))
        });
    }
    let pairs: Vec<Option<(&str, &str)>> = words.iter().map(|word| pair(word)).collect();
    match pairs.iter().filter(|pair| pair.is_some()).count() {
        0 if !words.is_empty() => Ok(words.iter().map(|word| value(word)).collect()),
        named if named == words.len() => {
            let mut object = Map::new();
            for (key, text) in pairs.into_iter().flatten() {
                if object.insert(key.to_owned(), value(text)).is_some() {
                    return Err(Error::Usage(format!("the parameter {key} is given twice")));
                }
            }
            Ok(Value::Object(object))
        }
        _ => Err(Error::Usage(
            "parameters are either all named (key=value) or all by position".to_owned(),
        )),
    }
}

/// `key=value`, where the key is a word: `raw(51)=` or a descriptor is a value.
fn pair(word: &str) -> Option<(&str, &str)> {
    let (key, text) = word.split_once('=')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!key.is_empty() && key.chars().all(is_word)).then_some((key, text))
}

/// What reads as JSON is that; but a number only if nothing of it is lost, and all else is text.
fn value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) if number.to_string() != text => Value::String(text.to_owned()),
        Ok(value) => value,
        Err(_) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(words: &[&str]) -> Result<Value> {
        read(
            &words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn pairs_become_an_object_with_json_where_it_reads_as_json() {
        let read = of(&[
            "amount_msat=25000000",
            "description=a coffee",
            "ok=true",
            "list=[1]",
        ]);
        let expected =
            json!({"amount_msat": 25000000, "description": "a coffee", "ok": true, "list": [1]});
        assert_eq!(read.unwrap(), expected);
    }

    #[test]
    fn plain_values_stand_by_position_and_an_object_is_taken_as_it_is() {
        assert_eq!(of(&["1", "raw(51)"]).unwrap(), json!([1, "raw(51)"]));
        assert_eq!(of(&[r#"{"a": 1}"#]).unwrap(), json!({"a": 1}));
        assert_eq!(of(&[]).unwrap(), json!({}));
    }

    #[test]
    fn long_numbers_keep_all_their_digits() {
        let hash = "1234567890123456789012345678901234567890";
        assert_eq!(of(&[hash]).unwrap(), json!([hash]));
    }

    #[test]
    fn a_mixture_and_broken_json_are_refused() {
        assert!(matches!(of(&["a=1", "2"]), Err(Error::Usage(_))));
        assert!(matches!(of(&["{a: 1}"]), Err(Error::Usage(_))));
        assert!(matches!(of(&["a=1", "a=2"]), Err(Error::Usage(_))));
    }
}
