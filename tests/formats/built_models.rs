//! Small ONNX models made in memory, for what the real ones do not show.

use crate::support::varint;

/// A message under construction: fields one after another.
#[derive(Default, Clone)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn int(mut self, field: u8, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value.cast_unsigned());
        self
    }

    pub(crate) fn bytes(mut self, field: u8, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(self, field: u8, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub(crate) fn add(self, field: u8, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(crate) fn all(self, field: u8, messages: &[Self]) -> Self {
        messages.iter().fold(self, |outer, message| outer.add(field, message))
    }

    fn varint(&mut self, value: u64) {
        self.0.extend(varint(value));
    }
}

/// A dimension: a number or a name.
#[derive(Clone, Copy)]
pub(crate) enum Dim<'a> {
    Is(i64),
    Named(&'a str),
}

pub(crate) fn value(name: &str, data_type: i64, dims: &[Dim<'_>]) -> Message {
    let dims = dims.iter().fold(Message::default(), |shape, dim| {
        let dim = match *dim {
            Dim::Is(value) => Message::default().int(1, value),
            Dim::Named(name) => Message::default().text(2, name),
        };
        shape.add(1, &dim)
    });
    let tensor = Message::default().int(1, data_type).add(2, &dims);
    Message::default().text(1, name).add(2, &Message::default().add(1, &tensor))
}

pub(crate) fn node(kind: &str, inputs: &[&str], outputs: &[&str], attributes: &[Message]) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
    let node = outputs.iter().fold(node, |node, output| node.text(2, output));
    node.text(4, kind).all(5, attributes)
}

pub(crate) fn graph_attribute(name: &str, graph: &Message) -> Message {
    Message::default().text(1, name).add(6, graph).int(20, 5)
}

pub(crate) fn int_attribute(name: &str, value: i64) -> Message {
    Message::default().text(1, name).int(3, value).int(20, 2)
}

/// An initialiser; its elements, if any, as 64-bit integers.
pub(crate) fn tensor(name: &str, data_type: i64, dims: &[i64], values: &[i64]) -> Message {
    let tensor = dims.iter().fold(Message::default(), |tensor, &dim| tensor.int(1, dim)).int(2, data_type).text(8, name);
    values.iter().fold(tensor, |tensor, &value| tensor.int(7, value))
}

pub(crate) fn graph(nodes: &[Message], weights: &[Message], inputs: &[Message], outputs: &[Message]) -> Message {
    Message::default().all(1, nodes).text(2, "g").all(5, weights).all(11, inputs).all(12, outputs)
}

pub(crate) fn model(opset: i64, graph: &Message) -> Vec<u8> {
    let opset = Message::default().text(1, "").int(2, opset);
    Message::default().int(1, 8).add(7, graph).add(8, &opset).0
}
