#!/usr/bin/env python3
"""Write a PyTorch model as an op list that Arenascope opens, with its backward pass if there is a loss.

    from export_oplist import export
    export(model, (x,), "model.oplist.json")                              # inference
    export(model, (x, y), "train.oplist.json", loss=lambda out, y: F.cross_entropy(out, y))

The first example input goes to the model, the others to the loss. Nothing is computed: sizes come from tracing the model
with fake tensors (AOTAutograd). Run the file itself to write a small example.
"""

import json
import operator
import sys

import torch
from torch._functorch.aot_autograd import aot_export_module


class _WithLoss(torch.nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, x, *rest):
        return (self.loss(self.model(x), *rest),)


class _Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        out = self.model(*inputs)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (tuple, list)) else []


def _view_sources(node):
    """For each output of an op the argument whose storage it shares, or None, as the op's own schema says."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return []
    names = {}
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and not argument.alias_info.is_write:
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            for alias in argument.alias_info.before_set:
                names[alias] = value
    found = []
    for output in schema.returns:
        aliases = output.alias_info.before_set if output.alias_info is not None else ()
        found.append(next((names[alias] for alias in aliases if alias in names), None))
    return found


class _List:
    def __init__(self):
        self.tensors, self.ops, self.ids = [], [], {}

    def add(self, name, value, kind, alias_of=None):
        size = value.numel() * value.element_size()
        if alias_of is not None:
            size = min(size, self.tensors[alias_of]["bytes"])  # an expanded view is larger than what it shows
        self.tensors.append(
            {
                "id": len(self.tensors),
                "name": name,
                "dtype": str(value.dtype).removeprefix("torch."),
                "shape": [int(size) for size in value.shape],
                "bytes": int(size),
                "kind": kind,
                "alias_of": alias_of,
            }
        )
        return len(self.tensors) - 1

    def call(self, node):
        if node.target is operator.getitem:
            self.ids[node] = [self.ids[node.args[0]][node.args[1]]]
            return
        values = _tensors(node.meta.get("val"))
        sources = _view_sources(node)
        ids = []
        for position, value in enumerate(values):
            source = sources[min(position, len(sources) - 1)] if sources else None
            base = self.ids[source][0] if isinstance(source, torch.fx.Node) and self.ids.get(source) else None
            name = node.name if len(values) == 1 else f"{node.name}.{position}"
            ids.append(self.add(name, value, "activation", base))
        self.ids[node] = ids
        inputs = list(dict.fromkeys(id for argument in node.all_input_nodes for id in self.ids.get(argument, [])))
        self.ops.append({"name": node.name, "op": str(node.target), "inputs": inputs, "outputs": ids})


def export(model, inputs, path, loss=None):
    """Write `model` with example `inputs` to `path`; with a `loss`, its backward pass as well."""
    wrapped = _Plain(model) if loss is None else _WithLoss(model, loss)
    if loss is None:
        graph, signature = aot_export_module(wrapped, tuple(inputs), trace_joint=False)
    else:
        graph, signature = aot_export_module(wrapped, tuple(inputs), trace_joint=True, output_loss_index=0)
    parameters, buffers = signature.inputs_to_parameters, signature.inputs_to_buffers
    result, outputs = _List(), []
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            kind = "parameter" if node.name in parameters else "buffer" if node.name in buffers else "input"
            name = {**parameters, **buffers}.get(node.name, node.name)
            values = _tensors(node.meta.get("val"))
            result.ids[node] = [result.add(name, value, kind) for value in values]
        elif node.op == "call_function":
            result.call(node)
        elif node.op == "output":
            outputs = [id for argument in node.all_input_nodes for id in result.ids.get(argument, [])]
    document = {
        "format": "op-list-v1",
        "model": type(model).__name__,
        "producer": f"torch {torch.__version__} aot_export_module(trace_joint={loss is not None})",
        "tensors": result.tensors,
        "ops": result.ops,
        "inputs": [tensor["id"] for tensor in result.tensors if tensor["kind"] == "input"],
        "outputs": outputs,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
        file.write("\n")


if __name__ == "__main__":
    layers = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
    example = (torch.randn(32, 256), torch.randint(0, 10, (32,)))
    target = sys.argv[1] if len(sys.argv) > 1 else "example.oplist.json"
    export(layers, example, target, loss=torch.nn.functional.cross_entropy)
    print(f"{target}: a forward and a backward pass")
