//! Pickles that want more than to be read, and damaged ones: refused or answered, never carried out, never a panic.

use arenascope_formats::{FormatError, read_bytes};
use proptest::prelude::*;

use crate::pickle_writer::pickle;
use crate::support::{parse, path};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(&format!("tests/data/torch_snapshot/{name}"))).expect("a file of the tests")
}

fn answered(bytes: &[u8]) {
    if let Err(error) = parse("x.pickle", bytes) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn opcodes_that_import_or_call_are_refused_by_name_and_offset() {
    let cases: [(&[u8], &str); 16] = [
        (b"cos\nsystem\n", "GLOBAL"),
        (b"\x93", "STACK_GLOBAL"),
        (b"R", "REDUCE"),
        (b"b", "BUILD"),
        (b"ios\nsystem\n", "INST"),
        (b"o", "OBJ"),
        (b"\x81", "NEWOBJ"),
        (b"\x92", "NEWOBJ_EX"),
        (b"Pid\n", "PERSID"),
        (b"Q", "BINPERSID"),
        (b"\x82\x01", "EXT1"),
        (b"\x83\x01\x00", "EXT2"),
        (b"\x84\x01\x00\x00\x00", "EXT4"),
        (b"\x97", "NEXT_BUFFER"),
        (b"\x98", "READONLY_BUFFER"),
        (b"\x96\x00\x00\x00\x00\x00\x00\x00\x00", "BYTEARRAY8"),
    ];
    for (code, name) in cases {
        let error = parse("evil.pickle", &pickle(&[b"N0", code, b"."])).expect_err(name);
        assert_eq!(error, FormatError::Refused { path: "evil.pickle".to_owned(), offset: 4, opcode: name });
        let message = error.to_string();
        assert!(message.contains("byte 4") && message.contains(name), "{message}");
    }
}

#[test]
fn a_broken_pickle_is_answered_with_the_place() {
    for (bytes, part) in [
        (&b"\x80\x04"[..], "ends in the middle"),
        (b"\x80\x06N.", "no known kind"),
        (b"\x80\x04\x80\x09N.", "protocol 9"),
        (b"\x80\x04.", "there is none"),
        (b"\x80\x04(.", "only a mark"),
        (b"\x80\x04u.", "no mark"),
        (b"\x80\x04](K\x01K\x02u.", "no dict"),
        (b"\x80\x04}(K\x01u.", "a key without a value"),
        (b"\x80\x04}(K\x01e.", "what is no list"),
        (b"\x80\x04h\x07.", "memoised value 7"),
        (b"\x80\x04\xff.", "0xff is no pickle opcode"),
        (b"\x80\x04\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "a number of 9 bytes"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc", "ends in the middle"),
        (b"\x80\x04X\xff\xff\xff\xffabc", "ends in the middle"),
        (b"\x80\x04}.", "no memory snapshot"),
        (b"\x80\x04N.", "no memory snapshot"),
        (b"\x80\x04](K\x01e.", "no memory snapshot"),
    ] {
        let message = parse("x.pickle", bytes).map(|_| ()).expect_err(part).to_string();
        assert!(message.contains(part) && !message.contains('\n'), "{part}: {message}");
    }
}

#[test]
fn sizes_that_cannot_be_are_answered() {
    let event = |action: &str, addr: &str, size: &str| format!(r#"{{"action":"{action}","addr":{addr},"size":{size}}}"#);
    let of = |events: &[String]| parse("x.json", format!(r#"{{"segments":[],"device_traces":[[{}]]}}"#, events.join(",")).as_bytes()).map(|_| ());
    for (action, addr, size, part) in [
        ("alloc", "1", "-5", "negative"),
        ("alloc", "1", "9000000000000000000", "2^62"),
        ("alloc", "18446744073709551615", "512", "beyond 64 bits"),
        ("segment_free", "18446744073709551615", "512", "beyond 64 bits"),
        ("alloc", "\"here\"", "1", "no number"),
    ] {
        let message = of(&[event(action, addr, size)]).expect_err(part).to_string();
        assert!(message.contains(part), "{part}: {message}");
    }
    let odd = [
        event("alloc", "512", "10"),
        event("alloc", "512", "20"),
        event("free_completed", "512", "20"),
        event("free_completed", "512", "20"),
        event("alloc", "0", "0"),
    ];
    assert_eq!(of(&odd), Ok(()));
}

#[test]
fn a_file_that_unfolds_beyond_its_size_is_refused() {
    // Each round of a long list of frames is a stack of its own, one frame longer than the last.
    let frame = b"}(X\x04\x00\x00\x00nameX\x01\x00\x00\x00fX\x08\x00\x00\x00filenameX\x01\x00\x00\x00gu";
    let bytes = pickle(&[b"]", &[&frame[..], b"q\x01"].concat(), b"a", &b"h\x01a".repeat(20_000), b"."]);
    let message = parse("x.pickle", &bytes).map(|_| ()).expect_err("more stacks than bytes").to_string();
    assert!(message.contains("memory"), "{message}");
    answered(&pickle(&[&b"]".repeat(1_000_000), b"."]));
    answered(&pickle(&[&b"(".repeat(1_000_000), b"."]));
    let deep = [b"\x80\x04".to_vec(), b"](".repeat(200_000), b"e".repeat(200_000), b".".to_vec()].concat();
    answered(&deep);
}

#[test]
fn a_list_that_holds_itself_is_answered() {
    answered(&pickle(&[b"]q\x00h\x00a."]));
    answered(&pickle(&[b"}q\x00(X\x08\x00\x00\x00segmentsh\x00u."]));
    answered(&pickle(&[b"}q\x00(X\x06\x00\x00\x00actionX\x05\x00\x00\x00allocX\x0d\x00\x00\x00user_metadatah\x00u."]));
}

#[test]
fn a_snapshot_cut_anywhere_is_an_error() {
    for (name, step) in [("every_field.p2.pickle", 1), ("every_field.p4.pickle", 1), ("every_field.json", 7)] {
        let bytes = fixture(name);
        for length in (1..bytes.len()).step_by(step) {
            let error = parse(name, &bytes[..length]).map(|_| ()).expect_err("a part of a snapshot");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_snapshot_with_any_byte_changed_is_answered() {
    for name in ["every_field.p2.pickle", "every_field.p4.pickle", "old.pickle"] {
        let bytes = fixture(name);
        for position in 2..bytes.len() {
            for mask in [0x01, 0xff] {
                let mut changed = bytes.clone();
                changed[position] ^= mask;
                answered(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn noise_behind_a_pickles_first_bytes_is_answered(bytes in proptest::collection::vec(any::<u8>(), 1..300)) {
        answered(&[&[0x80, 4][..], &bytes].concat());
    }

    #[test]
    fn several_changes_of_a_snapshot_are_answered(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = fixture("every_field.p5.pickle");
        for (index, byte) in changes {
            let position = 2 + index.index(bytes.len() - 2);
            bytes[position] = byte;
        }
        answered(&bytes);
        let _ = read_bytes("x.html", &bytes, &arenascope_formats::ReadOptions::default());
    }

    #[test]
    fn several_changes_of_a_json_snapshot_are_answered(changes in proptest::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0123456789{}[]\",:-ae.".to_vec())), 1..6)) {
        let mut bytes = fixture("every_field.json");
        for (index, byte) in changes {
            let position = index.index(bytes.len());
            bytes[position] = byte;
        }
        answered(&bytes);
    }
}
