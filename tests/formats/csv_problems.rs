//! Buffers with lifetimes as CSV: what is read, what is written, and how a broken line is named.

use std::sync::Arc;

use arenascope_formats::minimalloc::{buffers_to_csv, plan_to_csv};
use arenascope_planner::alias::Io;
use arenascope_planner::plan::Plan;
use arenascope_planner::workload::{BareBuffer, Source, Workload};

use crate::support::{open, parse, path, prepared};

fn buffers(workload: &Workload) -> &[BareBuffer] {
    match &workload.source {
        Source::Buffers(buffers) => buffers,
        Source::Graph(_) | Source::Trace(_) => panic!("a CSV file holds no graph"),
    }
}

#[test]
fn columns_come_in_any_order_and_offsets_are_an_observed_plan() {
    let text = "size,upper,note,id,lower,offset\n4,3,x,a,0,0\n8,9,y,\"b,1\",3,16\n";
    let workload = parse("problem.csv", text.as_bytes()).expect("a valid problem");
    let buffers = buffers(&workload);
    assert_eq!((buffers[1].name.as_str(), buffers[1].size_bytes, buffers[1].lifetime.start, buffers[1].lifetime.end), ("b,1", 8, 3, 9));
    assert_eq!(workload.observed.as_ref().map(|plan| plan.offsets.clone()), Some(vec![Some(0), Some(16)]));
    assert!(workload.warnings.iter().any(|warning| warning.message.contains("note")));
}

#[test]
fn repeated_ids_are_counted_and_named_once() {
    let text = "id,lower,upper,size\nx,0,1,4\nb,1,2,4\nb,2,3,4\nx,3,4,4\n";
    let workload = parse("problem.csv", text.as_bytes()).expect("a valid problem");
    assert_eq!(buffers(&workload).len(), 4);
    let messages: Vec<&str> = workload.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(messages, ["2 rows repeat an earlier id, `b` first; each row is a buffer of its own"]);
    let unique = parse("problem.csv", b"id,lower,upper,size\nx,0,1,4\nb,1,2,4\n").expect("a valid problem");
    assert!(unique.warnings.is_empty());
}

#[test]
fn what_is_written_reads_back_the_same() {
    let workload = Arc::new(open(&path("sample-graphs/minimalloc_A.1048576.csv"), &[]).expect("a sample"));
    let again = parse("again.csv", buffers_to_csv(buffers(&workload)).as_bytes()).expect("what was written");
    assert_eq!(buffers(&again), buffers(&workload));
    let prepared = prepared(&workload, true, Io::Static);
    let offsets: Vec<u64> = (0..).step_by(64).take(prepared.problem.n_buffers()).collect();
    let plan = Plan::from_offsets("test", &prepared.problem, offsets.clone());
    let text = plan_to_csv(&prepared, &plan);
    assert!(text.starts_with("id,lower,upper,size,offset\n"));
    let placed = parse("placed.csv", text.as_bytes()).expect("what was written");
    assert_eq!(placed.observed.map(|plan| plan.offsets), Some(offsets.into_iter().map(Some).collect()));
}

#[test]
fn a_broken_line_is_named_with_its_number() {
    let cases = [
        ("id,lower,upper\na,0,1\n", "line 1", "size"),
        ("id,lower,upper,size\na,0,1,4\nb,-2,1,4\n", "line 3", "negative"),
        ("id,lower,upper,size\na,0,1,99999999999999999999\n", "line 2", "64 bits"),
        ("id,lower,upper,size\na,5,5,4\n", "line 2", "no step"),
        ("id,lower,upper,size\na,7,5,4\n", "line 2", "no step"),
        ("id,lower,upper,size\na,0,1,4.5\n", "line 2", "whole number"),
        ("id,lower,upper,size\na,0,1,\n", "line 2", "empty"),
        ("id,lower,upper,size\na,0,1\n", "line 2", "3 fields"),
        ("id,lower,upper,size\na,0,1,4611686018427387904\n", "line 2", "2^62"),
        ("id,lower,upper,size,offset\na,0,1,4,18446744073709551615\n", "line 2", "2^62"),
        ("id,lower,upper,size,size\na,0,1,4,4\n", "line 1", "two columns"),
        ("just some text\n", "line 1", "lower"),
    ];
    for (text, place, what) in cases {
        let message = parse("broken.csv", text.as_bytes()).expect_err(text).to_string();
        assert!(message.contains(place) && message.contains(what) && message.contains("broken.csv") && !message.contains('\n'), "{message}");
    }
}

#[test]
fn a_buffer_without_bytes_is_left_out_with_a_warning() {
    let workload = parse("problem.csv", b"id,lower,upper,size\na,0,3,0\nb,0,3,4\n").expect("a valid problem");
    assert_eq!(buffers(&workload).len(), 1);
    assert!(workload.warnings.iter().any(|warning| warning.place == "line 2"), "{:?}", workload.warnings);
}
