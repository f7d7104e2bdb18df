//! Damaged files: cut at every byte, bits flipped, or nothing but noise, the readers answer and never panic.

use proptest::prelude::*;

use crate::support::{one_line, parse, path, varint};

fn model(name: &str) -> Vec<u8> {
    std::fs::read(path(&format!("tests/data/onnx/{name}.onnx"))).expect("a model of the tests")
}

#[test]
fn a_model_cut_anywhere_is_an_error_or_a_smaller_model() {
    let bytes = model("loop_if_scan");
    for length in 1..bytes.len() {
        one_line(parse("cut.onnx", &bytes[..length]));
    }
}

#[test]
fn a_model_with_any_byte_changed_is_answered() {
    for name in ["loop_if_scan", "mlp_function_dyn"] {
        let bytes = model(name);
        for position in 0..bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[position] ^= mask;
                one_line(parse("changed.onnx", &changed));
            }
        }
    }
}

#[test]
fn deep_nesting_ends_with_a_message() {
    let mut graph: Vec<u8> = vec![0x12, 1, b'g'];
    for _ in 0..100 {
        let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2][..], &varint(bytes.len() as u64), bytes].concat();
        let attribute = [field(1, b"body"), field(6, &graph), vec![0xa0, 1, 5]].concat();
        let node = [field(4, b"Loop"), field(5, &attribute)].concat();
        graph = field(1, &node);
    }
    let bytes = [&[8, 8, 0x3a][..], &varint(graph.len() as u64), &graph].concat();
    let message = parse("deep.onnx", &bytes).expect_err("a hundred graphs inside each other").to_string();
    assert!(message.contains("nested"), "{message}");
    let text = format!(r#"{{"format":"op-list-v1","tensors":{}"#, "[".repeat(100_000));
    assert!(parse("deep.json", text.as_bytes()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn noise_is_answered(bytes in proptest::collection::vec(any::<u8>(), 1..400), name in prop::sample::select(vec!["a.onnx", "a.csv", "a.json", "a", "a.tflite", "a.pte", "a.xml", "a.txt", "a.log", "a.zip"])) {
        one_line(parse(name, &bytes));
    }

    #[test]
    fn noise_behind_a_models_first_bytes_is_answered(bytes in proptest::collection::vec(any::<u8>(), 1..400)) {
        let length = u8::try_from(bytes.len().min(127)).expect("at most 127");
        one_line(parse("a.onnx", &[&[8, 8, 0x3a, length][..], &bytes].concat()));
    }

    #[test]
    fn noise_behind_the_first_bytes_of_any_format_is_answered(
        bytes in proptest::collection::vec(any::<u8>(), 1..400),
        start in prop::sample::select(vec![
            b"\x1c\0\0\0TFL3".as_slice(), b"\x1c\0\0\0ET12", b"PK\x03\x04", b"\x1f\x8b\x08\0", b"<net name=\"x\" version=\"11\"><layers>",
            b"BufferAssignment:\nallocation 0: size 8, preallocated-temp:\n value: <", b"{\"problem\":{\"buffers\":[{\"live_intervals\":[",
        ]),
    ) {
        one_line(parse("a", &[start, &bytes].concat()));
    }

    #[test]
    fn several_changes_of_any_real_file_are_answered(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        name in prop::sample::select(vec![
            "tflite/micro_speech_quantized.tflite", "tflite/audio_preprocessor_int8.tflite", "executorch/tinycnn_fwd.pte",
            "xla/cnn_fwd.buffer-assignment.txt", "oplist/exported_example.oplist.json",
        ]),
    ) {
        let mut bytes = std::fs::read(path(&format!("tests/data/{name}"))).expect("a file of the tests");
        // Weights come last: most changes go where the tables are.
        let reach = bytes.len().min(6000);
        for (position, value) in changes {
            let position = position.index(reach);
            bytes[position] = value;
        }
        one_line(parse(name, &bytes));
    }

    #[test]
    fn several_changes_of_a_real_model_are_answered(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = model("silero_vad_16k_sequence");
        for (position, value) in changes {
            let position = position.index(bytes.len());
            bytes[position] = value;
        }
        one_line(parse("changed.onnx", &bytes));
    }

    #[test]
    fn csv_with_any_numbers_is_answered(rows in proptest::collection::vec((any::<i128>(), any::<u64>(), any::<u64>()), 0..20)) {
        let text: String = rows.iter().map(|(lower, upper, size)| format!("b,{lower},{upper},{size}\n")).collect();
        one_line(parse("a.csv", format!("id,lower,upper,size\n{text}").as_bytes()));
    }
}
