//! A formula as an ONNX graph, in double precision throughout: operators of ai.onnx 18 and ai.onnx.ml 5.
//!
//! Trees: one `TreeEnsemble` tells the leaf of every tree, and the values of the leaves are looked up and added, so
//! that a leaf may hold
//! several numbers and nothing passes through single precision.

use super::{
    Written,
    formula::{Formula, Function, Id, Metric, Op, Pair, PlainNode, PlainTest, PlainTree},
    proto::{
        AttributeProto, BOOL, DOUBLE, Entry, GraphProto, INT64, ModelProto, NodeProto, OperatorSet, STRING,
        TensorProto, ValueInfo,
    },
};
use crate::{Fitted, table::Kind};
use ermine::{Error, Matrix, Output, Result};
use prost::Message;

/// The whole model: an input for each raw column, named as in the table.
pub fn model(fitted: &Fitted) -> Result<Vec<u8>> {
    let written = Written::of(fitted)?;
    let mut graph = Graph::default();
    let mut columns = Vec::new();
    for field in &fitted.header.schema.columns {
        // Names of inputs and of steps share one space.
        let input = field.name.clone();
        let column = match field.kind {
            Kind::Category => {
                graph.inputs.push(ValueInfo::rows(&input, STRING, 1));
                let keys = tensor("keys_tensor", TensorProto::strings(&field.levels));
                let codes: Vec<i64> = (0..field.levels.len() as i64).collect();
                let values = tensor("values_tensor", TensorProto::integers(&[codes.len()], &codes));
                let unknown = tensor("default_tensor", TensorProto::integers(&[1], &[-1]));
                let code = graph.ml("LabelEncoder", &[&input], vec![keys, values, unknown]);
                let code = graph.cast(&code, DOUBLE);
                let below = graph.scalar(0.0);
                let is_unknown = graph.node("Less", &[&code, &below], vec![]);
                let missing = graph.scalar(f64::NAN);
                graph.node("Where", &[&is_unknown, &missing, &code], vec![])
            }
            _ => {
                graph.inputs.push(ValueInfo::rows(&input, DOUBLE, 1));
                input
            }
        };
        columns.push(column);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows = match columns[..] {
        [one] => one.to_string(),
        _ => graph.node("Concat", &columns, vec![integer("axis", 1)]),
    };
    Ok(graph.finish(&written, rows, &labels(fitted), &fitted.header.model, &notes(fitted)))
}

/// A model of numbers alone: one input `X` with a column for each.
pub fn plain(fitted: &Fitted) -> Result<Vec<u8>> {
    if fitted.header.schema.columns.iter().any(|field| field.kind != Kind::Number) {
        return Err(Error::Unsupported("a model of levels or dates does not take plain rows".into()));
    }
    let written = Written::of(fitted)?;
    let mut graph = Graph::default();
    graph.inputs.push(ValueInfo::rows("X", DOUBLE, fitted.header.schema.columns.len()));
    Ok(graph.finish(&written, "X".into(), &labels(fitted), &fitted.header.model, &notes(fitted)))
}

fn labels(fitted: &Fitted) -> Labels<'_> {
    let numbers = fitted.header.target.as_ref().is_some_and(|target| target.kind == Kind::Number);
    Labels { classes: fitted.classes(), numbers }
}

fn notes(fitted: &Fitted) -> Vec<(String, String)> {
    let header = &fitted.header;
    vec![
        ("model".into(), header.model.clone()),
        ("target".into(), header.target.as_ref().map_or(String::new(), |target| target.name.clone())),
        ("rows".into(), header.rows.to_string()),
        ("fingerprint".into(), format!("{:08x}", header.fingerprint)),
    ]
}

/// What classes are called.
struct Labels<'a> {
    classes: &'a [String],
    /// They are numbers in the table.
    numbers: bool,
}

#[derive(Default)]
struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
    inputs: Vec<ValueInfo>,
    count: usize,
}

fn integer(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: Some(value), kind: 2, ..AttributeProto::default() }
}

fn integers(name: &str, ints: Vec<i64>) -> AttributeProto {
    AttributeProto { name: name.into(), ints, kind: 7, ..AttributeProto::default() }
}

fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { name: name.into(), t: Some(value), kind: 4, ..AttributeProto::default() }
}

impl Graph {
    /// A name that no column has: those of steps begin with a character that is doubled nowhere else.
    fn name(&mut self) -> String {
        self.count += 1;
        format!("__{}", self.count)
    }

    fn put(
        &mut self,
        domain: &str,
        op: &str,
        inputs: &[&str],
        outputs: usize,
        attribute: Vec<AttributeProto>,
    ) -> Vec<String> {
        let output: Vec<String> = (0..outputs).map(|_| self.name()).collect();
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|name| name.to_string()).collect(),
            output: output.clone(),
            name: output[0].clone(),
            op_type: op.into(),
            domain: domain.into(),
            attribute,
        });
        output
    }

    fn node(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        self.put("", op, inputs, 1, attributes).swap_remove(0)
    }

    fn ml(&mut self, op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        self.put("ai.onnx.ml", op, inputs, 1, attributes).swap_remove(0)
    }

    fn constant(&mut self, mut value: TensorProto) -> String {
        value.name = self.name();
        let name = value.name.clone();
        self.constants.push(value);
        name
    }

    fn scalar(&mut self, value: f64) -> String {
        self.constant(TensorProto::doubles(&[1], &[value]))
    }

    fn numbers(&mut self, values: &[i64]) -> String {
        self.constant(TensorProto::integers(&[values.len()], values))
    }

    fn cast(&mut self, of: &str, to: i32) -> String {
        self.node("Cast", &[of], vec![integer("to", i64::from(to))])
    }

    fn sum(&mut self, of: &str, axis: i64, keep: bool) -> String {
        let axes = self.numbers(&[axis]);
        self.node("ReduceSum", &[of, &axes], vec![integer("keepdims", i64::from(keep))])
    }

    /// All steps that the answers need, then the answers under their names.
    fn finish(
        mut self,
        written: &Written,
        rows: String,
        labels: &Labels,
        name: &str,
        notes: &[(String, String)],
    ) -> Vec<u8> {
        let Written { formula, said } = written;
        let wanted: Vec<Id> = said.iter().map(|(_, id)| *id).collect();
        let needed = formula.needed(&wanted);
        let mut names: Vec<String> = Vec::new();
        for (at, step) in formula.steps.iter().enumerate() {
            let name = match &step.op {
                _ if !needed[at] => String::new(),
                Op::Rows => rows.clone(),
                op => self.step(formula, op, step.width, &names),
            };
            names.push(name);
        }
        let mut outputs = Vec::new();
        for (output, id) in said {
            outputs.push(self.output(*output, &names[id.0], formula.width(*id), labels));
        }
        let entry = |(key, value): &(String, String)| Entry { key: format!("ermine.{key}"), value: value.clone() };
        let opset = |domain: &str, version: i64| OperatorSet { domain: domain.into(), version };
        let model = ModelProto {
            ir_version: 9,
            opset_import: vec![opset("", 18), opset("ai.onnx.ml", 5)],
            producer_name: "ermine".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            doc_string: String::new(),
            graph: Some(GraphProto {
                node: self.nodes,
                name: name.into(),
                initializer: self.constants,
                input: self.inputs,
                output: outputs,
            }),
            metadata_props: notes.iter().map(entry).collect(),
        };
        model.encode_to_vec()
    }

    fn output(&mut self, output: Output, id: &str, width: usize, labels: &Labels) -> ValueInfo {
        let called = |graph: &mut Graph, name: &str, of: &str| {
            graph.nodes.push(NodeProto {
                input: vec![of.into()],
                output: vec![name.into()],
                name: name.into(),
                op_type: "Identity".into(),
                ..NodeProto::default()
            });
        };
        match output {
            Output::Class | Output::Cluster if width == 1 => {
                let code = self.cast(id, INT64);
                let flat = self.numbers(&[-1]);
                let code = self.node("Reshape", &[&code, &flat], vec![]);
                if labels.classes.is_empty() || output == Output::Cluster {
                    called(self, "prediction", &code);
                    return ValueInfo::rows("prediction", INT64, 0);
                }
                let numbers: Option<Vec<f64>> = labels.classes.iter().map(|name| name.parse().ok()).collect();
                let (table, kind) = match numbers.filter(|_| labels.numbers) {
                    Some(numbers) => (TensorProto::doubles(&[numbers.len()], &numbers), DOUBLE),
                    None => (TensorProto::strings(labels.classes), STRING),
                };
                let table = self.constant(table);
                let class = self.node("Gather", &[&table, &code], vec![]);
                called(self, "prediction", &class);
                ValueInfo::rows("prediction", kind, 0)
            }
            other => {
                let name = match other {
                    Output::Value | Output::Class | Output::Cluster => "prediction",
                    Output::Probability => "probability",
                    _ => "transform",
                };
                called(self, name, id);
                ValueInfo::rows(name, DOUBLE, width)
            }
        }
    }

    fn step(&mut self, formula: &Formula, op: &Op, width: usize, names: &[String]) -> String {
        let of = |id: &Id| names[id.0].as_str();
        match op {
            Op::Rows => unreachable!("the caller knows its name"),
            Op::Constant(values) => self.constant(TensorProto::doubles(&[1, values.len()], values)),
            Op::Fill(x, by) => {
                let by = self.constant(TensorProto::doubles(&[1, by.len()], by));
                let missing = self.node("IsNaN", &[of(x)], vec![]);
                self.node("Where", &[&missing, &by, of(x)], vec![])
            }
            Op::Join(parts) => self.join(formula, parts, names),
            Op::Pick(x, columns) => {
                let columns = self.numbers(&columns.iter().map(|&j| j as i64).collect::<Vec<_>>());
                self.node("Gather", &[of(x), &columns], vec![integer("axis", 1)])
            }
            Op::OneHot { of: x, column, first } => {
                let place = self.numbers(&[*column as i64]);
                let code = self.node("Gather", &[of(x), &place], vec![integer("axis", 1)]);
                let codes: Vec<f64> = (0..width).map(|i| (first + i) as f64).collect();
                let codes = self.constant(TensorProto::doubles(&[1, width], &codes));
                let equal = self.node("Equal", &[&code, &codes], vec![]);
                self.cast(&equal, DOUBLE)
            }
            Op::Affine { of: x, weights, bias } => {
                let table = self.constant(TensorProto::doubles(&[weights.rows, weights.cols], &weights.values));
                let product = self.node("MatMul", &[of(x), &table], vec![]);
                if bias.iter().all(|bias| *bias == 0.0) {
                    return product;
                }
                let bias = self.constant(TensorProto::doubles(&[1, bias.len()], bias));
                self.node("Add", &[&product, &bias], vec![])
            }
            Op::Each(function, x) => match function {
                Function::Exp => self.node("Exp", &[of(x)], vec![]),
                Function::Ln => self.node("Log", &[of(x)], vec![]),
                Function::Sigmoid => self.node("Sigmoid", &[of(x)], vec![]),
                Function::Tanh => self.node("Tanh", &[of(x)], vec![]),
                Function::Sqrt => self.node("Sqrt", &[of(x)], vec![]),
                Function::Abs => self.node("Abs", &[of(x)], vec![]),
                Function::Floor => self.node("Floor", &[of(x)], vec![]),
                Function::Power(power) => {
                    let power = self.scalar(*power);
                    self.node("Pow", &[of(x), &power], vec![])
                }
                // onnxruntime has the cosine in single precision only.
                Function::Cos => {
                    let quarter = self.scalar(std::f64::consts::FRAC_PI_2);
                    let turned = self.node("Add", &[of(x), &quarter], vec![]);
                    self.node("Sin", &[&turned], vec![])
                }
                Function::Missing => {
                    let missing = self.node("IsNaN", &[of(x)], vec![]);
                    self.cast(&missing, DOUBLE)
                }
            },
            Op::Pair(pair, a, b) => {
                let op = match pair {
                    Pair::Add => "Add",
                    Pair::Subtract => "Sub",
                    Pair::Multiply => "Mul",
                    Pair::Divide => "Div",
                    Pair::Larger => "Max",
                    Pair::Smaller => "Min",
                    Pair::Above => "Greater",
                    Pair::Equal => "Equal",
                };
                let result = self.node(op, &[of(a), of(b)], vec![]);
                if matches!(pair, Pair::Above | Pair::Equal) { self.cast(&result, DOUBLE) } else { result }
            }
            Op::Choose(condition, then, other) => {
                let condition = self.cast(of(condition), BOOL);
                self.node("Where", &[&condition, of(then), of(other)], vec![])
            }
            Op::Sum(x) => self.sum(of(x), 1, true),
            Op::Largest(x) => {
                let axes = self.numbers(&[1]);
                self.node("ReduceMax", &[of(x), &axes], vec![integer("keepdims", 1)])
            }
            Op::ArgLargest(x) => {
                let place = self.node("ArgMax", &[of(x)], vec![integer("axis", 1), integer("keepdims", 1)]);
                self.cast(&place, DOUBLE)
            }
            Op::Trees { of: x, trees, start } => self.trees(of(x), trees, start),
            Op::Distances { of: x, points, metric } => self.distances(of(x), points, *metric),
            Op::Neighbours { distances, count, values, inverse } => {
                let values = self.constant(TensorProto::doubles(&[values.rows, values.cols], &values.values));
                self.neighbours(of(distances), *count, &values, *inverse)
            }
            Op::Median { of: x, weights } => self.median(of(x), weights),
        }
    }

    /// A constant beside rows is repeated for each of them.
    fn join(&mut self, formula: &Formula, parts: &[Id], names: &[String]) -> String {
        let rows = parts.iter().find(|id| !matches!(formula.steps[id.0].op, Op::Constant(_)));
        let mut all: Vec<String> = Vec::new();
        for id in parts {
            let name = names[id.0].clone();
            all.push(match (&formula.steps[id.0].op, rows) {
                (Op::Constant(_), Some(rows)) => {
                    // Their number times one.
                    let shape =
                        self.put("", "Shape", &[names[rows.0].as_str()], 1, vec![integer("end", 1)]).swap_remove(0);
                    let one = self.numbers(&[1]);
                    let shape = self.node("Concat", &[&shape, &one], vec![integer("axis", 0)]);
                    self.node("Expand", &[&name, &shape], vec![])
                }
                _ => name,
            });
        }
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        self.node("Concat", &all, vec![integer("axis", 1)])
    }

    fn trees(&mut self, x: &str, trees: &[PlainTree], start: &[f64]) -> String {
        let mut e = Ensemble::default();
        let mut first = 0;
        let mut values: Vec<f64> = Vec::new();
        for (target, tree) in trees.iter().enumerate() {
            e.add(tree, target, first);
            first += tree.leaves();
            for leaf in 0..tree.leaves() {
                let mut row = vec![0.0; start.len()];
                row[tree.to..tree.to + tree.outputs].copy_from_slice(tree.leaf(leaf));
                values.extend(row);
            }
        }
        let leaves = self.ml("TreeEnsemble", &[x], e.attributes(trees.len()));
        let leaves = self.cast(&leaves, INT64);
        let table = self.constant(TensorProto::doubles(&[first, start.len()], &values));
        // rows x trees x outputs
        let looked_up = self.node("Gather", &[&table, &leaves], vec![integer("axis", 0)]);
        let sum = self.sum(&looked_up, 1, false);
        let start = self.constant(TensorProto::doubles(&[1, start.len()], start));
        self.node("Add", &[&sum, &start], vec![])
    }

    /// rows x 1 x columns beside 1 x points x columns.
    fn distances(&mut self, x: &str, points: &Matrix, metric: Metric) -> String {
        let axis = self.numbers(&[1]);
        let x = self.node("Unsqueeze", &[x, &axis], vec![]);
        let columns = points.cols as f64;
        let points = self.constant(TensorProto::doubles(&[1, points.rows, points.cols], &points.values));
        let difference = self.node("Sub", &[&x, &points], vec![]);
        let (inner, op) = match metric {
            Metric::SquaredEuclidean => (self.node("Mul", &[&difference, &difference], vec![]), "ReduceSum"),
            Metric::Manhattan => (self.node("Abs", &[&difference], vec![]), "ReduceSum"),
            Metric::Chebyshev => (self.node("Abs", &[&difference], vec![]), "ReduceMax"),
            Metric::Shared => {
                let missing = self.node("IsNaN", &[&difference], vec![]);
                let zero = self.scalar(0.0);
                let known = self.node("Where", &[&missing, &zero, &difference], vec![]);
                let squares = self.node("Mul", &[&known, &known], vec![]);
                let sum = self.sum(&squares, 2, false);
                let shared = self.node("Not", &[&missing], vec![]);
                let shared = self.cast(&shared, DOUBLE);
                let count = self.sum(&shared, 2, false);
                let columns = self.scalar(columns);
                let scaled = self.node("Mul", &[&sum, &columns], vec![]);
                return self.node("Div", &[&scaled, &count], vec![]);
            }
        };
        let axes = self.numbers(&[2]);
        self.node(op, &[&inner, &axes], vec![integer("keepdims", 0)])
    }

    fn neighbours(&mut self, distances: &str, count: usize, values: &str, inverse: bool) -> String {
        let count = self.numbers(&[count as i64]);
        let attributes = vec![integer("axis", 1), integer("largest", 0), integer("sorted", 1)];
        let near = self.put("", "TopK", &[distances, &count], 2, attributes);
        // rows x count x outputs
        let theirs = self.node("Gather", &[values, &near[1]], vec![integer("axis", 0)]);
        let one = self.scalar(1.0);
        let zero = self.scalar(0.0);
        let weights = match inverse {
            false => {
                let endless = self.scalar(f64::INFINITY);
                let counts = self.node("Less", &[&near[0], &endless], vec![]);
                self.cast(&counts, DOUBLE)
            }
            true => {
                // At distance zero nothing else counts.
                let is_here = self.node("Equal", &[&near[0], &zero], vec![]);
                let here = self.cast(&is_here, DOUBLE);
                let axes = self.numbers(&[1]);
                let any = self.node("ReduceMax", &[&here, &axes], vec![integer("keepdims", 1)]);
                let any = self.cast(&any, BOOL);
                let inverse = self.node("Div", &[&one, &near[0]], vec![]);
                self.node("Where", &[&any, &here, &inverse], vec![])
            }
        };
        let axis = self.numbers(&[2]);
        let wide = self.node("Unsqueeze", &[&weights, &axis], vec![]);
        let weighted = self.node("Mul", &[&theirs, &wide], vec![]);
        let sum = self.sum(&weighted, 1, false);
        let total = self.sum(&weights, 1, true);
        self.node("Div", &[&sum, &total], vec![])
    }

    fn median(&mut self, x: &str, weights: &[f64]) -> String {
        let count = self.numbers(&[weights.len() as i64]);
        let attributes = vec![integer("axis", 1), integer("largest", 0), integer("sorted", 1)];
        let sorted = self.put("", "TopK", &[x, &count], 2, attributes);
        let table = self.constant(TensorProto::doubles(&[weights.len()], weights));
        let theirs = self.node("Gather", &[&table, &sorted[1]], vec![integer("axis", 0)]);
        let axis = self.constant(TensorProto::integers(&[], &[1]));
        let below = self.node("CumSum", &[&theirs, &axis], vec![]);
        let half = self.scalar(0.5 * weights.iter().sum::<f64>());
        let enough = self.node("GreaterOrEqual", &[&below, &half], vec![]);
        let enough = self.cast(&enough, DOUBLE);
        let place = self.node("ArgMax", &[&enough], vec![integer("axis", 1), integer("keepdims", 1)]);
        self.node("GatherElements", &[&sorted[0], &place], vec![integer("axis", 1)])
    }
}

/// The attributes of a `TreeEnsemble`; a leaf weighs its number, so that the sum of a tree's target is its leaf.
#[derive(Default)]
struct Ensemble {
    roots: Vec<i64>,
    features: Vec<i64>,
    splits: Vec<f64>,
    modes: Vec<u8>,
    true_nodes: Vec<i64>,
    false_nodes: Vec<i64>,
    true_leaves: Vec<i64>,
    false_leaves: Vec<i64>,
    missing_true: Vec<i64>,
    members: Vec<f64>,
    targets: Vec<i64>,
    weights: Vec<f64>,
}

const AT_MOST: u8 = 0;
const MEMBER: u8 = 6;

impl Ensemble {
    fn add(&mut self, tree: &PlainTree, target: usize, first_leaf: usize) {
        let leaf = |e: &mut Ensemble, leaf: usize| {
            e.targets.push(target as i64);
            e.weights.push((first_leaf + leaf) as f64);
            e.weights.len() as i64 - 1
        };
        self.roots.push(self.features.len() as i64);
        if let [PlainNode::Leaf(only)] = tree.nodes[..] {
            // A split whose sides are alike.
            let at = leaf(self, only);
            self.split(0, AT_MOST, 0.0, false, (at, true), (at, true));
            return;
        }
        // Splits keep their order; where each stands among the splits alone.
        let base = self.features.len() as i64;
        let mut place = vec![0; tree.nodes.len()];
        let mut count = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            if matches!(node, PlainNode::Split { .. }) {
                place[at] = count;
                count += 1;
            }
        }
        for node in &tree.nodes {
            let PlainNode::Split { feature, test, missing_left, left, right } = node else { continue };
            let side = |e: &mut Ensemble, at: usize| match &tree.nodes[at] {
                PlainNode::Leaf(number) => (leaf(e, *number), true),
                PlainNode::Split { .. } => (base + place[at], false),
            };
            let (left, right) = (side(self, *left), side(self, *right));
            match test {
                PlainTest::AtMost(threshold) => {
                    self.split(*feature, AT_MOST, *threshold, *missing_left, left, right);
                }
                PlainTest::Among(codes) => {
                    self.members.extend(codes.iter().map(|&code| code as f64));
                    self.members.push(f64::NAN);
                    self.split(*feature, MEMBER, 0.0, *missing_left, left, right);
                }
            }
        }
    }

    fn split(&mut self, feature: usize, mode: u8, at: f64, missing: bool, left: (i64, bool), right: (i64, bool)) {
        self.features.push(feature as i64);
        self.modes.push(mode);
        self.splits.push(at);
        self.missing_true.push(i64::from(missing));
        self.true_nodes.push(left.0);
        self.true_leaves.push(i64::from(left.1));
        self.false_nodes.push(right.0);
        self.false_leaves.push(i64::from(right.1));
    }

    fn attributes(self, targets: usize) -> Vec<AttributeProto> {
        let mut all = vec![
            integers("tree_roots", self.roots),
            integers("nodes_featureids", self.features),
            tensor("nodes_splits", TensorProto::doubles(&[self.splits.len()], &self.splits)),
            tensor("nodes_modes", TensorProto::bytes(&self.modes)),
            integers("nodes_truenodeids", self.true_nodes),
            integers("nodes_falsenodeids", self.false_nodes),
            integers("nodes_trueleafs", self.true_leaves),
            integers("nodes_falseleafs", self.false_leaves),
            integers("nodes_missing_value_tracks_true", self.missing_true),
            integers("leaf_targetids", self.targets),
            tensor("leaf_weights", TensorProto::doubles(&[self.weights.len()], &self.weights)),
            integer("n_targets", targets as i64),
            // Added up, nothing done after.
            integer("aggregate_function", 1),
            integer("post_transform", 0),
        ];
        if !self.members.is_empty() {
            all.push(tensor("membership_values", TensorProto::doubles(&[self.members.len()], &self.members)));
        }
        all
    }
}
