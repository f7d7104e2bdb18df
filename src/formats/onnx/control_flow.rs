//! `If`, `Loop` and `Scan`: their bodies are walked once; what depends on the number of rounds needs that number.

use arenascope_planner::graph::Dtype;

use super::call::{Facts, dim, normal_axis};
use super::infer::{Pass, Scope};
use super::model::{AttributeValue, GraphDef, Node};
use super::value::{Data, Fact, Gap};
use crate::error::one_line;

/// A rule that needs the walk itself.
pub(super) type BodyRule = for<'m, 'p, 's> fn(&mut Pass<'m>, &'m Node, &'s Scope<'m, 'p>) -> Facts;

/// The rule of a control-flow operator.
pub(super) fn rule(kind: &str) -> Option<BodyRule> {
    Some(match kind {
        "If" => conditional,
        "Loop" => repeated,
        "Scan" => scanned,
        "SequenceMap" => mapped,
        _ => return None,
    })
}

fn body<'m>(node: &'m Node, name: &str) -> Result<&'m GraphDef, Gap> {
    let found = node.attributes.iter().find(|attribute| attribute.name == name);
    match found.map(|attribute| &attribute.value) {
        Some(AttributeValue::Graph(graph)) => Ok(graph),
        _ => Err(Gap::from(format!("it has no graph `{name}`"))),
    }
}

fn int_attribute(node: &Node, name: &str) -> Option<i64> {
    match node.attributes.iter().find(|attribute| attribute.name == name)?.value {
        AttributeValue::Int(value) => Some(value),
        _ => None,
    }
}

fn ints_attribute<'m>(node: &'m Node, name: &str) -> &'m [i64] {
    match node.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value) {
        Some(AttributeValue::Ints(values)) => values,
        _ => &[],
    }
}

fn input<'s>(node: &Node, index: usize, scope: &'s Scope<'_, '_>) -> Option<&'s Fact> {
    node.inputs.get(index).filter(|name| !name.is_empty()).and_then(|name| scope.find(name))
}

fn truth(fact: Option<&Fact>) -> Option<bool> {
    match fact?.ints()? {
        [value] => Some(*value != 0),
        _ => None,
    }
}

/// The branch taken if the condition is known; else both, and the larger of what they give.
fn conditional<'m>(pass: &mut Pass<'m>, node: &'m Node, scope: &Scope<'m, '_>) -> Facts {
    let (then, other) = (body(node, "then_branch")?, body(node, "else_branch")?);
    match truth(input(node, 0, scope)) {
        Some(true) => pass.body(then, scope, Vec::new()),
        Some(false) => pass.body(other, scope, Vec::new()),
        None => {
            let (first, second) = (pass.body(then, scope, Vec::new())?, pass.body(other, scope, Vec::new())?);
            let differ = first.iter().zip(&second).any(|(one, two)| !one.is_like(two));
            if differ {
                let remark = "its condition is only known when the model runs and its branches give different shapes; the larger is used";
                pass.remarks.push((node.name.clone(), remark.to_owned()));
            }
            Ok(first.into_iter().zip(second).map(|(one, two)| larger(one, two)).collect())
        }
    }
}

fn larger(one: Fact, two: Fact) -> Fact {
    let bytes = Fact::bytes;
    let same_value = one.data == two.data;
    let larger = match (bytes(&one), bytes(&two)) {
        (Some(first), Some(second)) if second > first => two,
        (None, Some(_)) => one,
        (Some(_), None) => two,
        _ => one,
    };
    if same_value { larger } else { larger.without_data() }
}

/// A carried value keeps what every round agrees on: its shape must survive the body.
fn carried(before: &Fact, after: &Fact) -> Fact {
    if after.shape.is_none() && after.items.is_none() {
        return after.clone();
    }
    if before.is_like(after) {
        return after.without_data();
    }
    let shown = |fact: &Fact| match (&fact.shape, &fact.items) {
        (Some(shape), _) => format!("{shape:?}"),
        (None, Some(items)) => format!("a sequence of {}", items.len()),
        (None, None) => "an unknown shape".to_owned(),
    };
    Fact::unknown(Gap::from(format!("it changes from round to round, from {} to {}", shown(before), shown(after))))
}

fn repeated<'m>(pass: &mut Pass<'m>, node: &'m Node, scope: &Scope<'m, '_>) -> Facts {
    let graph = body(node, "body")?;
    let limit = input(node, 0, scope).map(|fact| fact.ints().and_then(|values| values.first().copied()));
    let initial: Vec<Fact> = (2..node.inputs.len()).map(|index| input(node, index, scope).cloned().unwrap_or_else(|| missing(node, index))).collect();
    let mut inputs = vec![Fact::known(Dtype::I64, Vec::new())?, Fact::known(Dtype::Bool, Vec::new())?.with(Some(Data::Ints(vec![1])))];
    inputs.extend(initial.iter().map(Fact::without_data));
    let results = pass.body(graph, scope, inputs)?;
    let goes_on = match node.inputs.get(1).map(String::as_str) {
        None | Some("") => Some(true),
        Some(_) => truth(input(node, 1, scope)),
    };
    let rounds = match (limit, goes_on, truth(results.first())) {
        (_, Some(false), _) => Some(0),
        (Some(Some(limit)), Some(true), Some(true)) => Some(limit.max(0)),
        (Some(Some(limit)), Some(true), Some(false)) => Some(limit.clamp(0, 1)),
        (None, Some(true), Some(false)) => Some(1),
        _ => None,
    };
    let n_carried = initial.len();
    let mut outputs: Vec<Fact> = initial.iter().zip(results.get(1..).unwrap_or_default()).map(|(before, after)| carried(before, after)).collect();
    for element in results.get(1 + n_carried..).unwrap_or_default() {
        outputs.push(stacked(element, rounds, 0));
    }
    if let Some(rounds) = rounds {
        pass.remarks.push((node.name.clone(), format!("its body is counted once; it runs {rounds} times")));
    }
    Ok(outputs)
}

fn missing(node: &Node, index: usize) -> Fact {
    let name = node.inputs.get(index).map_or("", String::as_str);
    Fact::unknown(Gap::from(format!("its input `{}` is not in the graph", one_line(name))))
}

/// The results of all rounds, side by side along a new axis.
fn stacked(element: &Fact, rounds: Option<i64>, axis: usize) -> Fact {
    let Some(shape) = &element.shape else { return Fact { items: None, ..element.clone() } };
    let Some(rounds) = rounds else { return Fact::unknown(Gap::from("the number of rounds is only known when the model runs")) };
    let mut shape = shape.clone();
    let fact = dim(rounds).and_then(|rounds| {
        shape.insert(axis.min(shape.len()), rounds);
        Fact::known(element.dtype, shape)
    });
    fact.unwrap_or_else(Fact::unknown)
}

fn scanned<'m>(pass: &mut Pass<'m>, node: &'m Node, scope: &Scope<'m, '_>) -> Facts {
    let graph = body(node, "body")?;
    let n_scan = usize::try_from(int_attribute(node, "num_scan_inputs").unwrap_or(0)).unwrap_or(0);
    if scope.opsets.iter().any(|opset| super::infer::is_standard(&opset.domain) && opset.version < 9) {
        return Err(Gap::from("`Scan` before operator set 9 works in batches, which is not followed"));
    }
    let n_state = node.inputs.len().checked_sub(n_scan).ok_or_else(|| Gap::from("it has fewer inputs than it scans"))?;
    let facts: Vec<Fact> = (0..node.inputs.len()).map(|index| input(node, index, scope).cloned().unwrap_or_else(|| missing(node, index))).collect();
    let (in_axes, out_axes) = (ints_attribute(node, "scan_input_axes"), ints_attribute(node, "scan_output_axes"));
    let mut rounds = None;
    let mut inputs: Vec<Fact> = facts[..n_state].iter().map(Fact::without_data).collect();
    for (index, fact) in facts[n_state..].iter().enumerate() {
        let Some(shape) = &fact.shape else {
            inputs.push(fact.clone());
            continue;
        };
        let axis = normal_axis(in_axes.get(index).copied().unwrap_or(0), shape.len())?;
        let mut rest = shape.clone();
        rounds = Some(super::call::signed(rest.remove(axis)));
        inputs.push(Fact::known(fact.dtype, rest)?);
    }
    let results = pass.body(graph, scope, inputs)?;
    let mut outputs: Vec<Fact> = facts[..n_state].iter().zip(&results).map(|(before, after)| carried(before, after)).collect();
    for (index, element) in results.iter().skip(n_state).enumerate() {
        let rank = element.shape.as_ref().map_or(1, |shape| shape.len() + 1);
        outputs.push(stacked(element, rounds, normal_axis(out_axes.get(index).copied().unwrap_or(0), rank)?));
    }
    Ok(outputs)
}

/// A body for each tensor of a sequence: walked once if they are alike, else once for each.
fn mapped<'m>(pass: &mut Pass<'m>, node: &'m Node, scope: &Scope<'m, '_>) -> Facts {
    let graph = body(node, "body")?;
    let facts: Vec<Fact> = (0..node.inputs.len()).map(|index| input(node, index, scope).cloned().unwrap_or_else(|| missing(node, index))).collect();
    let upstream = || Gap { reason: "it follows from a sequence of which nothing is known".to_owned(), is_upstream: true };
    let list = facts.first().and_then(|fact| fact.items.clone()).ok_or_else(upstream)?;
    let at = |index: usize| -> Option<Vec<Fact>> {
        facts
            .iter()
            .map(|fact| fact.items.as_ref().map_or_else(|| Some(fact.without_data()), |items| items.get(index).map(Fact::without_data)))
            .collect()
    };
    let mut results: Vec<Vec<Fact>> = vec![Vec::new(); node.outputs.len()];
    let mut last: Option<(Vec<Fact>, Vec<Fact>)> = None;
    for index in 0..list.len() {
        let inputs: Vec<Fact> = at(index).ok_or_else(|| Gap::from("its sequences differ in length"))?;
        let known =
            last.as_ref().filter(|(before, _)| before.iter().zip(&inputs).all(|(one, two)| one.is_like(two))).map(|(_, outputs)| outputs.clone());
        let outputs = match known {
            Some(outputs) => outputs,
            None => pass.body(graph, scope, inputs.clone())?,
        };
        if outputs.iter().any(|output| output.items.is_some()) {
            return Err(Gap::from("its body gives sequences"));
        }
        for (result, output) in results.iter_mut().zip(&outputs) {
            result.push(output.without_data());
        }
        last = Some((inputs, outputs));
    }
    Ok(results.into_iter().map(Fact::sequence).collect())
}
