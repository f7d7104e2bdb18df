//! The samples that the program brings along, for the first screen.

/// One built-in sample.
#[derive(Debug)]
pub struct BuiltIn {
    /// The file name, which also tells the format.
    pub file: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What to look for, in a few words.
    pub hint: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

macro_rules! sample {
    ($file:literal, $title:literal, $hint:literal) => {
        BuiltIn { file: $file, title: $title, hint: $hint, bytes: include_bytes!(concat!("../../sample-graphs/", $file)) }
    };
}

/// All built-in samples, the simplest first.
pub static SAMPLES: [BuiltIn; 6] = [
    sample!("article_three_tensors.json", "Three tensors", "start here: 16 MiB becomes 12 MiB"),
    sample!("inplace_trap.json", "The in-place trap", "why C must not overwrite B"),
    sample!("mobilenet_v2.onnx", "MobileNetV2", "a real model, proved optimal"),
    sample!("bert_base.onnx", "BERT base, 12 layers", "the same skyline twelve times"),
    sample!("two_layer_perceptron_training.json", "A training step", "activations wait for the backward pass"),
    sample!("minimalloc_K.1048576.csv", "minimalloc K", "a hard packing problem"),
];
