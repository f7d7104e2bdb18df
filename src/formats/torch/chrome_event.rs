//! One event of a Chrome trace, with the fields that memory needs; everything else is passed over.
//!
//! Fields of other events may have any type under the same names, so nothing here fails because of a type.

use std::fmt;

use arenascope_planner::stacks::TextId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// An operator or a function while it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) begin_us: f64,
    pub(super) end_us: f64,
    pub(super) thread: TextId,
    pub(super) name: TextId,
    /// Whether it is a Python function rather than an operator.
    pub(super) is_python: bool,
}

/// What a `[memory]` event carries.
#[derive(Default)]
pub(super) struct Args {
    pub(super) address: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) total_allocated: Option<i64>,
    pub(super) device_kind: Option<i64>,
    pub(super) device_index: Option<i64>,
}

/// An event as it is in the file.
#[derive(Default)]
pub(super) struct RawEvent {
    phase: String,
    category: String,
    pub(super) name: String,
    pub(super) time_us: Option<f64>,
    duration_us: Option<f64>,
    pub(super) process: String,
    pub(super) thread: String,
    pub(super) args: Args,
}

impl RawEvent {
    /// The event as something that runs, its thread and name left open; `None` if it is of another kind.
    pub(super) fn span(&self) -> Option<Span> {
        let is_python = self.category == "python_function";
        let runs = self.phase == "X" && (is_python || matches!(self.category.as_str(), "cpu_op" | "Operator"));
        let (begin_us, duration_us) = (self.time_us.filter(|_| runs)?, self.duration_us.unwrap_or(0.0));
        Some(Span { begin_us, end_us: begin_us + duration_us, thread: TextId(0), name: TextId(0), is_python })
    }
}

impl<'de> Deserialize<'de> for RawEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = RawEvent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawEvent, A::Error> {
        let mut event = RawEvent::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "ph" => event.phase = map.next_value::<Scalar>()?.into_text(),
                "cat" => event.category = map.next_value::<Scalar>()?.into_text(),
                "name" => event.name = map.next_value::<Scalar>()?.into_text(),
                "ts" => event.time_us = map.next_value::<Scalar>()?.number(),
                "dur" => event.duration_us = map.next_value::<Scalar>()?.number(),
                "pid" => event.process = map.next_value::<Scalar>()?.into_text(),
                "tid" => event.thread = map.next_value::<Scalar>()?.into_text(),
                "args" => event.args = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(event)
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgsVisitor)
    }
}

struct ArgsVisitor;

impl<'de> Visitor<'de> for ArgsVisitor {
    type Value = Args;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arguments of an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Args, A::Error> {
        let mut args = Args::default();
        while let Some(key) = map.next_key::<String>()? {
            let field = match key.as_str() {
                "Addr" => &mut args.address,
                "Bytes" => &mut args.bytes,
                "Total Allocated" => &mut args.total_allocated,
                "Device Type" => &mut args.device_kind,
                "Device Id" => &mut args.device_index,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *field = map.next_value::<Scalar>()?.whole();
        }
        Ok(args)
    }

    fn visit_unit<E>(self) -> Result<Args, E> {
        Ok(Args::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Args, E> {
        Ok(Args::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Args, A::Error> {
        skip(seq).map(|()| Args::default())
    }
}

/// A number, a text, or something else that is passed over.
enum Scalar {
    Whole(i64),
    Number(f64),
    Text(String),
    Other,
}

impl Scalar {
    fn whole(&self) -> Option<i64> {
        if let Self::Whole(number) = *self { Some(number) } else { None }
    }

    fn number(&self) -> Option<f64> {
        match *self {
            #[expect(clippy::cast_precision_loss, reason = "microseconds stay far below 2^53")]
            Self::Whole(number) => Some(number as f64),
            Self::Number(number) => Some(number),
            Self::Text(ref text) => text.parse().ok(),
            Self::Other => None,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
            Self::Other => String::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number.cast_signed()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Scalar, A::Error> {
        skip(seq).map(|()| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

fn skip<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}
