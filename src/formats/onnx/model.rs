//! The parts of an ONNX model that matter for memory; weights are dimensions only.

/// A model.
#[derive(Default)]
pub(super) struct Model {
    pub(super) ir_version: i64,
    pub(super) producer: String,
    pub(super) producer_version: String,
    pub(super) doc: String,
    pub(super) opsets: Vec<Opset>,
    pub(super) graph: Option<GraphDef>,
    pub(super) functions: Vec<Function>,
}

/// The version of one operator set.
#[derive(Default, Clone)]
pub(super) struct Opset {
    pub(super) domain: String,
    pub(super) version: i64,
}

/// A graph: the model's own, or the body of a control-flow op.
#[derive(Default)]
pub(super) struct GraphDef {
    pub(super) name: String,
    pub(super) nodes: Vec<Node>,
    pub(super) initializers: Vec<TensorDef>,
    pub(super) inputs: Vec<ValueInfo>,
    pub(super) outputs: Vec<ValueInfo>,
}

/// A function that the model brings along.
#[derive(Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) nodes: Vec<Node>,
    pub(super) opsets: Vec<Opset>,
    /// Attributes with a default.
    pub(super) defaults: Vec<Attribute>,
}

/// One op.
#[derive(Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) kind: String,
    /// Names; empty for an omitted optional input.
    pub(super) inputs: Vec<String>,
    /// Names; empty for an unused optional output.
    pub(super) outputs: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
}

/// A named setting of an op.
pub(super) struct Attribute {
    pub(super) name: String,
    /// In a function's body: the call's attribute that gives the value; else empty.
    pub(super) reference: String,
    pub(super) value: AttributeValue,
}

/// What an attribute holds.
pub(super) enum AttributeValue {
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// Texts; only how many matters.
    Texts(usize),
    Tensor(Box<TensorDef>),
    Graph(Box<GraphDef>),
    Graphs(Vec<GraphDef>),
    /// Nothing that decides a shape, or longer than what could.
    Other,
}

/// A tensor in the file: a weight, or a constant.
#[derive(Default, Clone)]
pub(super) struct TensorDef {
    pub(super) name: String,
    /// As the file has them: may be nonsense.
    pub(super) dims: Vec<i64>,
    pub(super) data_type: i64,
    /// The elements, if they are few and in the file.
    pub(super) data: Option<super::value::Data>,
}

/// A graph's input or output.
#[derive(Default)]
pub(super) struct ValueInfo {
    pub(super) name: String,
    pub(super) ty: Type,
}

/// The declared type of a value.
#[derive(Default)]
pub(super) enum Type {
    /// Not declared.
    #[default]
    None,
    /// A tensor; without dimensions if its rank is open.
    Tensor { data_type: i64, dims: Option<Vec<Dim>> },
    /// A sequence, a map, an optional or a sparse tensor, in a word.
    Other(&'static str),
}

/// One declared dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dim {
    /// A number; below 0 for "open" in old files.
    Value(i64),
    /// A name.
    Symbol(String),
    /// Neither.
    Open,
}
