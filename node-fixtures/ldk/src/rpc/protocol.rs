//! Requests and answers of JSON-RPC 2.0.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The longest line that is read.
pub(crate) const LONGEST_LINE: usize = 1024 * 1024;

/// Error codes: the standard's, and ours by what refused.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const UNKNOWN_METHOD: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    pub(crate) const PEER: i64 = 1;
    pub(crate) const CHAIN: i64 = 2;
    pub(crate) const CHANNEL: i64 = 3;
    pub(crate) const PAYMENT: i64 = 4;
    pub(crate) const TIMEOUT: i64 = 5;
    pub(crate) const STOPPING: i64 = 6;
}

/// An error answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Failure {
    pub(crate) fn new(code: i64, message: impl std::fmt::Display) -> Self {
        Failure {
            code,
            message: message.to_string(),
            data: None,
        }
    }

    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// A request that is well formed.
#[derive(Debug)]
pub(crate) struct Request {
    pub id: Value,
    pub method: String,
    params: Map<String, Value>,
}

impl Request {
    /// Reads the parameters into the type that a method expects; its fields are the names.
    pub(crate) fn params<T: DeserializeOwned>(self) -> Result<T, Failure> {
        serde_json::from_value(Value::Object(self.params)).map_err(|error| {
            Failure::new(
                code::INVALID_PARAMS,
                format!("the parameters of {} do not fit: {error}", self.method),
            )
        })
    }
}

/// Reads a request from a line. A failure carries the id to answer with.
pub(crate) fn parse(line: &[u8]) -> Result<Request, (Value, Failure)> {
    let invalid = |id: &Value, why: &str| {
        (
            id.clone(),
            Failure::new(code::INVALID_REQUEST, format!("not a request: {why}")),
        )
    };
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let failure = Failure::new(code::PARSE, format!("this line is not JSON: {error}"));
        (Value::Null, failure)
    })?;
    let Value::Object(mut object) = value else {
        let why = if value.is_array() {
            "batches are not served, send one request a line"
        } else {
            "expected an object"
        };
        return Err(invalid(&Value::Null, why));
    };
    let id = match object.remove("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id,
        Some(_) => return Err(invalid(&Value::Null, "id must be a string or a number")),
        // A request that expects no answer would leave its sender in the dark.
        None => return Err(invalid(&Value::Null, "id is missing")),
    };
    if object.remove("jsonrpc") != Some(json!("2.0")) {
        return Err(invalid(&id, "jsonrpc must be \"2.0\""));
    }
    let method = match object.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid(&id, "method must be a string")),
        None => return Err(invalid(&id, "method is missing")),
    };
    let params = match object.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            let why = "params must be an object: parameters go by name";
            return Err((id, Failure::new(code::INVALID_PARAMS, why)));
        }
    };
    if let Some(name) = object.keys().next() {
        return Err(invalid(&id, &format!("unknown field {name:?}")));
    }
    Ok(Request { id, method, params })
}

/// Writes an answer as one line.
pub(crate) fn answer(id: &Value, outcome: Result<Value, Failure>) -> Vec<u8> {
    let value = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(failure) => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {
                "code": failure.code,
                "message": failure.message,
                "data": failure.data,
            },
        }),
    };
    // A `Value` always serialises, and never with a line break.
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Value, i64, String) {
        let (id, failure) = parse(line.as_bytes()).expect_err("must be refused");
        (id, failure.code, failure.message)
    }

    #[test]
    fn a_request_is_read() {
        let line = br#"{"jsonrpc":"2.0","id":"a","method":"getinfo","params":{}}"#;
        let request = parse(line).expect("is a request");
        assert_eq!(
            (request.id, request.method.as_str()),
            (json!("a"), "getinfo")
        );
    }

    #[test]
    fn what_is_no_request_is_refused_in_words() {
        let cases = [
            ("{", code::PARSE, "not JSON"),
            ("\u{fffd}", code::PARSE, "not JSON"),
            ("7", code::INVALID_REQUEST, "expected an object"),
            ("[]", code::INVALID_REQUEST, "batches"),
            ("{}", code::INVALID_REQUEST, "id is missing"),
            (r#"{"id":{}}"#, code::INVALID_REQUEST, "string or a number"),
            (
                r#"{"id":1,"method":"help"}"#,
                code::INVALID_REQUEST,
                "jsonrpc",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1}"#,
                code::INVALID_REQUEST,
                "method is missing",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":2}"#,
                code::INVALID_REQUEST,
                "method must",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#,
                code::INVALID_PARAMS,
                "by name",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","x":1}"#,
                code::INVALID_REQUEST,
                "unknown field",
            ),
        ];
        for (line, code, words) in cases {
            let (_, got, message) = refused(line);
            assert_eq!(got, code, "{line}");
            assert!(message.contains(words), "{line}: {message}");
        }
        assert_eq!(refused(r#"{"id":9,"method":"help"}"#).0, json!(9));
    }

    #[test]
    fn an_answer_is_one_line() {
        let line = answer(&json!(1), Ok(json!({ "text": "two\nlines" })));
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(line.last(), Some(&b'\n'));
    }
}
