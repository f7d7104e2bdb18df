//! Planning problems with rules: JSON in and out, the extra columns of CSV, and how a broken rule is named.

use std::sync::Arc;

use arenascope_formats::plan_file::{plan_from_json, plan_to_json};
use arenascope_formats::problem_json::problem_to_json;
use arenascope_planner::check::check;
use arenascope_planner::constraints::{Constraints, Feature, Gap, Reserved, SubView};
use arenascope_planner::control::Control;
use arenascope_planner::ids::{BufferId, PoolId};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::prepare::{PrepareSettings, prepare};
use arenascope_planner::solve::{AUTO, SolveOptions, solve};
use arenascope_planner::units::Align;
use arenascope_planner::workload::{BareBuffer, Source, Workload};

use crate::support::parse;

/// Every field that a problem can have.
const EVERYTHING: &str = r#"{
  "format": "problem-v1", "title": "Two memories", "max_chunk": "4 KiB",
  "pools": [{ "name": "SRAM", "capacity": "2 KiB" }, { "name": "PSRAM" }],
  "reserved": [{ "pool": "SRAM", "from": 0, "to": 64, "start": 0, "end": 2 }, { "from": 100, "to": 128 }],
  "in_place": [["b", "d"]],
  "buffers": [
    { "id": "a", "size": "1 KiB", "start": 0, "end": 3, "pools": ["SRAM", 1] },
    { "id": "b", "size": 256, "live": [[0, 2], [5, 6]], "align": 128 },
    { "id": "c", "size": 128, "start": 1, "end": 4, "view_of": "a", "at": 64 },
    { "id": "d", "size": 256, "start": 2, "end": 5 },
    { "id": 7, "size": 64, "start": 3, "end": 6, "offset": 1536, "pools": ["SRAM"] },
    { "size": 32, "start": 0, "end": 9, "gaps": [{ "start": 2, "end": 4, "keep": [0, 8] }], "in_place_with": 7, "colour": "red" }
  ]
}"#;

fn rules(workload: &Workload) -> &Constraints {
    workload.constraints.as_deref().expect("it has rules")
}

fn buffers(workload: &Workload) -> &[BareBuffer] {
    match &workload.source {
        Source::Buffers(buffers) => buffers,
        Source::Graph(_) | Source::Trace(_) => panic!("a problem has no graph"),
    }
}

fn life(start: u64, end: u64) -> Lifetime {
    Lifetime { start, end }
}

#[test]
fn every_field_of_a_problem_is_read() {
    let workload = parse("p.json", EVERYTHING.as_bytes()).expect("a valid problem");
    let rules = rules(&workload);
    assert_eq!((workload.format, workload.title.as_str(), buffers(&workload).len()), ("problem-json", "Two memories", 6));
    assert_eq!(rules.pools().iter().map(|pool| pool.capacity_bytes).collect::<Vec<_>>(), [Some(2048), None]);
    assert_eq!(rules.preferences(BufferId(0)), Some(&[PoolId(0), PoolId(1)][..]));
    assert_eq!(rules.gaps(BufferId(1)), [Gap { lifetime: life(2, 5), window: None }]);
    assert_eq!(rules.gaps(BufferId(5)), [Gap { lifetime: life(2, 4), window: Some((0, 8)) }]);
    assert_eq!((rules.align(BufferId(1)), rules.pinned(BufferId(4)), rules.max_chunk_bytes()), (Align::new(128), Some(1536), Some(4096)));
    assert_eq!(rules.view(BufferId(2)), Some(SubView { of: BufferId(0), at_byte: 64 }));
    assert_eq!(rules.in_place(), [(BufferId(5), BufferId(4)), (BufferId(1), BufferId(3))]);
    assert_eq!(rules.reserved()[1], Reserved { pool: PoolId(0), lifetime: life(0, 9), from_byte: 100, to_byte: 128 });
    assert_eq!(rules.features().iter().count(), Feature::ALL.len());
    let warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["buffer `5`: field `colour` is not known and not used"]);
}

#[test]
fn what_is_written_reads_back_the_same() {
    let workload = parse("p.json", EVERYTHING.as_bytes()).expect("a valid problem");
    let text = problem_to_json(&workload.title, buffers(&workload), workload.constraints.as_deref());
    let again = parse("again.json", text.as_bytes()).expect("what was written");
    assert_eq!((buffers(&again), rules(&again), &again.title), (buffers(&workload), rules(&workload), &workload.title));
    let plain = problem_to_json("", buffers(&workload), None);
    assert_eq!(parse("plain.json", plain.as_bytes()).expect("what was written").constraints, None);
}

#[test]
fn a_problem_with_every_rule_is_planned_and_its_plan_file_keeps_the_pools() {
    let workload = Arc::new(parse("p.json", EVERYTHING.as_bytes()).expect("a valid problem"));
    let prepared = prepare(&workload, PrepareSettings::default()).expect("a valid problem");
    let plan = solve(AUTO, &prepared.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
    assert_eq!(check(&prepared.problem, &plan).violations, []);
    let file = plan_from_json(&plan_to_json(&prepared, &plan)).expect("what was written");
    assert_eq!(file.pools.iter().map(|pool| pool.name.as_str()).collect::<Vec<_>>(), ["SRAM", "PSRAM"]);
    let again = file.for_problem(&prepared).expect("the same problem");
    assert_eq!((again.offsets, again.pools, again.arena_bytes), (plan.offsets, plan.pools, plan.arena_bytes));
}

#[test]
fn a_capacity_without_pools_is_that_of_the_arena() {
    let text = r#"{ "format": "problem-v1", "capacity": "1 KiB", "buffers": [{ "size": 4, "start": 0, "end": 1 }] }"#;
    let workload = Arc::new(parse("p.json", text.as_bytes()).expect("a valid problem"));
    let prepared = prepare(&workload, PrepareSettings::default()).expect("a valid problem");
    assert_eq!((prepared.problem.capacity_bytes(), prepared.problem.constraints()), (Some(1024), None));
}

#[test]
fn a_broken_problem_is_named_with_its_place() {
    let buffer = |fields: &str| {
        format!(
            r#"{{ "format": "problem-v1", "buffers": [{{ "id": "a", "size": 8, {fields} }}, {{ "id": "b", "size": 4, "start": 0, "end": 9 }}] }}"#
        )
    };
    let cases = [
        (buffer(r#""start": 3"#), "buffer `a`", "no lifetime"),
        (buffer(r#""start": 3, "end": 3"#), "buffer `a`", "no step"),
        (buffer(r#""live": [[0, 2], [2, 4]]"#), "buffer `a`", "meet"),
        (buffer(r#""start": 0, "end": 4, "gaps": [{ "start": 2, "end": 5 }]"#), "#0", "within the lifetime"),
        (buffer(r#""start": 0, "end": 4, "gaps": [{ "start": 0, "end": 4 }]"#), "#0", "no step in which it is kept"),
        (buffer(r#""start": 0, "end": 4, "gaps": [{ "start": 1, "end": 2, "keep": [0, 9] }]"#), "#0", "none of its 8 bytes"),
        (buffer(r#""start": 0, "end": 4, "view_of": "c""#), "buffer `a`", "which is no buffer"),
        (buffer(r#""start": 0, "end": 4, "view_of": "b""#), "#0", "reaches beyond"),
        (buffer(r#""start": 0, "end": 4, "view_of": "a", "at": 0, "in_place_with": "b", "offset": 3, "align": 2"#), "#0", "alignment"),
        (buffer(r#""start": 0, "end": 4, "at": 3"#), "buffer `a`", "without `view_of`"),
        (buffer(r#""start": 0, "end": 4, "pools": ["SRAM"]"#), "buffer `a`", "is no pool"),
        (buffer(r#""start": 0, "end": 4, "align": 0"#), "buffer `a`", "alignment of 0"),
        (buffer(r#""start": 0, "end": 4, "size": "lots""#), "line 1", "the field `size` is there twice"),
        (r#"{ "format": "problem-v1", "max_chunk": 2, "buffers": [{ "size": 4, "start": 0, "end": 1 }] }"#.to_owned(), "#0", "chunk"),
        (r#"{ "format": "problem-v1", "buffers": [{ "size": 4, "start": 0, "end": 1, "offset": 0 }, { "size": 4, "start": 0, "end": 1, "offset": 3 }] }"#.to_owned(), "#0 and #1", "fixed on bytes"),
        (r#"{ "format": "problem-v1", "reserved": [{ "from": 2, "to": 2 }], "buffers": [] }"#.to_owned(), "bytes 2 to 2", "cover nothing"),
    ];
    for (text, place, what) in cases {
        let message = parse("broken.json", text.as_bytes()).expect_err(&text).to_string();
        assert!(message.contains(place) && message.contains(what) && message.starts_with("`broken.json`"), "{text}\n{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn extra_columns_of_csv_are_rules_and_empty_fields_are_none() {
    let text = "id,lower,upper,size,alignment,gaps,fixed_offset,hint\na,0,9,8,4,2-4 5-6@0:2,,3\nb,0,9,8,1,,16,\n";
    let workload = parse("p.csv", text.as_bytes()).expect("a valid problem");
    let rules = rules(&workload);
    assert_eq!((rules.align(BufferId(0)), rules.align(BufferId(1))), (Align::new(4), None));
    assert_eq!(rules.gaps(BufferId(0)), [Gap { lifetime: life(2, 4), window: None }, Gap { lifetime: life(5, 6), window: Some((0, 2)) }]);
    assert_eq!((rules.pinned(BufferId(0)), rules.pinned(BufferId(1))), (None, Some(16)));
    assert!(workload.warnings.iter().any(|warning| warning.message.contains("hint")));
    let plain = parse("p.csv", b"id,lower,upper,size,alignment,gaps\na,0,9,8,1,\n").expect("a valid problem");
    assert_eq!(plain.constraints, None);
    for (fields, what) in
        [("0,", "alignment of 0"), ("x,", "whole number"), ("1,2", "`2` is no gap"), ("1,7-12", "is no gap"), ("1,2-3@9", "is no gap")]
    {
        let text = format!("id,lower,upper,size,alignment,gaps\na,0,9,8,{fields}\n");
        let message = parse("p.csv", text.as_bytes()).expect_err(fields).to_string();
        assert!(message.contains("line 2") && message.contains(what), "{message}");
    }
}
