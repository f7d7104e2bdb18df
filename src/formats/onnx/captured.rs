//! What the bodies of an op read from the graph around it.

use std::collections::HashSet;

use super::model::{AttributeValue, GraphDef, Node};

/// Names that the op's bodies take from outside, each once, in order of appearance.
pub(super) fn captured(node: &Node) -> Vec<&str> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for graph in bodies(node) {
        collect(graph, &mut Vec::new(), &mut |name| {
            if seen.insert(name) {
                found.push(name);
            }
        });
    }
    found
}

/// The graphs among an op's attributes.
pub(super) fn bodies(node: &Node) -> impl Iterator<Item = &GraphDef> {
    node.attributes.iter().flat_map(|attribute| match &attribute.value {
        AttributeValue::Graph(graph) => std::slice::from_ref(&**graph),
        AttributeValue::Graphs(graphs) => graphs.as_slice(),
        _ => &[],
    })
}

/// `around` holds what each enclosing body defines; bodies nest only as deep as the parser allows.
fn collect<'m>(graph: &'m GraphDef, around: &mut Vec<HashSet<&'m str>>, report: &mut dyn FnMut(&'m str)) {
    let inputs = graph.inputs.iter().map(|input| input.name.as_str());
    let weights = graph.initializers.iter().map(|tensor| tensor.name.as_str());
    let made = graph.nodes.iter().flat_map(|node| node.outputs.iter().map(String::as_str));
    around.push(inputs.chain(weights).chain(made).collect());
    for node in &graph.nodes {
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            report_if_foreign(name, around, report);
        }
        for body in bodies(node) {
            collect(body, around, report);
        }
    }
    for output in &graph.outputs {
        report_if_foreign(&output.name, around, report);
    }
    around.pop();
}

fn report_if_foreign<'m>(name: &'m str, around: &[HashSet<&'m str>], report: &mut dyn FnMut(&'m str)) {
    if !around.iter().any(|defined| defined.contains(name)) {
        report(name);
    }
}
