//! The JSON of an op list as typed entries, before anything is resolved.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The whole file.
#[derive(Deserialize)]
pub(super) struct FileEntry {
    pub(super) format: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) producer: Option<String>,
    pub(super) tensors: Vec<TensorEntry>,
    pub(super) ops: Vec<OpEntry>,
    #[serde(default)]
    pub(super) inputs: Vec<Reference>,
    #[serde(default)]
    pub(super) outputs: Vec<Reference>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, Value>,
}

/// One tensor.
#[derive(Deserialize)]
pub(super) struct TensorEntry {
    #[serde(default)]
    pub(super) id: Option<u64>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) dtype: Option<String>,
    #[serde(default)]
    pub(super) shape: Option<Vec<u64>>,
    #[serde(default)]
    pub(super) bytes: Option<Size>,
    #[serde(default)]
    pub(super) kind: Option<String>,
    /// Outer `None`: not said. Inner `None`: no view.
    #[serde(default, deserialize_with = "said")]
    pub(super) alias_of: Option<Option<Reference>>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, Value>,
}

/// One op.
#[derive(Deserialize)]
pub(super) struct OpEntry {
    #[serde(default)]
    pub(super) name: Option<String>,
    pub(super) op: String,
    #[serde(default)]
    pub(super) inputs: Vec<Reference>,
    #[serde(default)]
    pub(super) outputs: Vec<Reference>,
    #[serde(default)]
    pub(super) in_place: Option<Vec<(Reference, Reference)>>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, Value>,
}

/// A tensor by its id or its name.
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged, expecting = "this must be a tensor's id (a whole number) or its name (a text)")]
pub(super) enum Reference {
    Id(u64),
    Name(String),
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A number of bytes, as a number or as a person writes it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "this must be a number of bytes from 0 to 2^64, or a text such as \"4 MiB\"")]
pub(super) enum Size {
    Bytes(u64),
    Text(String),
}

/// Tells `null` from a field that is not there.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Reference>>, D::Error> {
    Option::<Reference>::deserialize(deserializer).map(Some)
}
