//! What is wrong with a JSON text, in words of the file and not of this program.

use crate::error::one_line;

/// What is wrong, without the place.
pub(crate) fn what(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    one_line(&plain(text))
}

/// The message of a parser in plain words; one that is not known stays as it is.
fn plain(text: &str) -> String {
    if text.starts_with("EOF ") {
        return "the text ends in the middle".to_owned();
    }
    if text == "recursion limit exceeded" {
        return "lists and objects are nested too deep".to_owned();
    }
    if text.starts_with("data did not match any variant") {
        return "this value has none of the forms that it may have".to_owned();
    }
    if let Some(name) = text.strip_prefix("missing field ") {
        return format!("the field {name} is missing");
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return format!("the field {name} is there twice");
    }
    let mismatch =
        text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: ")).or_else(|| text.strip_prefix("invalid length "));
    match mismatch.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, wanted)) => format!("{} stands where {} must be", self::found(found), self::wanted(wanted)),
        None => text.to_owned(),
    }
}

/// What stands in the file.
fn found(text: &str) -> String {
    for (kind, word) in [("string ", "the text"), ("integer ", "the number"), ("floating point ", "the number"), ("boolean ", "the value")] {
        if let Some(value) = text.strip_prefix(kind) {
            return format!("{word} {value}");
        }
    }
    match text {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" => "null".to_owned(),
        count if count.bytes().all(|byte| byte.is_ascii_digit()) => format!("a list of {count}"),
        other => other.to_owned(),
    }
}

/// What must stand there; types of the program become kinds of JSON.
fn wanted(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    match (text, first) {
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => format!("a whole number from 0 to {}", largest(text)),
        ("i8" | "i16" | "i32" | "i64" | "isize", _) => "a whole number".to_owned(),
        ("f32" | "f64", _) => "a number".to_owned(),
        ("a string" | "a borrowed string", _) => "a text".to_owned(),
        ("a boolean", _) => "true or false".to_owned(),
        ("a sequence", _) => "a list".to_owned(),
        ("a map", _) => "an object".to_owned(),
        (_, "struct" | "map") => "an object".to_owned(),
        (_, "tuple" | "array") | ("an array", _) => list_of(text),
        _ if text.starts_with("a tuple ") || text.starts_with("an array ") => list_of(text),
        _ => text.to_owned(),
    }
}

/// `tuple of 2 elements`, `a tuple of size 2` and `an array of length 2` are all lists of 2 elements.
fn list_of(text: &str) -> String {
    match text.split_whitespace().find_map(|word| word.parse::<u64>().ok()) {
        Some(1) => "a list of 1 element".to_owned(),
        Some(count) => format!("a list of {count} elements"),
        None => "a list".to_owned(),
    }
}

fn largest(kind: &str) -> &'static str {
    match kind {
        "u8" => "255",
        "u16" => "65535",
        "u32" => "4294967295",
        _ => "2^64 - 1",
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct InnerEntry {
        size: u64,
        #[serde(default)]
        pair: Option<(u32, u32)>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        either: Option<Either>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    enum Either {
        Number(u8),
        Text(String),
    }

    #[test]
    fn no_message_names_a_type_of_the_program() {
        for (text, expected) in [
            ("[1]", "the number `1` stands where an object must be"),
            (r#"[{"size": "x"}]"#, "the text \"x\" stands where a whole number from 0 to 2^64 - 1 must be"),
            (r#"[{"size": -1}]"#, "the number `-1` stands where a whole number from 0 to 2^64 - 1 must be"),
            (r#"[{"size": 1.5}]"#, "the number `1.5` stands where a whole number from 0 to 2^64 - 1 must be"),
            (r#"[{"size": null}]"#, "null stands where a whole number from 0 to 2^64 - 1 must be"),
            (r#"[{"size": true}]"#, "the value `true` stands where a whole number from 0 to 2^64 - 1 must be"),
            (r#"[{}]"#, "the field `size` is missing"),
            (r#"[{"size": 1, "size": 2}]"#, "the field `size` is there twice"),
            (r#"[{"size": 1, "pair": [1]}]"#, "a list of 1 stands where a list of 2 elements must be"),
            (r#"[{"size": 1, "name": []}]"#, "a list stands where a text must be"),
            (r#"[{"size": 1, "either": {}}]"#, "this value has none of the forms that it may have"),
            (r#"{"a": 1}"#, "an object stands where a list must be"),
            (r#"[{"size""#, "the text ends in the middle"),
            (r#"[{"size": 1,, "#, "key must be a string"),
        ] {
            let error = serde_json::from_str::<Vec<InnerEntry>>(text).expect_err(text);
            assert_eq!(what(&error), expected, "{text}");
        }
        for text in ["a tuple of size 2", "tuple of 2 elements", "an array of length 2"] {
            assert_eq!(wanted(text), "a list of 2 elements");
        }
        let deep = serde_json::from_str::<serde_json::Value>(&"[".repeat(1000)).expect_err("deep");
        assert_eq!(what(&deep), "lists and objects are nested too deep");
    }
}
