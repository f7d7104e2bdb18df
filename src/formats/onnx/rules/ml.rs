//! Operators of the domain `ai.onnx.ml`: classical models, encoders, scalers.
//!
//! Rows are examples and columns are features; an input of one dimension is one row.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts};
use crate::onnx::value::{Fact, Gap, dtype_of, product};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "ArrayFeatureExtractor" => chosen_columns,
        "Binarizer" | "Imputer" => same,
        "CastMap" => map_to_row,
        "CategoryMapper" => mapped_categories,
        "DictVectorizer" => words_to_row,
        "FeatureVectorizer" => joined_features,
        "LabelEncoder" => encoded_labels,
        "LinearClassifier" => |call| classes(call, "classlabels_strings", "classlabels_ints"),
        "LinearRegressor" => |call| targets(call, "targets", Some(1), Dtype::F32),
        "Normalizer" | "Scaler" => same_in_floats,
        "OneHotEncoder" => one_hot,
        "SVMClassifier" => support_vector_classes,
        "SVMRegressor" => |call| Ok(vec![Fact::known(Dtype::F32, vec![rows(call)?, 1])?]),
        "TreeEnsemble" => |call| targets(call, "n_targets", None, call.dtype(0)?),
        "TreeEnsembleClassifier" => |call| classes(call, "classlabels_strings", "classlabels_int64s"),
        "TreeEnsembleRegressor" => |call| targets(call, "n_targets", None, Dtype::F32),
        "ZipMap" => |_| Err(Gap::from("it gives a list of maps, which is no tensor")),
        _ => return None,
    })
}

fn same(call: &Call<'_>) -> Facts {
    Ok(vec![call.like(0)?])
}

fn same_in_floats(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::F32, call.shape(0)?.to_vec())?])
}

fn rows(call: &Call<'_>) -> Result<u64, Gap> {
    match call.shape(0)? {
        [] | [_] => Ok(1),
        [rows, ..] => Ok(*rows),
    }
}

/// How many entries a list of texts or numbers has.
fn count(call: &Call<'_>, name: &str) -> Option<u64> {
    let entries = call.n_texts(name).or_else(|| call.ints(name).map(<[i64]>::len)).or_else(|| call.floats(name).map(<[f64]>::len));
    entries.map(|entries| entries as u64).filter(|&entries| entries > 0)
}

/// The last axis becomes the chosen columns.
fn chosen_columns(call: &Call<'_>) -> Facts {
    let (input, columns) = (call.shape(0)?, product(call.shape(1)?.iter().copied())?);
    let mut shape = match input {
        [] | [_] => vec![1],
        [outer @ .., _] => outer.to_vec(),
    };
    shape.push(columns);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn map_to_row(call: &Call<'_>) -> Facts {
    if call.text("map_form") != Some("SPARSE") {
        return Err(Gap::from("how many keys its map has only a run can tell"));
    }
    let width = call.int("max_map").and_then(|width| u64::try_from(width).ok()).ok_or_else(|| Gap::from("it has no `max_map`"))?;
    let dtype = match call.text("cast_to") {
        Some("TO_STRING") => Dtype::String,
        Some("TO_INT64") => Dtype::I64,
        _ => Dtype::F32,
    };
    Ok(vec![Fact::known(dtype, vec![1, width])?])
}

/// Texts become numbers, and numbers texts.
fn mapped_categories(call: &Call<'_>) -> Facts {
    let dtype = if call.dtype(0)? == Dtype::String { Dtype::I64 } else { Dtype::String };
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?])
}

fn words_to_row(call: &Call<'_>) -> Facts {
    let width = count(call, "string_vocabulary").or_else(|| count(call, "int64_vocabulary"));
    let width = width.ok_or_else(|| Gap::from("it has no vocabulary, or one that is too long to be read"))?;
    match call.fact(0)?.dtype {
        Dtype::Unknown => Err(Gap::from(format!("it gives {width} values of its map, and of which type they are is not known"))),
        dtype => Ok(vec![Fact::known(dtype, vec![1, width])?]),
    }
}

fn joined_features(call: &Call<'_>) -> Facts {
    let widths = call.ints("inputdimensions").ok_or_else(|| Gap::from("it has no `inputdimensions`"))?;
    let width = widths.iter().try_fold(0_u64, |sum, &width| sum.checked_add(u64::try_from(width).ok()?));
    let width = width.ok_or_else(|| Gap::from("its `inputdimensions` do not add up"))?;
    Ok(vec![Fact::known(Dtype::F32, vec![rows(call)?, width])?])
}

/// The list of values says what type they have; the first version had texts and their positions.
fn encoded_labels(call: &Call<'_>) -> Facts {
    let has = |name: &str| count(call, name).is_some() || call.has_attribute(name);
    let dtype = match () {
        () if has("values_strings") => Dtype::String,
        () if has("values_int64s") => Dtype::I64,
        () if has("values_floats") => Dtype::F32,
        () => match call.tensor("values_tensor") {
            Some(values) => dtype_of(values.data_type),
            None if has("classes_strings") => return mapped_categories(call),
            None => return Err(Gap::from("it has no list of values")),
        },
    };
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?])
}

/// A label per row, and a score per row and class.
fn classes(call: &Call<'_>, texts: &str, numbers: &str) -> Facts {
    let is_text = call.n_texts(texts).is_some_and(|texts| texts > 0);
    let rows = rows(call)?;
    let mut outputs = vec![Fact::known(if is_text { Dtype::String } else { Dtype::I64 }, vec![rows])?];
    // Without the labels the first output is known all the same.
    if let Some(classes) = count(call, if is_text { texts } else { numbers }) {
        outputs.push(Fact::known(Dtype::F32, vec![rows, classes])?);
    }
    Ok(outputs)
}

/// With support vectors per class and without probabilities a score per pair of classes, as ONNX Runtime gives it; of
/// two classes one score each.
fn support_vector_classes(call: &Call<'_>) -> Facts {
    let mut outputs = classes(call, "classlabels_strings", "classlabels_ints")?;
    let has_pairs = call.has_attribute("vectors_per_class") && !call.has_attribute("prob_a");
    if let Some(&[rows, classes]) = outputs.get(1).and_then(|scores| scores.shape.as_deref()).filter(|_| has_pairs)
        && classes > 2
    {
        let pairs = classes.checked_mul(classes - 1).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))? / 2;
        outputs[1] = Fact::known(Dtype::F32, vec![rows, pairs])?;
    }
    Ok(outputs)
}

fn targets(call: &Call<'_>, name: &str, default: Option<u64>, dtype: Dtype) -> Facts {
    let targets = call.int(name).and_then(|targets| u64::try_from(targets).ok()).or(default);
    let targets = targets.ok_or_else(|| Gap::from(format!("it has no `{name}`")))?;
    Ok(vec![Fact::known(dtype, vec![rows(call)?, targets])?])
}

fn one_hot(call: &Call<'_>) -> Facts {
    let categories = count(call, "cats_int64s").or_else(|| count(call, "cats_strings"));
    let categories = categories.ok_or_else(|| Gap::from("it has no categories, or too many to be read"))?;
    let mut shape = call.shape(0)?.to_vec();
    shape.push(categories);
    Ok(vec![Fact::known(Dtype::F32, shape)?])
}
