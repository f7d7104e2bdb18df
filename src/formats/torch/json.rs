//! Snapshots as JSON, read from the inside out into the same store as pickles; and which kind of JSON a file is.

use std::fmt;
use std::io::{BufReader, Read};

use arenascope_planner::workload::Workload;
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::polled::{Polled, Position};
use super::store::{Store, Value, memory_limit};
use super::{Reading, snapshot};
use crate::error::FormatError;

/// The kinds of JSON that are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Snapshot,
    ChromeTrace,
    MemoryTimeline,
    OpList,
}

/// Items of a list that are handed to the store at once.
const BATCH: usize = 1024;

/// Reads a snapshot.
pub(crate) fn read<R: Read>(reading: &Reading<'_>, source: R) -> Result<Workload, FormatError> {
    let position = Position::default();
    let mut store = Store::new();
    let polled = BufReader::with_capacity(1 << 16, Polled { source, reading, position: &position });
    let mut parser = serde_json::Deserializer::from_reader(polled);
    let root = Build { store: &mut store, position: &position }.deserialize(&mut parser);
    let root = root.and_then(|root| parser.end().map(|()| root)).map_err(|error| reading.json_error(&error, &position))?;
    snapshot::workload(reading, root, store)
}

/// Makes one value of the store.
struct Build<'a> {
    store: &'a mut Store,
    position: &'a Position,
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plain data")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.cast_signed()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.store.text(value).map(Value::Text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let list = self.store.new_list().map_err(A::Error::custom)?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Build { store: &mut *self.store, position: self.position })? {
            items.push(item);
            if items.len() == BATCH {
                self.store.extend(list, &items).map_err(A::Error::custom)?;
                items.clear();
            }
        }
        if !items.is_empty() {
            self.store.extend(list, &items).map_err(A::Error::custom)?;
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key_seed(Build { store: &mut *self.store, position: self.position })? {
            pairs.push(key);
            pairs.push(map.next_value_seed(Build { store: &mut *self.store, position: self.position })?);
        }
        self.store.limit_bytes = memory_limit(self.position.bytes.get());
        self.store.dict(&pairs).map_err(A::Error::custom)
    }
}

/// The kind of a JSON file by its first bytes; `None` if they do not say.
pub(crate) fn kind_of_head(head: &str) -> Option<Kind> {
    let text = head.trim_start_matches('\u{feff}').trim_start();
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.trim_start();
        return match inner.chars().next() {
            Some('[') => Some(Kind::MemoryTimeline),
            Some('{') => outer_keys(inner).iter().find_map(|key| match *key {
                "total_size" | "blocks" | "segment_type" | "allocated_size" => Some(Kind::Snapshot),
                "ph" | "ts" | "cat" => Some(Kind::ChromeTrace),
                _ => None,
            }),
            _ => None,
        };
    }
    outer_keys(text).iter().find_map(|key| kind_of_key(key))
}

fn kind_of_key(key: &str) -> Option<Kind> {
    match key {
        "segments" | "device_traces" | "allocator_settings" | "external_annotations" => Some(Kind::Snapshot),
        "traceEvents" | "deviceProperties" | "schemaVersion" | "displayTimeUnit" | "baseTimeNanoseconds" => Some(Kind::ChromeTrace),
        "format" | "tensors" | "ops" => Some(Kind::OpList),
        _ => None,
    }
}

/// The keys of the first object of a text that may be cut.
fn outer_keys(text: &str) -> Vec<&str> {
    let (mut keys, mut depth, mut start) = (Vec::new(), 0_u32, None);
    let (mut is_escaped, mut last_text) = (false, None);
    for (position, byte) in text.bytes().enumerate() {
        match (start, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(begin), b'"') => {
                last_text = text.get(begin..position);
                start = None;
            }
            (Some(_), _) => {}
            (None, b'"') => start = Some(position + 1),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            (None, b':') if depth == 1 => keys.extend(last_text),
            (None, _) => {}
        }
    }
    keys
}

/// The kind of a JSON object whose first bytes do not say, by all its keys; op lists are everything else. Damaged files
/// count as op lists too: their reader says what is wrong.
pub(crate) fn kind_of_all<R: Read>(reading: &Reading<'_>, source: R) -> Kind {
    let position = Position::default();
    let polled = BufReader::with_capacity(1 << 16, Polled { source, reading, position: &position });
    let mut parser = serde_json::Deserializer::from_reader(polled);
    parser.deserialize_any(Keys).ok().flatten().unwrap_or(Kind::OpList)
}

/// Walks over an object and looks at its keys only.
struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Option<Kind>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kind = None;
        while let Some(key) = map.next_key::<String>()? {
            kind = kind.or_else(|| kind_of_key(&key));
            map.next_value::<IgnoredAny>()?;
        }
        Ok(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keys_tell_the_kind() {
        assert_eq!(kind_of_head(r#"{"segments": [{"ops": 1"#), Some(Kind::Snapshot));
        assert_eq!(kind_of_head(r#"{"note": {"segments": []}, "format": "op"#), Some(Kind::OpList));
        assert_eq!(kind_of_head(r#" {"schemaVersion": 1"#), Some(Kind::ChromeTrace));
        assert_eq!(kind_of_head("[[1, 2"), Some(Kind::MemoryTimeline));
        assert_eq!(kind_of_head(r#"[{"device": 0, "address": 1, "total_size": 2"#), Some(Kind::Snapshot));
        assert_eq!(kind_of_head(r#"[{"ph": "X", "#), Some(Kind::ChromeTrace));
        assert_eq!(kind_of_head(r#"{"a\"b": "traceEvents", "x": 1"#), None);
    }
}
