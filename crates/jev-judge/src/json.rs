//! Strict JSON: like `serde_json::Value`, but a key that stands twice in one object is a fault
//! instead of silently losing the first value.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use jev_core::error::AnswerFault;

/// Reads one JSON text.
///
/// # Errors
/// [`AnswerFault::DuplicateKey`], or [`AnswerFault::Shape`] for anything else that is not JSON
/// (`NaN`, trailing text, bad UTF-8 and more than 127 levels of nesting included).
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, AnswerFault> {
    serde_json::from_slice::<Strict>(bytes)
        .map(|strict| strict.0)
        .map_err(|error| {
            // The visitor below raises no other error of its own than the duplicate key.
            if error.is_data() {
                AnswerFault::DuplicateKey
            } else {
                AnswerFault::Shape
            }
        })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let Strict(value) = fields.next_value()?;
            if object.insert(key, value).is_some() {
                return Err(de::Error::custom("a key stands twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_or_says_a_key_twice_is_refused() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (text, fault) in [
            ("{\"a\":1,\"a\":2}", AnswerFault::DuplicateKey),
            ("{\"a\":1,\"\\u0061\":2}", AnswerFault::DuplicateKey),
            ("[{\"x\":{\"a\":1,\"a\":1}}]", AnswerFault::DuplicateKey),
            ("{\"a\":NaN}", AnswerFault::Shape),
            ("{\"a\":1e999}", AnswerFault::Shape),
            ("{\"a\":1} trailing", AnswerFault::Shape),
            ("{\"a\":1", AnswerFault::Shape),
            ("", AnswerFault::Shape),
            ("<html>", AnswerFault::Shape),
            (deep.as_str(), AnswerFault::Shape),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(fault), "{text}");
        }
        assert_eq!(parse(b"\"\xff\""), Err(AnswerFault::Shape));
    }

    #[test]
    fn everything_else_reads_as_serde_json_reads_it() {
        let text = r#"{"b":[1,-2,0.5,true,null,"x"],"a":{"c":{}}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse(text.as_bytes()), Ok(value));
    }
}
