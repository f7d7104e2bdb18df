//! A wrong file gives one line that says what, where and what to do; nothing panics, hangs or allocates much.

use std::io::{Seek as _, SeekFrom, Write as _};

use arenascope_planner::workload::Workload;

use crate::built_models::{Dim, graph, model, node, tensor, value};
use crate::support::{open, parse, path, varint};

/// One line with the file's name and advice after a semicolon or colon.
fn assert_good_message(message: &str, name: &str) {
    assert!(!message.contains('\n') && message.contains(name) && message.len() < 500, "{message}");
    assert!(message.contains(';') || message.contains(':'), "{message}");
}

#[test]
fn absent_empty_and_folder_are_told_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let absent = open(&folder.path().join("absent.onnx"), &[]).expect_err("no such file").to_string();
    assert!(absent.contains("no such file") && absent.contains("check the path"), "{absent}");
    let empty = folder.path().join("empty.onnx");
    std::fs::write(&empty, b"").expect("a temporary file");
    let message = open(&empty, &[]).expect_err("an empty file").to_string();
    assert!(message.contains("is empty"), "{message}");
    std::fs::write(folder.path().join("second.onnx"), b"").expect("a temporary file");
    let message = open(folder.path(), &[]).expect_err("a folder").to_string();
    assert!(message.contains("is a folder") && message.contains("2 files that could be"), "{message}");
}

#[test]
fn text_pictures_and_other_models_are_recognised_as_such() {
    for (name, bytes, expected) in [
        ("model.onnx", b"hello, this is text\n".as_slice(), "text of no known kind"),
        ("model.onnx", b"   \n\n", "nothing but blanks"),
        ("model.onnx", b"\x89PNG\r\n\x1a\n____", "picture"),
        ("model.onnx", b"\x1c\x00\x00\x00TFL3\x00\x00", "byte 0"),
        ("model.onnx", b"PK\x03\x04\x00\x00", "archive"),
        ("model.onnx", b"\x80\x04\x95\x00\x00", "pickle"),
        ("noise.bin", b"\xff\xfe\xfd\xfc\x00", "no known kind"),
    ] {
        let message = parse(name, bytes).expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}");
        assert_good_message(&message, name);
    }
}

#[test]
fn broken_protobuf_is_named_with_its_byte() {
    let graph_of = |length: u8| vec![8, 8, 0x3a, length, 0];
    for (bytes, expected) in [
        (graph_of(200), "length of"),
        (vec![8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "more than 10 bytes"),
        (vec![8, 0x80], "cut off"),
        (vec![8, 8, 0x0b], "wire type 3"),
        (vec![8, 8, 0x02, 0], "field number 0"),
        (vec![8, 8, 0x12, 1, b'x'], "no graph"),
    ] {
        let message = parse("model.onnx", &bytes).expect_err(expected).to_string();
        assert!(message.contains(expected) && message.contains("byte"), "{message}");
        assert_good_message(&message, "model.onnx");
    }
}

#[test]
fn a_three_gigabyte_file_of_zeros_costs_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["zeros.onnx", "zeros.csv", "zeros.json", "zeros"] {
        let file = folder.path().join(name);
        std::fs::File::create(&file).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
        let message = open(&file, &[]).expect_err("zeros are no model").to_string();
        assert_good_message(&message, name);
    }
}

#[test]
fn text_that_turns_into_three_gigabytes_of_zeros_is_left_early() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, head) in [("zeros.csv", "id,lower,upper,size\na,0,1,4\n"), ("zeros.json", "{ \"format\": \"op-list-v1\",")] {
        let file = folder.path().join(name);
        std::fs::write(&file, head.repeat(400)).expect("a temporary file");
        std::fs::OpenOptions::new().write(true).open(&file).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
        let message = open(&file, &[]).expect_err("zeros are no text").to_string();
        assert_good_message(&message, name);
    }
}

#[test]
fn weights_of_three_gigabytes_are_skipped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("large.onnx");
    let n_bytes: u64 = 3 << 30;
    let tensor_head = [&[0x08][..], &varint(n_bytes / 4), &[0x10, 1, 0x42, 1, b'w', 0x4a], &varint(n_bytes)].concat();
    let tensor_length = tensor_head.len() as u64 + n_bytes;
    let node = [0x0a, 1, b'w', 0x12, 1, b'y', 0x22, 4, b'R', b'e', b'l', b'u'];
    let node = [&[0x0a, 12][..], &node].concat();
    let graph_head = [&[0x2a][..], &varint(tensor_length), &tensor_head].concat();
    let graph_length = node.len() as u64 + graph_head.len() as u64 + n_bytes;
    let mut out = std::fs::File::create(&file).expect("a temporary file");
    out.write_all(&[&[8, 8, 0x3a][..], &varint(graph_length), &node, &graph_head].concat()).expect("a temporary file");
    out.seek(SeekFrom::Current(3 << 30)).expect("a sparse file");
    out.write_all(&[0x42, 4, 0x0a, 0, 0x10, 17]).expect("a temporary file");
    let workload = open(&file, &[]).expect("a model with a large weight");
    let tensors = crate::support::graph(&workload).tensors();
    assert_eq!(tensors.iter().map(|tensor| tensor.bytes).collect::<Vec<_>>(), [Some(n_bytes), Some(n_bytes)]);
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

#[test]
fn a_packed_file_opens_and_half_of_one_does_not() {
    let model = std::fs::read(path("tests/data/onnx/light_squeezenet.onnx")).expect("a model of the tests");
    let workload = parse("model.onnx.gz", &pack(&model)).expect("a packed model");
    assert_eq!((workload.format, workload.file.as_str()), ("onnx", "model.onnx.gz"));
    let message = parse("cut.onnx.gz", &pack(&model)[..500]).expect_err("half a file").to_string();
    assert!(message.contains("unpacking failed"), "{message}");
    let twice = parse("twice.gz", &pack(&pack(&model))).expect_err("packed twice").to_string();
    assert!(twice.contains("twice"), "{twice}");
}

/// Bytes that pack to about a fiftieth: a block of zeros with some noise in front, again and again.
fn compressible(length: usize) -> Vec<u8> {
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    };
    let mut block = vec![0_u8; 1 << 16];
    block[..1024].fill_with(&mut noise);
    block.iter().copied().cycle().take(length).collect()
}

#[test]
fn a_long_packed_file_opens_without_being_held_in_memory() {
    // 300 MiB of weights, where what is kept in memory ends at 256 MiB.
    let weights = tensor("w", 1, &[75, 1 << 20], &[]).bytes(9, &compressible(300 << 20));
    let x = value("x", 1, &[Dim::Is(1), Dim::Is(1 << 20)]);
    let model = model(21, &graph(&[node("Add", &["x", "w"], &["y"], &[])], &[weights], &[x], &[value("y", 1, &[])]));
    let packed = pack(&model);
    assert!(packed.len() < model.len() / 20, "{}", packed.len());
    let (plain, long) = (parse("model.onnx", &model).expect("a model"), parse("model.onnx.gz", &packed).expect("a packed model"));
    let tensors = |workload: &Workload| format!("{:?}", crate::support::graph(workload).tensors());
    assert_eq!(tensors(&plain), tensors(&long));
}

#[test]
fn what_unpacks_to_far_more_than_it_may_is_refused_with_the_limit() {
    let message = parse("zeros.json.gz", &pack(&[b"{".as_slice(), &vec![b' '; 300 << 20]].concat())).expect_err("a bomb").to_string();
    assert!(message.contains("200 times as much or 256 MiB") && message.contains("unpack it first"), "{message}");
}
