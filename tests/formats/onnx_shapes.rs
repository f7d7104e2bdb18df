//! Every tensor of every model has the type and the shape that executing the model gave it.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;

use arenascope_planner::graph::Tensor;

use crate::support::{graph, models, open_model, path};

/// This program's names of ONNX's type numbers, as far as the models use them.
const TYPES: [&str; 14] = ["", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "string", "bool", "f16", "f64", "u32", "u64"];

fn truth(name: &str) -> BTreeMap<String, (usize, Vec<u64>)> {
    let file = std::fs::File::open(path(&format!("tests/data/onnx/shapes/{name}.json.gz"))).expect("shapes beside the model");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file");
    serde_json::from_str(&text).expect("well-formed shapes")
}

#[test]
fn every_shape_is_the_executed_one() {
    for (name, model) in models() {
        let workload = open_model(&model);
        let graph = graph(&workload);
        let tensors: HashMap<&str, &Tensor> = graph.tensors().iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        let truth = truth(&name);
        assert!(!truth.is_empty(), "{name}");
        for (value, (dtype, shape)) in truth {
            let tensor = tensors.get(value.as_str()).unwrap_or_else(|| panic!("{name}: `{value}` is missing"));
            assert_eq!(tensor.shape.as_ref(), Some(&shape), "{name}: `{value}` ({})", tensor.unknown_because);
            assert_eq!(tensor.dtype.name(), TYPES[dtype], "{name}: `{value}`");
        }
        assert_eq!(graph.ops().len(), model.ops, "{name}");
        assert!(graph.tensors().iter().all(|tensor| tensor.bytes.is_some()), "{name}");
    }
}

#[test]
fn no_bound_model_needs_a_warning_about_sizes() {
    for (name, model) in models() {
        let workload = open_model(&model);
        let about_sizes: Vec<&str> =
            workload.warnings.iter().map(|warning| warning.message.as_str()).filter(|text| text.contains("not known")).collect();
        assert!(about_sizes.is_empty(), "{name}: {about_sizes:?}");
        assert!(workload.symbolic_dims.iter().all(|dim| !dim.is_default), "{name}: {:?}", workload.symbolic_dims);
    }
}
