#!/usr/bin/env python3
"""Writes cases.onnx: one small graph per operator, each compared inside the model with what ONNX Runtime makes of it.

    python3 make_cases.py      needs onnx, onnxruntime and numpy

Every case reads the graph input `x` times zero, so that no part of it is a constant, and ends in one output: the
largest absolute difference between its result and the expected one, which is stored in the file.
"""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
rng = np.random.default_rng(7)


def f(*shape):
    return rng.uniform(-2, 2, shape).astype(np.float32)


def ints(*values):
    return np.array(values, dtype=np.int64)


positive = np.abs(f(2, 3, 4)) + np.float32(0.1)
image = f(2, 4, 7, 6)
CASES = [("Conv", dict(strides=[2], pads=[2, 1], dilations=[2]), [f(2, 3, 11), f(5, 3, 3), f(5)])]
CASES += [
    ("Conv", dict(group=2, dilations=[2, 1], pads=[1, 0, 2, 1], strides=[1, 2]), [image, f(6, 2, 3, 2), f(6)]),
    ("Conv", dict(auto_pad="SAME_LOWER", strides=[2, 2]), [image, f(3, 4, 2, 3)]),
    ("Conv", dict(auto_pad="SAME_UPPER", strides=[2, 3]), [image, f(3, 4, 2, 5)]),
    ("Conv", dict(group=4, pads=[1, 0, 0, 2]), [image, f(8, 1, 3, 3), f(8)]),
    ("Conv", dict(), [image, f(9, 4, 1, 1), f(9)]),
    ("Conv", dict(pads=[0, 1, 1, 1, 0, 1]), [f(1, 2, 3, 4, 5), f(3, 2, 2, 3, 2)]),
    ("Conv", dict(pads=[3, 3, 3, 3], strides=[2, 2]), [f(1, 2, 7, 290), f(7, 2, 7, 7)]),
    ("MaxPool", dict(kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1), [image]),
    ("MaxPool", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], dilations=[2, 1]), [image]),
    ("AveragePool", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 1]), [image]),
    ("AveragePool", dict(kernel_shape=[2, 3], pads=[1, 1, 0, 1], count_include_pad=1), [image]),
    ("GlobalAveragePool", {}, [image]),
    ("GlobalMaxPool", {}, [image]),
    ("BatchNormalization", dict(epsilon=1e-3), [image, f(4), f(4), f(4), np.abs(f(4)) + np.float32(0.2)]),
    ("InstanceNormalization", {}, [image, f(4), f(4)]),
    ("GroupNormalization", dict(num_groups=2), [image, f(4), f(4)]),
    ("LayerNormalization", dict(axis=-2), [image, f(7, 6), f(7, 6)]),
    ("LayerNormalization", {}, [image, f(6)]),
    ("Softmax", dict(axis=1), [image]),
    ("Softmax", {}, [image]),
    ("LogSoftmax", dict(axis=-2), [image]),
    ("Gemm", dict(transA=1, transB=1, alpha=0.5, beta=2.0), [f(5, 3), f(4, 5), f(4)]),
    ("Gemm", dict(transB=1), [f(3, 21), f(4, 21), f(3, 1)]),
    ("Gemm", {}, [f(6, 5), f(5, 300)]),
    ("MatMul", {}, [f(2, 1, 3, 4), f(5, 4, 2)]),
    ("MatMul", {}, [f(4), f(3, 4, 2)]),
    ("MatMul", {}, [f(3, 2, 4), f(4)]),
    ("Transpose", dict(perm=[2, 0, 3, 1]), [image]),
    ("Transpose", {}, [f(3, 5)]),
    ("Slice", {}, [image, ints(-1, 5, 1), ints(-100, 0, 4), ints(2, 3, 1), ints(-2, -1, 2)]),
    ("Slice", {}, [image, ints(1), ints(3)]),
    ("Concat", dict(axis=-1), [f(2, 3), f(2, 1), f(2, 4)]),
    ("Gather", dict(axis=1), [image, ints(3, -1, 0)]),
    ("Gather", {}, [f(5, 2), np.array([[1, 4], [-5, 0]], dtype=np.int64)]),
    ("Expand", {}, [f(3, 1), ints(2, 3, 4)]),
    ("Tile", {}, [f(2, 3), ints(2, 3)]),
    ("Resize", dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), [image, None, np.array([1, 1, 2, 3], dtype=np.float32)]),
    ("Reshape", {}, [image, ints(4, 0, -1)]),
    ("Where", {}, [f(3, 1) > 0, f(1, 4), f(3, 4)]),
    ("Pow", {}, [positive, f(4)]),
    ("Clip", {}, [image, np.float32(-0.5), np.float32(0.75)]),
    ("Clip", {}, [image, None, np.float32(0.25)]),
    ("Cast", dict(to=TensorProto.INT64), [image]),
    ("Cast", dict(to=TensorProto.BOOL), [np.array([0, 0.5, -1], dtype=np.float32)]),
    ("LeakyRelu", dict(alpha=0.2), [image]),
    ("Elu", dict(alpha=0.7), [image]),
    ("HardSigmoid", dict(alpha=0.3, beta=0.4), [image]),
    ("Gelu", dict(approximate="tanh"), [image]),
]
CASES += [(kind, {}, [image]) for kind in "Abs Ceil Cos Erf Exp Floor Gelu HardSwish Neg Relu Sigmoid Sign Sin Softplus Tanh Identity".split()]
CASES += [(kind, {}, [positive]) for kind in "Log Sqrt Reciprocal".split()]
CASES += [(kind, {}, [f(2, 1, 4), f(3, 1)]) for kind in "Add Sub Mul Div Max Min Greater GreaterOrEqual Less LessOrEqual".split()]
CASES += [("Equal", {}, [f(3, 1) > 0, f(1, 4) > 0]), ("And", {}, [f(3, 1) > 0, f(1, 4) > 0]), ("Or", {}, [f(3, 1) > 0, f(1, 4) > 0]), ("Not", {}, [f(6) > 0])]
CASES += [(kind, {}, [np.array([7, -7, 9], dtype=np.int64), np.array([2, 2, -4], dtype=np.int64)]) for kind in "Add Sub Mul Div".split()]
CASES += [(f"Reduce{kind}", dict(keepdims=0), [image, ints(1, -1)]) for kind in "Sum Mean Max Min Prod SumSquare".split()]

nodes, initializers, outputs = [], [], []


def constant(name, value):
    initializers.append(numpy_helper.from_array(value, name))
    return name


def result_of(kind, attributes, values):
    names = [f"i{n}" if value is not None else "" for n, value in enumerate(values)]
    node = helper.make_node(kind, names, ["y"], **attributes)
    graph = helper.make_graph([node], "one", [], [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(np.asarray(v), n) for n, v in zip(names, values) if n])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {})[0]


def varied(case, value):
    """The value, by way of the graph input, so that it is no constant."""
    zero = f"{case}_zero"
    if value.dtype == np.float32:
        nodes.append(helper.make_node("Add", [constant(f"{case}_a", value), "nothing"], [zero]))
    elif value.dtype == np.int64:
        nodes.append(helper.make_node("Add", [constant(f"{case}_a", value), "nothing_whole"], [zero]))
    else:
        nodes.append(helper.make_node("Or", [constant(f"{case}_a", value), "never"], [zero]))
    return zero


nodes.append(helper.make_node("Mul", ["x", constant("zero", np.zeros(1, np.float32))], ["nothing"]))
nodes.append(helper.make_node("Cast", ["nothing"], ["nothing_whole"], to=TensorProto.INT64))
nodes.append(helper.make_node("Cast", ["nothing"], ["never"], to=TensorProto.BOOL))
for number, (kind, attributes, values) in enumerate(CASES):
    case = f"{number:03}_{kind}"
    values = [None if value is None else np.asarray(value) for value in values]
    inputs = [varied(case, values[0])] + ["" if v is None else constant(f"{case}_{n}", v) for n, v in enumerate(values[1:], 1)]
    nodes.append(helper.make_node(kind, inputs, [f"{case}_y"], name=case, **attributes))
    wanted = result_of(kind, attributes, values).astype(np.float32)
    nodes.append(helper.make_node("Cast", [f"{case}_y"], [f"{case}_float"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Sub", [f"{case}_float", constant(f"{case}_wanted", wanted)], [f"{case}_differs"]))
    nodes.append(helper.make_node("Abs", [f"{case}_differs"], [f"{case}_distance"]))
    nodes.append(helper.make_node("ReduceMax", [f"{case}_distance"], [case], keepdims=0))
    outputs.append(helper.make_tensor_value_info(case, TensorProto.FLOAT, []))

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
model = helper.make_model(helper.make_graph(nodes, "cases", [x], outputs, initializers), opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
onnx.save(model, "cases.onnx")
print(len(CASES), "cases", [(c[0], np.asarray(v).size) for c in CASES for v in c[2] if v is not None and np.asarray(v).size > 4096])
session = onnxruntime.InferenceSession("cases.onnx", providers=["CPUExecutionProvider"])
print(max(zip(session.run(None, {"x": np.ones(1, np.float32)}), [c[0] for c in CASES])))
