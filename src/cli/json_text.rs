//! JSON text as a value, in which no object has a name twice: of two values one would be lost in silence.

use hashbrown::HashSet;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::fmt;

/// Reads a text.
///
/// # Errors
/// It is not JSON, a number is out of range, or an object has a name twice; with line and column.
pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str::<Distinct>(text).map(|Distinct(json)| json)
}

/// The items of a list, as texts that nobody has looked into.
///
/// # Errors
/// It is no JSON list.
pub fn items(text: &str) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(text)
}

/// The entries of an object, their values as texts that nobody has looked into.
///
/// # Errors
/// It is no JSON object, or has a name twice.
pub fn entries(text: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    serde_json::from_str::<Entries<'_>>(text).map(|Entries(entries)| entries)
}

/// An object with distinct names.
struct Entries<'de>(Vec<(String, &'de RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'de>, D::Error> {
        deserializer.deserialize_map(EntriesVisitor).map(Entries)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut names) = (Vec::new(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(twice(&name));
            }
            entries.push((name, map.next_value()?));
        }
        Ok(entries)
    }
}

fn twice<E: Error>(name: &str) -> E {
    E::custom(format!("an object has two entries \"{}\"", name.escape_debug()))
}

/// A value whose objects have distinct names.
struct Distinct(Json);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distinct, D::Error> {
        deserializer.deserialize_any(DistinctVisitor).map(Distinct)
    }
}

/// Makes the value; lists and objects hold values of the same kind.
#[derive(Clone, Copy)]
struct DistinctVisitor;

impl<'de> DeserializeSeed<'de> for DistinctVisitor {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(twice(&name));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(name, value);
        }
        Ok(Json::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let text = r#"{"a": [1, -2, 18446744073709551615, 0.1, 1e300, null, true, "x\n"], "b": {"a": {}}}"#;
        let plain: Json = serde_json::from_str(text).expect("JSON");
        assert_eq!(parse(text).expect("JSON"), plain);
        let error = parse("{\"a\": 1,\n \"b\": [{\"c\": 1, \"c\": 2}]}").expect_err("two entries");
        let error = error.to_string();
        assert!(error.starts_with("an object has two entries \"c\" at line 2 column "), "{error}");
        assert!(parse("1e400").is_err() && parse("{} 1").is_err() && parse(&"[".repeat(10_000)).is_err());
    }
}
