//! Problems and plans from other tools: dsa-solver's JSON, further columns of CSV, printed plans, OpenVINO, packed files.

use std::io::Write as _;
use std::sync::Arc;

use arenascope_formats::dsa::problem_to_json;
use arenascope_formats::{ReadOptions, read_bytes};
use arenascope_planner::alias::Io;
use arenascope_planner::constraints::{Feature, Gap};
use arenascope_planner::graph::{Graph, Role};
use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::observed::{observed, observed_bytes};
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::{PrepareSettings, prepare};
use arenascope_planner::units::Align;
use arenascope_planner::workload::{BareBuffer, Source, Workload};

use crate::support::{graph, open, parse, path, prepared, totals};

fn buffers(workload: &Workload) -> &[BareBuffer] {
    match &workload.source {
        Source::Buffers(buffers) => buffers,
        Source::Graph(_) | Source::Trace(_) => panic!("{} has no bare buffers", workload.file),
    }
}

fn warned(workload: &Workload, part: &str) {
    assert!(workload.warnings.iter().any(|warning| warning.to_string().contains(part)), "{part}: {:?}", workload.warnings);
}

const DSA: &str = r#"{"instance":"two pools","problem":{"buffers":[
 {"alignment":32,"allowed_pools":[2],"id":0,"live_intervals":[{"lower":19,"upper":49}],"name":"a","size":65536},
 {"alignment":32,"allowed_pools":[2],"id":1,"live_intervals":[{"lower":55,"upper":60},{"lower":21,"upper":50}],"name":"b","size":100},
 {"alignment":32,"allowed_pools":[5],"id":2,"live_intervals":[{"lower":23,"upper":51}],"name":"c","size":64}],
 "constraints":{"colocations":[],"pinned_allocations":[],"separations":[{"first":0,"second":1,"reasons":["x"]}],"temporal_exclusions":[]},
 "pools":[{"capacity":524288,"id":2,"name":"Mat","reserved_ranges":[]},{"capacity":9,"id":5,"name":"Acc","reserved_ranges":[]}]},
 "profile":"p","schema_version":1}"#;

#[test]
fn dsa_problems_are_read_and_what_is_not_planned_with_is_said() {
    let workload = parse("problem.json", DSA.as_bytes()).expect("a problem");
    let list = buffers(&workload);
    assert_eq!((workload.format, list.len(), workload.title.as_str()), ("dsa-json", 2, "two pools"));
    assert_eq!((list[1].name.as_str(), list[1].size_bytes, list[1].lifetime.start, list[1].lifetime.end), ("b", 100, 21, 60));
    for part in ["2 pools", "1 separation"] {
        warned(&workload, part);
    }
    let rules = workload.constraints.as_deref().expect("alignments and a gap");
    assert_eq!((rules.align(BufferId(0)), rules.gaps(BufferId(0))), (Align::new(32), &[][..]));
    assert_eq!(rules.gaps(BufferId(1)), [Gap { lifetime: Lifetime { start: 50, end: 55 }, window: None }]);
    // Alignments that all offsets have anyway do not keep any strategy from planning.
    let problem = prepare(&Arc::new(workload), PrepareSettings::default()).expect("a problem").problem;
    assert_eq!(problem.features().iter().collect::<Vec<_>>(), [Feature::Gaps]);
}

#[test]
fn pins_of_a_dsa_problem_are_kept_unless_they_are_a_whole_plan() {
    let pinned = |pins: &str| {
        let text = DSA.replacen(r#""pinned_allocations":[]"#, &format!(r#""pinned_allocations":[{pins}]"#), 1);
        parse("problem.json", text.as_bytes()).expect("a problem")
    };
    let one = pinned(r#"{"buffer_id":1,"offset":96}"#);
    let pin = |workload: &Workload, id| workload.constraints.as_deref().and_then(|rules| rules.pinned(BufferId(id)));
    assert_eq!((pin(&one, 0), pin(&one, 1)), (None, Some(96)));
    let all = pinned(r#"{"buffer":0,"offset":128},{"buffer":1,"offset":0}"#);
    assert_eq!((pin(&all, 0), pin(&all, 1)), (None, None));
    assert_eq!(all.observed.as_ref().map(|plan| plan.offsets.clone()), Some(vec![Some(128), Some(0)]));
    warned(&all, "every buffer is pinned");
}

#[test]
fn what_is_written_for_dsa_solver_reads_back_the_same() {
    let workload = Arc::new(open(&path("sample-graphs/minimalloc_A.1048576.csv"), &[]).expect("a sample"));
    let prepared = prepared(&workload, true, Io::Static);
    let offsets: Vec<u64> = (0..).step_by(64).take(prepared.problem.n_buffers()).collect();
    let plan = Plan::from_offsets("test", &prepared.problem, offsets.clone());
    let again = parse("again.json", problem_to_json(&prepared, Some(&plan)).as_bytes()).expect("what was written");
    assert_eq!(buffers(&again), buffers(&workload));
    assert_eq!(again.observed.map(|plan| plan.offsets), Some(offsets.into_iter().map(Some).collect()));
}

#[test]
fn alignments_and_gaps_survive_dsa_solvers_json() {
    let workload = Arc::new(parse("problem.json", DSA.as_bytes()).expect("a problem"));
    let again = parse("again.json", problem_to_json(&prepared(&workload, true, Io::Static), None).as_bytes()).expect("what was written");
    assert_eq!((buffers(&again), &again.constraints), (buffers(&workload), &workload.constraints));
}

#[test]
fn a_broken_dsa_problem_names_the_buffer() {
    for (from, to, part) in [
        (r#"[{"lower":19,"upper":49}]"#, "[]", "no live interval"),
        (r#"{"lower":19,"upper":49}"#, r#"{"lower":19,"upper":19}"#, "covers no step"),
        ("65536", "18446744073709551615", "2^62"),
        ("65536", "-1", "line 2"),
    ] {
        let message = parse("problem.json", DSA.replacen(from, to, 1).as_bytes()).expect_err(part).to_string();
        assert!(message.contains(part) && message.contains("problem.json") && !message.contains('\n'), "{message}");
    }
}

#[test]
fn further_columns_of_csv_are_rules_and_hints_are_pointed_out() {
    let text = "id,lower,upper,size,alignment,gaps,hint,offset\na,0,9,4,16,2-4 5-6,-1,\nb,0,9,4,1,3-5@1:2,0,64\n";
    let workload = parse("problem.csv", text.as_bytes()).expect("a problem");
    warned(&workload, "1 buffer has a hint");
    assert_eq!(workload.warnings.len(), 1, "{:?}", workload.warnings);
    let rules = workload.constraints.as_deref().expect("it has rules");
    assert_eq!((rules.align(BufferId(0)), rules.align(BufferId(1))), (Align::new(16), None));
    assert_eq!((rules.gaps(BufferId(0)).len(), rules.gaps(BufferId(1))[0].window), (2, Some((1, 2))));
    // An offset in some rows only is where those buffers must be.
    assert_eq!((rules.pinned(BufferId(0)), rules.pinned(BufferId(1))), (None, Some(64)));
    assert_eq!(workload.observed.map(|plan| plan.offsets), Some(vec![None, Some(64)]));
    let message = parse("problem.csv", text.replace("2-4", "2-99").as_bytes()).expect_err("outside").to_string();
    assert!(message.contains("line 2") && message.contains("gaps"), "{message}");
}

#[test]
fn offsets_of_some_buffers_that_contradict_each_other_are_shown_and_not_kept() {
    let text = "id,lower,upper,size,alignment,offset\na,0,9,4,,0\nb,0,9,4,8,2\nc,0,9,4,,\n";
    let workload = parse("problem.csv", text.as_bytes()).expect("a problem");
    warned(&workload, "the offsets of 2 of 3 buffers cannot all be kept");
    let rules = workload.constraints.as_deref().expect("an alignment");
    assert_eq!((rules.align(BufferId(1)), rules.pinned(BufferId(0))), (Align::new(8), None));
    assert!(!observed(&workload).expect("two are placed").check().is_valid());
}

#[test]
fn a_plan_in_a_file_may_use_the_gaps_of_its_buffers() {
    let text = "id,lower,upper,size,gaps,offset\na,0,9,4,2-5,0\nb,2,5,4,,0\n";
    let workload = Arc::new(parse("problem.csv", text.as_bytes()).expect("a problem"));
    let found = observed(&workload).expect("a plan");
    assert!(found.check().is_valid(), "{:?}", found.check());
    let without = parse("problem.csv", text.replace("2-5", "").as_bytes()).expect("a problem");
    assert_eq!(observed(&without).expect("a plan").check().n_overlaps, 1);
}

const MICRO: &str = "I (312) main: start\n\
    0 (id=0): size=9216, offset=36864, first_used=0 last_used=1\n\
    1 (id=1): size=36864, offset=0, first_used=1 last_used=2\n\
    2 (id=2): size=18432, offset=36864, first_used=2 last_used=3\n\
    0: ....00000 (9k)\n\
    Failed to resize buffer. Requested: 55296, available 35120, missing: 20176\n";

#[test]
fn the_micro_runtimes_printed_plan_is_an_observed_plan() {
    let workload = Arc::new(parse("serial.log", MICRO.as_bytes()).expect("a plan"));
    let list = buffers(&workload);
    assert_eq!((workload.format, list.len(), list[0].lifetime.end), ("tflm-plan", 3, 2));
    assert_eq!(observed_bytes(&prepared(&workload, true, Io::Static)), Some(55_296));
    assert!(observed(&workload).expect("a plan").check().is_valid());
    warned(&workload, "missing: 20176");
}

const VELA: &str = "Tensor Allocation for mem_area Sram, of mem_type_set (Scratch):\n\
    Start Time -   End Time: Start Addr -   End Addr: Tensor Size: Memory Usage: Tensor Purpose      : Tensor Name\n\
    \u{20}        0 -          3:        0x0 -     0x9000:       36864:        36864: FeatureMap          : input: 0\n\
    \u{20}        2 -          5:     0x9000 -     0x9400:        1024:        37888: Scratch             : scratch\n\
    Allocation Peak Tensor Size:         37888 (0x9400) Bytes    37.00 KiB\n";

#[test]
fn velas_printed_allocation_is_an_observed_plan() {
    let workload = Arc::new(parse("vela.txt", VELA.as_bytes()).expect("a table"));
    let list = buffers(&workload);
    assert_eq!((workload.format, list.len(), list[0].name.as_str(), list[0].lifetime.end), ("vela-allocation", 2, "input: 0", 4));
    assert_eq!(observed_bytes(&prepared(&workload, true, Io::Static)), Some(0x9400));
}

const OPENVINO: &str = r#"<?xml version="1.0"?>
<net name="tiny" version="11">
 <layers>
  <layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,8" element_type="f32"/><output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>8</dim></port></output></layer>
  <layer id="1" name="w" type="Const" version="opset1"><output><port id="0" precision="FP16"><dim>8</dim><dim>4</dim></port></output></layer>
  <layer id="2" name="wide" type="Convert" version="opset1"><input><port id="0" precision="FP16"><dim>8</dim><dim>4</dim></port></input><output><port id="1" precision="FP32"><dim>8</dim><dim>4</dim></port></output></layer>
  <layer id="3" name="mm" type="MatMul" version="opset1"><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
  <layer id="4" name="relu" type="ReLU" version="opset1"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
  <layer id="5" name="branch" type="If" version="opset8"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output>
   <then_body><layers>
     <layer id="0" name="bx" type="Parameter"><output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
     <layer id="1" name="by" type="Exp"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
     <layer id="2" name="bz" type="Exp"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
     <layer id="3" name="br" type="Result"><input><port id="0"/></input></layer>
    </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/><edge from-layer="2" from-port="1" to-layer="3" to-port="0"/></edges></then_body></layer>
  <layer id="6" name="out" type="Result" version="opset1"><input><port id="0"/></input></layer>
 </layers>
 <edges>
  <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
  <edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>
  <edge from-layer="2" from-port="1" to-layer="3" to-port="1"/>
  <edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
  <edge from-layer="4" from-port="1" to-layer="5" to-port="0"/>
  <edge from-layer="5" from-port="1" to-layer="6" to-port="0"/>
 </edges>
</net>"#;

fn role(graph: &Graph, name: &str) -> Role {
    graph.tensors().iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("no `{name}`")).role
}

#[test]
fn openvino_graphs_have_shapes_roles_and_bodies() {
    let workload = Arc::new(parse("model.xml", OPENVINO.as_bytes()).expect("a graph"));
    let graph = graph(&workload);
    assert_eq!((workload.format, graph.ops().len(), graph.tensors().len()), ("openvino", 4, 6));
    assert_eq!((role(graph, "x"), role(graph, "w"), role(graph, "branch")), (Role::GraphInput, Role::Parameter, Role::GraphOutput));
    // The widened weight is derived from a constant; the result of MatMul is taken over by ReLU.
    let off = totals(&workload, false, Io::Static);
    assert_eq!((off.naive, off.peak), (32, 32));
    assert_eq!(totals(&workload, true, Io::Static).peak, 16);
    assert_eq!(graph.ops()[3].bodies[0].ops().len(), 2);
}

#[test]
fn what_vela_really_prints_is_a_valid_plan() {
    let workload = Arc::new(open(&path("tests/data/vela/person_detect.txt"), &[]).expect("tables"));
    let list = buffers(&workload);
    // 72 rows, 15 of which are further names of a buffer; the table of weights is larger and not shown.
    assert_eq!((workload.format, list.len(), list[2].size_bytes, list[2].lifetime), ("vela-allocation", 57, 36_864, Lifetime { start: 0, end: 4 }));
    let found = observed(&workload).expect("a plan");
    assert!(found.check().is_valid(), "{:?}", found.check());
    assert_eq!((found.plan.arena_bytes, observed_bytes(&prepared(&workload, true, Io::Static))), (74_480, Some(74_480)));
    warned(&workload, "weights aside");
}

/// A classifier as a tool exports it: every batch is open, and the spatial axes with it.
const OPEN_OPENVINO: &str = r#"<net name="open" version="11"><layers>
  <layer id="0" name="x" type="Parameter"><output><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim><dim>-1</dim><dim>-1</dim></port></output></layer>
  <layer id="1" name="w" type="Const"><output><port id="0" precision="FP32"><dim>8</dim><dim>3</dim><dim>7</dim><dim>7</dim></port></output></layer>
  <layer id="2" name="conv" type="Convolution"><data strides="2, 2" pads_begin="3, 3" pads_end="3, 3" dilations="1, 1" auto_pad="explicit"/><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>-1</dim><dim>8</dim><dim>-1</dim><dim>-1</dim></port></output></layer>
  <layer id="3" name="pool" type="MaxPool"><data strides="2, 2" kernel="3, 3" pads_begin="1, 1" pads_end="1, 1" rounding_type="floor"/><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>-1</dim><dim>8</dim><dim>-1</dim><dim>-1</dim></port></output></layer>
  <layer id="4" name="mean" type="ReduceMean"><data keep_dims="false"/><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>-1</dim><dim>8</dim></port></output></layer>
  <layer id="5" name="odd" type="NonZero"><input><port id="0"/></input><output><port id="1" precision="I64"><dim>2</dim><dim>-1</dim></port></output></layer>
  <layer id="6" name="after" type="ReLU"><input><port id="0"/></input><output><port id="1" precision="I64"><dim>2</dim><dim>-1</dim></port></output></layer>
 </layers><edges>
  <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/><edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
  <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/><edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
  <edge from-layer="4" from-port="1" to-layer="5" to-port="0"/><edge from-layer="5" from-port="1" to-layer="6" to-port="0"/>
 </edges></net>"#;

#[test]
fn open_dimensions_of_openvino_take_numbers_and_pass_them_on() {
    let read = |dims: &[(&str, u64)]| {
        let dims = dims.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        read_bytes("model.xml", OPEN_OPENVINO.as_bytes(), &ReadOptions { dims, ..ReadOptions::default() }).expect("a graph")
    };
    let shape = |workload: &Workload, name: &str| {
        graph(workload).tensors().iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("no `{name}`")).shape.clone()
    };
    let bound = read(&[("x:0", 4), ("x:2", 224), ("*", 192)]);
    assert_eq!(shape(&bound, "x"), Some(vec![4, 3, 224, 192]));
    assert_eq!(shape(&bound, "conv"), Some(vec![4, 8, 112, 96]));
    assert_eq!(shape(&bound, "pool"), Some(vec![4, 8, 56, 48]));
    assert_eq!(shape(&bound, "odd"), None);
    warned(&bound, "how its shape follows from the open dimensions is not known for NonZero");
    warned(&bound, "it follows from `odd`, whose shape is not known");
    let dims: Vec<_> = bound.symbolic_dims.iter().map(|dim| (dim.name.as_str(), dim.value, dim.is_default)).collect();
    assert_eq!(dims, [("x:0", 4, false), ("x:2", 224, false), ("x:3", 192, false)]);
    let assumed = read(&[]);
    assert_eq!(shape(&assumed, "x"), Some(vec![1, 3, 128, 128]));
    warned(&assumed, "--dim x:2=N");
    // What stands before the 8 channels can only be the batch.
    assert_eq!(shape(&bound, "mean"), Some(vec![4, 8]));
}

#[test]
fn broken_openvino_graphs_are_named_with_their_line() {
    let message = parse("model.xml", OPENVINO.replace("from-port=\"2\"", "from-port=\"7\"").as_bytes()).expect_err("no such port").to_string();
    assert!(message.contains("line 2") && message.contains("output port 7"), "{message}");
    for position in (0..OPENVINO.len()).step_by(7) {
        if let Err(error) = parse("cut.xml", &OPENVINO.as_bytes()[..position]) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    let deep = format!("<net name=\"x\" version=\"11\">{}", "<a>".repeat(200_000));
    assert!(parse("deep.xml", deep.as_bytes()).is_err());
}

/// A ZIP archive of stored members.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let at = u32::try_from(bytes.len()).expect("small");
        let (name_len, len) = (u16::try_from(name.len()).expect("short"), u32::try_from(content.len()).expect("small"));
        let sizes = [0_u32.to_le_bytes(), len.to_le_bytes(), len.to_le_bytes()].concat();
        bytes.extend([b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0".as_slice(), &sizes, &name_len.to_le_bytes(), &[0, 0], name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0".as_slice(), &sizes, &name_len.to_le_bytes(), &[0; 12], &at.to_le_bytes(), name.as_bytes()]
                .concat(),
        );
    }
    let (at, len) = (u32::try_from(bytes.len()).expect("small"), u32::try_from(directory.len()).expect("small"));
    let count = u16::try_from(members.len()).expect("few");
    bytes.extend(&directory);
    bytes.extend(
        [b"PK\x05\x06\0\0\0\0".as_slice(), &count.to_le_bytes(), &count.to_le_bytes(), &len.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat(),
    );
    bytes
}

#[test]
fn archives_open_if_one_member_is_meant() {
    let csv = b"id,lower,upper,size\na,0,3,4\n".as_slice();
    let one = parse("problem.zip", &archive(&[("folder/problem.csv", csv)])).expect("one member");
    assert_eq!((buffers(&one).len(), one.file.as_str()), (1, "problem.zip"));
    let among_others = parse("model.zip", &archive(&[("model.xml", OPENVINO.as_bytes()), ("model.bin", &[0; 64]), ("__MACOSX/model.xml", b"x")]));
    assert_eq!(among_others.expect("one known kind").format, "openvino");
    let text = |name: &str| std::fs::read(path(&format!("tests/data/xla/{name}"))).expect("a dump");
    let (assignment, ranges) = (text("cnn_fwd.buffer-assignment.txt"), text("cnn_fwd.live-range.txt"));
    let dump = parse("dump.zip", &archive(&[("d/cnn_fwd.live-range.txt", &ranges), ("d/cnn_fwd.buffer-assignment.txt", &assignment)]));
    assert_eq!(buffers(&dump.expect("a dump")).len(), 14);
    for (members, part) in [
        (vec![("a.csv", csv), ("b.csv", csv)], "2 files that could be meant"),
        (vec![("archive/data.pkl", csv), ("archive/data/0", csv)], "checkpoint"),
    ] {
        let message = parse("a.zip", &archive(&members)).expect_err(part).to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn damaged_archives_are_answered() {
    let whole = archive(&[("problem.csv", b"id,lower,upper,size\na,0,3,4\n")]);
    for position in 4..whole.len() {
        let _ = parse("cut.zip", &whole[..position]);
        for mask in [0x01, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[position] ^= mask;
            let _ = parse("changed.zip", &changed);
        }
    }
}

#[test]
fn any_format_opens_packed() {
    for (name, bytes) in [
        ("model.tflite", std::fs::read(path("tests/data/tflite/hello_world_int8.tflite")).expect("a model")),
        ("plan.log", MICRO.as_bytes().to_vec()),
        ("model.xml", OPENVINO.as_bytes().to_vec()),
    ] {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&bytes).expect("memory does not fail");
        let packed = packer.finish().expect("memory does not fail");
        let (plain, again) = (parse(name, &bytes).expect(name), parse(&format!("{name}.gz"), &packed).expect(name));
        assert_eq!((plain.format, plain.n_items()), (again.format, again.n_items()), "{name}");
    }
}
