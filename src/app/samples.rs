//! The samples that the program brings along, for the first screen.

use std::sync::Arc;

use arenascope_formats::ReadOptions;
use arenascope_planner::control::Control;
use arenascope_planner::prepare::prepare;
use arenascope_planner::solve::solve;

use crate::session::PlanOptions;
use crate::small_picture::{Part, parts};
use crate::text;

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
    sample!("mobilenet_v2.onnx", "MobileNetV2", "proved optimal"),
    sample!("bert_base.onnx", "BERT base, 12 layers", "twelve layers alike"),
    sample!("two_layer_perceptron_training.json", "A training step", "activations wait for the backward pass"),
    sample!("minimalloc_K.1048576.csv", "minimalloc K", "a hard packing problem"),
];

/// A small picture of a sample's plan with its headline numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Thumbnail {
    /// The rectangles.
    pub parts: Vec<Part>,
    /// How many buffers there are.
    pub n_buffers: usize,
    /// The naive total in bytes.
    pub naive_bytes: u64,
    /// The arena in bytes.
    pub arena_bytes: u64,
}

impl Thumbnail {
    /// The line under the title.
    #[must_use]
    pub fn facts(&self, hint: &str) -> String {
        if self.n_buffers <= 16 {
            hint.to_owned()
        } else {
            format!("{} → {} · {hint}", text::bytes(self.naive_bytes), text::bytes(self.arena_bytes))
        }
    }
}

/// Small pictures of all samples, made by the same planner as everything else; samples that fail are left out.
#[must_use]
pub fn thumbnails(control: &Control<'_>) -> Vec<Thumbnail> {
    SAMPLES.iter().map_while(|sample| thumbnail(sample, control)).collect()
}

fn thumbnail(sample: &BuiltIn, control: &Control<'_>) -> Option<Thumbnail> {
    let workload = Arc::new(arenascope_formats::read_bytes(sample.file, sample.bytes, &ReadOptions::default()).ok()?);
    let options = PlanOptions::default();
    let prepared = prepare(&workload, options.prepare).ok()?;
    let plan = solve(&options.strategy, &prepared.problem, prepared.context.as_deref(), &options.solve, control).ok()?;
    Some(Thumbnail {
        parts: parts(&prepared.problem, &plan, usize::MAX),
        n_buffers: prepared.problem.n_buffers(),
        naive_bytes: prepared.naive_bytes,
        arena_bytes: plan.arena_bytes,
    })
}
