//! Classical models: the shapes of the operators of `ai.onnx.ml`, as its specification gives them and ONNX Runtime 1.32 executes them.

use arenascope_planner::graph::{Dtype, Graph};

use crate::built_models::{Dim, Message, graph as body, int_attribute, model, node, value};
use crate::support::{graph, parse};

const FLOAT: i64 = 1;
const INT64: i64 = 7;
const STRING: i64 = 8;

fn ints(name: &str, values: &[i64]) -> Message {
    values.iter().fold(Message::default().text(1, name).int(20, 7), |attribute, &value| attribute.int(8, value))
}

fn texts(name: &str, values: &[&str]) -> Message {
    values.iter().fold(Message::default().text(1, name).int(20, 8), |attribute, value| attribute.text(9, value))
}

fn text(name: &str, value: &str) -> Message {
    Message::default().text(1, name).int(20, 3).text(4, value)
}

/// The graph of one op: its inputs by type and dimensions, its outputs `y0` and `y1`.
fn one_op(kind: &str, inputs: &[(i64, &[i64])], attributes: &[Message]) -> Graph {
    let names: Vec<String> = (0..inputs.len()).map(|index| format!("x{index}")).collect();
    let given: Vec<Message> =
        names.iter().zip(inputs).map(|(name, (ty, dims))| value(name, *ty, &dims.iter().map(|&dim| Dim::Is(dim)).collect::<Vec<_>>())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let node = node(kind, &names, &["y0", "y1"], attributes).text(7, "ai.onnx.ml");
    let bytes = model(21, &body(&[node], &[], &given, &[]));
    graph(&parse("ml.onnx", &bytes).expect("a model")).clone()
}

fn output(graph: &Graph, name: &str) -> (Dtype, Option<Vec<u64>>) {
    let tensor = graph.tensors().iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("no `{name}`"));
    (tensor.dtype, tensor.shape.clone())
}

/// An op with its inputs and attributes, and the type and shape of its first output.
type Case = (&'static str, Vec<(i64, &'static [i64])>, Vec<Message>, (Dtype, &'static [u64]));

#[test]
fn shapes_are_those_of_the_specification() {
    let rows: Vec<(i64, &'static [i64])> = vec![(FLOAT, &[5, 4])];
    let cases: Vec<Case> = vec![
        ("ArrayFeatureExtractor", vec![(FLOAT, &[5, 4]), (INT64, &[1, 3])], vec![], (Dtype::F32, &[5, 3])),
        ("ArrayFeatureExtractor", vec![(FLOAT, &[4]), (INT64, &[2])], vec![], (Dtype::F32, &[1, 2])),
        ("Binarizer", rows.clone(), vec![], (Dtype::F32, &[5, 4])),
        ("CastMap", rows.clone(), vec![text("map_form", "SPARSE"), int_attribute("max_map", 9), text("cast_to", "TO_INT64")], (Dtype::I64, &[1, 9])),
        ("CategoryMapper", vec![(STRING, &[5])], vec![], (Dtype::I64, &[5])),
        ("CategoryMapper", vec![(INT64, &[5])], vec![], (Dtype::String, &[5])),
        ("FeatureVectorizer", vec![(FLOAT, &[5, 4]), (FLOAT, &[5, 2])], vec![ints("inputdimensions", &[4, 2])], (Dtype::F32, &[5, 6])),
        ("Imputer", vec![(INT64, &[5, 4])], vec![], (Dtype::I64, &[5, 4])),
        ("LabelEncoder", vec![(STRING, &[5, 1])], vec![ints("values_int64s", &[1, 2])], (Dtype::I64, &[5, 1])),
        ("LabelEncoder", vec![(INT64, &[5])], vec![texts("values_strings", &["a", "b"])], (Dtype::String, &[5])),
        ("LabelEncoder", vec![(STRING, &[5])], vec![texts("classes_strings", &["a"])], (Dtype::I64, &[5])),
        ("LinearClassifier", rows.clone(), vec![texts("classlabels_strings", &["a", "b", "c"])], (Dtype::String, &[5])),
        ("LinearRegressor", rows.clone(), vec![], (Dtype::F32, &[5, 1])),
        ("LinearRegressor", vec![(FLOAT, &[4])], vec![int_attribute("targets", 2)], (Dtype::F32, &[1, 2])),
        ("Normalizer", vec![(INT64, &[5, 4])], vec![], (Dtype::F32, &[5, 4])),
        ("OneHotEncoder", vec![(INT64, &[5])], vec![ints("cats_int64s", &[7, 8, 9])], (Dtype::F32, &[5, 3])),
        ("Scaler", vec![(INT64, &[5, 4])], vec![], (Dtype::F32, &[5, 4])),
        ("SVMClassifier", rows.clone(), vec![ints("classlabels_ints", &[0, 1])], (Dtype::I64, &[5])),
        ("SVMRegressor", rows.clone(), vec![], (Dtype::F32, &[5, 1])),
        ("TreeEnsemble", vec![(11, &[5, 4])], vec![int_attribute("n_targets", 3)], (Dtype::F64, &[5, 3])),
        ("TreeEnsembleClassifier", rows.clone(), vec![ints("classlabels_int64s", &[0, 1, 2])], (Dtype::I64, &[5])),
        ("TreeEnsembleRegressor", rows, vec![int_attribute("n_targets", 2)], (Dtype::F32, &[5, 2])),
    ];
    for (kind, inputs, attributes, (dtype, shape)) in cases {
        assert_eq!(output(&one_op(kind, &inputs, &attributes), "y0"), (dtype, Some(shape.to_vec())), "{kind} of {inputs:?}");
    }
}

#[test]
fn classifiers_give_a_score_per_row_and_class() {
    for (kind, labels) in
        [("LinearClassifier", "classlabels_ints"), ("SVMClassifier", "classlabels_ints"), ("TreeEnsembleClassifier", "classlabels_int64s")]
    {
        let found = one_op(kind, &[(FLOAT, &[5, 4])], &[ints(labels, &[0, 1, 2])]);
        assert_eq!(output(&found, "y1"), (Dtype::F32, Some(vec![5, 3])), "{kind}");
        assert_eq!(output(&one_op(kind, &[(FLOAT, &[5, 4])], &[]), "y1").1, None, "{kind}");
    }
}

#[test]
fn support_vectors_give_a_score_per_pair_of_classes() {
    let scores = |classes: &[i64], more: &[Message]| {
        let attributes = [&[ints("classlabels_ints", classes), ints("vectors_per_class", &vec![1; classes.len()])], more].concat();
        output(&one_op("SVMClassifier", &[(FLOAT, &[5, 4])], &attributes), "y1").1
    };
    // As ONNX Runtime 1.32 executes them.
    assert_eq!(scores(&[0, 1], &[]), Some(vec![5, 2]));
    assert_eq!(scores(&[0, 1, 2, 3], &[]), Some(vec![5, 6]));
    assert_eq!(scores(&[0, 1, 2, 3], &[ints("prob_a", &[0; 6])]), Some(vec![5, 4]));
}

#[test]
fn what_the_file_does_not_decide_has_a_reason() {
    for (kind, attributes, reason) in [
        ("ZipMap", vec![texts("classlabels_strings", &["a"])], "a list of maps"),
        ("CastMap", vec![], "how many keys its map has"),
        ("TreeEnsembleRegressor", vec![], "no `n_targets`"),
        ("OneHotEncoder", vec![], "no categories"),
        ("LabelEncoder", vec![], "no list of values"),
        ("DictVectorizer", vec![], "no vocabulary"),
        ("FeatureVectorizer", vec![ints("inputdimensions", &[-1])], "do not add up"),
    ] {
        let found = one_op(kind, &[(FLOAT, &[5, 4])], &attributes);
        let tensor = found.tensors().iter().find(|tensor| tensor.name == "y0").expect("an output");
        assert!(tensor.bytes.is_none() && tensor.unknown_because.contains(reason), "{kind}: {:?}", tensor.unknown_because);
    }
}
