//! A formula as a function in C or Rust that needs nothing but the language: a row in, its prediction out.

use super::{
    Written,
    formula::{Function, Id, Metric, Op, Pair, PlainNode, PlainTest, PlainTree},
};
use crate::{Fitted, table::Kind};
use ermine::{Error, Matrix, Output, Result};
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C,
    Rust,
}

use Language::{C, Rust};

/// The source of a file.
pub fn source(fitted: &Fitted, language: Language) -> Result<String> {
    let written = Written::of(fitted)?;
    let names = names(fitted);
    let mut w = Writer { language, tables: String::new(), body: String::new(), functions: String::new(), count: 0 };
    let wanted: Vec<Id> = written.said.iter().map(|(_, id)| *id).collect();
    let needed = written.formula.needed(&wanted);
    for (at, step) in written.formula.steps.iter().enumerate().filter(|(at, _)| needed[*at]) {
        w.declare(at, step.width);
        match &step.op {
            Op::Rows => w.rows(fitted, &names, at),
            op => w.step(op, at, step.width, &|id| written.formula.width(id))?,
        }
    }
    Ok(w.finish(fitted, &names, &written))
}

/// Names of fields: letters, digits and underscores, all different.
fn names(fitted: &Fitted) -> Vec<String> {
    const TAKEN: &[&str] = &[
        "as", "auto", "break", "case", "char", "const", "continue", "crate", "default", "do", "double", "else", "enum",
        "extern", "false", "float", "fn", "for", "goto", "if", "impl", "in", "inline", "int", "let", "long", "loop",
        "match", "mod", "move", "mut", "pub", "ref", "register", "restrict", "return", "self", "Self", "short",
        "signed", "sizeof", "static", "struct", "super", "switch", "trait", "true", "type", "typedef", "union",
        "unsafe", "unsigned", "use", "void", "volatile", "where", "while", "async", "await", "dyn", "yield", "try",
    ];
    let mut names: Vec<String> = Vec::new();
    for field in &fitted.header.schema.columns {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = field.name.chars().map(plain).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || TAKEN.contains(&name.as_str()) {
            name = format!("column_{name}");
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// A double that reads back as itself, in both languages.
fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NAN".into(),
        value if value == f64::INFINITY => "INFINITY".into(),
        value if value == f64::NEG_INFINITY => "-INFINITY".into(),
        value => {
            // Both languages take an exponent; only one takes it without a point.
            let text = format!("{value:e}");
            if text.contains('.') { text } else { text.replace('e', ".0e") }
        }
    }
}

/// A string literal of both languages.
fn string(text: &str, language: Language) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match (byte, language) {
            (b'"' | b'\\', _) => {
                out.push('\\');
                out.push(byte as char);
            }
            (b' '..=b'~', _) => out.push(byte as char),
            // Three octal digits end by themselves.
            (_, C) => drop(write!(out, "\\{byte:03o}")),
            (_, Rust) => {}
        }
    }
    if language == Rust {
        return format!("{text:?}");
    }
    out.push('"');
    out
}

struct Writer {
    language: Language,
    tables: String,
    functions: String,
    body: String,
    count: usize,
}

impl Writer {
    fn line(&mut self, text: impl AsRef<str>) {
        self.body.push_str("    ");
        self.body.push_str(text.as_ref());
        self.body.push('\n');
    }

    fn declare(&mut self, at: usize, width: usize) {
        let width = width.max(1);
        match self.language {
            C => self.line(format!("double v{at}[{width}];")),
            Rust => self.line(format!("let mut v{at} = [0.0f64; {width}];")),
        }
    }

    /// A table of numbers outside the function.
    fn table(&mut self, values: &[f64]) -> String {
        self.count += 1;
        let name = format!("T{}", self.count);
        let list: Vec<String> = values.iter().map(|value| number(*value)).collect();
        let (length, list) = (values.len().max(1), if list.is_empty() { "0.0".into() } else { list.join(", ") });
        let _ = match self.language {
            C => writeln!(self.tables, "static const double {name}[{length}] = {{ {list} }};"),
            Rust => writeln!(self.tables, "static {name}: [f64; {length}] = [{list}];"),
        };
        name
    }

    /// A loop over `j` below `count`.
    fn each(&mut self, count: usize, text: &str) {
        match self.language {
            C => self.line(format!("for (int j = 0; j < {count}; j++) {{ {text}; }}")),
            Rust => self.line(format!("for j in 0..{count} {{ {text}; }}")),
        }
    }

    fn rows(&mut self, fitted: &Fitted, names: &[String], at: usize) {
        for (j, field) in fitted.header.schema.columns.iter().enumerate() {
            let name = &names[j];
            if field.kind != Kind::Category {
                match self.language {
                    C => self.line(format!("v{at}[{j}] = row->{name};")),
                    Rust => self.line(format!("v{at}[{j}] = row.{name};")),
                }
                continue;
            }
            let levels: Vec<String> = field.levels.iter().map(|level| string(level, self.language)).collect();
            match self.language {
                C => {
                    self.line(format!("v{at}[{j}] = NAN;"));
                    let list = if levels.is_empty() { "\"\"".into() } else { levels.join(", ") };
                    let count = levels.len();
                    self.line(format!("{{ static const char *const levels[] = {{ {list} }};"));
                    self.line(format!(
                        "  for (int k = 0; row->{name} && k < {count}; k++) \
                         if (!strcmp(row->{name}, levels[k])) {{ v{at}[{j}] = k; break; }} }}"
                    ));
                }
                Rust => {
                    let list = levels.join(", ");
                    let count = levels.len();
                    self.line(format!("{{ static LEVELS: [&str; {count}] = [{list}];"));
                    self.line(format!(
                        "  let known = row.{name}.and_then(|level| LEVELS.iter().position(|known| *known == level));"
                    ));
                    self.line(format!("  v{at}[{j}] = known.map_or(NAN, |code| code as f64); }}"));
                }
            }
        }
    }

    fn step(&mut self, op: &Op, at: usize, width: usize, width_of: &dyn Fn(Id) -> usize) -> Result<()> {
        let cell = |id: Id| if width_of(id) == 1 { format!("v{}[0]", id.0) } else { format!("v{}[j]", id.0) };
        match op {
            Op::Rows => {}
            Op::Constant(values) => {
                let table = self.table(values);
                self.each(width, &format!("v{at}[j] = {table}[j]"));
            }
            Op::Fill(x, by) => {
                let table = self.table(by);
                let x = cell(*x);
                self.each(width, &format!("v{at}[j] = {}", self.choice(&self.is_nan(&x), &format!("{table}[j]"), &x)));
            }
            Op::Join(parts) => {
                let mut first = 0;
                for part in parts {
                    let count = width_of(*part);
                    self.each(count, &format!("v{at}[{first} + j] = v{}[j]", part.0));
                    first += count;
                }
            }
            Op::Pick(x, columns) => {
                for (j, column) in columns.iter().enumerate() {
                    self.line(format!("v{at}[{j}] = v{}[{column}];", x.0));
                }
            }
            Op::OneHot { of, column, first } => {
                let equal = match self.language {
                    C => format!("v{}[{column}] == {first} + j", of.0),
                    Rust => format!("v{}[{column}] == ({first} + j) as f64", of.0),
                };
                self.each(width, &format!("v{at}[j] = {}", self.choice(&equal, "1.0", "0.0")));
            }
            Op::Affine { of, weights, bias } => self.affine(at, *of, weights, bias),
            Op::Each(function, x) => {
                let value = self.function(*function, &cell(*x));
                self.each(width, &format!("v{at}[j] = {value}"));
            }
            Op::Pair(pair, a, b) => {
                let value = self.pair(*pair, &cell(*a), &cell(*b));
                self.each(width, &format!("v{at}[j] = {value}"));
            }
            Op::Choose(condition, then, other) => {
                let value = self.choice(&format!("{} != 0.0", cell(*condition)), &cell(*then), &cell(*other));
                self.each(width, &format!("v{at}[j] = {value}"));
            }
            Op::Sum(x) => {
                self.line(format!("v{at}[0] = 0.0;"));
                self.each(width_of(*x), &format!("v{at}[0] += v{}[j]", x.0));
            }
            Op::Largest(x) => {
                self.line(format!("v{at}[0] = v{}[0];", x.0));
                let better = format!("v{x}[j] > v{at}[0]", x = x.0);
                let value = self.choice(&better, &format!("v{}[j]", x.0), &format!("v{at}[0]"));
                self.each(width_of(*x), &format!("v{at}[0] = {value}"));
            }
            Op::ArgLargest(x) => {
                let x_id = x.0;
                self.line(format!("v{at}[0] = 0.0;"));
                let (best, place) = match self.language {
                    C => (format!("v{x_id}[(int)v{at}[0]]"), "(double)j"),
                    Rust => (format!("v{x_id}[v{at}[0] as usize]"), "j as f64"),
                };
                let value = self.choice(&format!("v{x_id}[j] > {best}"), place, &format!("v{at}[0]"));
                self.each(width_of(*x), &format!("v{at}[0] = {value}"));
            }
            Op::Trees { of, trees, start } => {
                let table = self.table(start);
                self.each(width, &format!("v{at}[j] = {table}[j]"));
                for tree in trees {
                    self.tree(tree, *of, at, width_of(*of));
                }
            }
            Op::Distances { of, points, metric } => self.distances(at, *of, points, *metric),
            Op::Neighbours { .. } => {
                return Err(Error::Unsupported("a model of neighbours has no form in C or Rust".into()));
            }
            Op::Median { .. } => {
                return Err(Error::Unsupported("a weighted median has no form in C or Rust".into()));
            }
        }
        Ok(())
    }

    fn affine(&mut self, at: usize, of: Id, weights: &Matrix, bias: &[f64]) {
        let width = weights.cols;
        let (w, b) = (self.table(&weights.values), self.table(bias));
        let (n, k, x) = (weights.rows, weights.cols, of.0);
        self.each(width, &format!("v{at}[j] = {b}[j]"));
        match self.language {
            C => self.line(format!(
                "for (int i = 0; i < {n}; i++) for (int j = 0; j < {k}; j++) \
                 v{at}[j] += v{x}[i] * {w}[i * {k} + j];"
            )),
            Rust => self
                .line(format!("for i in 0..{n} {{ for j in 0..{k} {{ v{at}[j] += v{x}[i] * {w}[i * {k} + j]; }} }}")),
        }
    }

    fn distances(&mut self, at: usize, of: Id, points: &Matrix, metric: Metric) {
        let width = points.rows;
        let (table, x, p) = (self.table(&points.values), of.0, points.cols);
        let d = format!("v{x}[i] - {table}[j * {p} + i]");
        let (size, larger) = match self.language {
            C => (format!("fabs({d})"), "fmax"),
            Rust => (format!("({d}).abs()"), "f64::max"),
        };
        let add = match metric {
            Metric::SquaredEuclidean => format!("v{at}[j] += ({d}) * ({d});"),
            Metric::Manhattan => format!("v{at}[j] += {size};"),
            Metric::Chebyshev => format!("v{at}[j] = {larger}(v{at}[j], {size});"),
            // Only neighbours are found by it, which have no form here.
            Metric::Shared => String::new(),
        };
        let inner = match self.language {
            C => format!("v{at}[j] = 0.0; for (int i = 0; i < {p}; i++) {{ {add} }}"),
            Rust => format!("v{at}[j] = 0.0; for i in 0..{p} {{ {add} }}"),
        };
        self.each(width, &inner);
    }

    fn pair(&self, pair: Pair, a: &str, b: &str) -> String {
        match pair {
            Pair::Add => format!("{a} + {b}"),
            Pair::Subtract => format!("{a} - {b}"),
            Pair::Multiply => format!("{a} * {b}"),
            Pair::Divide => format!("{a} / {b}"),
            Pair::Larger => self.choice(&format!("{a} >= {b}"), a, b),
            Pair::Smaller => self.choice(&format!("{a} <= {b}"), a, b),
            Pair::Above => self.choice(&format!("{a} > {b}"), "1.0", "0.0"),
            Pair::Equal => self.choice(&format!("{a} == {b}"), "1.0", "0.0"),
        }
    }

    fn is_nan(&self, x: &str) -> String {
        if self.language == C { format!("isnan({x})") } else { format!("{x}.is_nan()") }
    }

    fn choice(&self, condition: &str, then: &str, other: &str) -> String {
        match self.language {
            C => format!("{condition} ? {then} : {other}"),
            Rust => format!("if {condition} {{ {then} }} else {{ {other} }}"),
        }
    }

    fn function(&self, function: Function, x: &str) -> String {
        match (function, self.language) {
            (Function::Exp, C) => format!("exp({x})"),
            (Function::Exp, Rust) => format!("{x}.exp()"),
            (Function::Ln, C) => format!("log({x})"),
            (Function::Ln, Rust) => format!("{x}.ln()"),
            (Function::Sigmoid, C) => format!("1.0 / (1.0 + exp(-{x}))"),
            (Function::Sigmoid, Rust) => format!("1.0 / (1.0 + (-{x}).exp())"),
            (Function::Tanh, C) => format!("tanh({x})"),
            (Function::Tanh, Rust) => format!("{x}.tanh()"),
            (Function::Sqrt, C) => format!("sqrt({x})"),
            (Function::Sqrt, Rust) => format!("{x}.sqrt()"),
            (Function::Abs, C) => format!("fabs({x})"),
            (Function::Abs, Rust) => format!("{x}.abs()"),
            (Function::Floor, C) => format!("floor({x})"),
            (Function::Floor, Rust) => format!("{x}.floor()"),
            (Function::Power(power), C) => format!("pow({x}, {})", number(power)),
            (Function::Power(power), Rust) => format!("{x}.powf({})", number(power)),
            (Function::Cos, C) => format!("cos({x})"),
            (Function::Cos, Rust) => format!("{x}.cos()"),
            (Function::Missing, C) => format!("(isnan({x}) ? 1.0 : 0.0)"),
            (Function::Missing, Rust) => format!("(if {x}.is_nan() {{ 1.0 }} else {{ 0.0 }})"),
        }
    }

    /// A function for each tree: where the leaf's values begin in its table.
    fn tree(&mut self, tree: &PlainTree, x: Id, at: usize, width: usize) {
        let table = self.table(&tree.values);
        let name = table.to_lowercase();
        let mut text = match self.language {
            C => format!("static int {name}(const double *x) {{\n"),
            Rust => format!("fn {name}(x: &[f64; {width}]) -> usize {{\n"),
        };
        self.node(tree, 0, 1, &mut text);
        text.push_str("}\n");
        self.functions.push_str(&text);
        let (outputs, to, x) = (tree.outputs, tree.to, x.0);
        match self.language {
            C => self.line(format!(
                "{{ int leaf = {name}(v{x}); for (int j = 0; j < {outputs}; j++) \
                 v{at}[{to} + j] += {table}[leaf * {outputs} + j]; }}"
            )),
            Rust => self.line(format!(
                "{{ let leaf = {name}(&v{x}); for j in 0..{outputs} {{ \
                 v{at}[{to} + j] += {table}[leaf * {outputs} + j]; }} }}"
            )),
        }
    }

    fn node(&self, tree: &PlainTree, at: usize, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth.min(20));
        match &tree.nodes[at] {
            PlainNode::Leaf(leaf) => drop(writeln!(out, "{indent}return {leaf};")),
            PlainNode::Split { feature, test, missing_left, left, right } => {
                let x = format!("x[{feature}]");
                let condition = match test {
                    PlainTest::AtMost(threshold) => format!("{x} <= {}", number(*threshold)),
                    PlainTest::Among(codes) if codes.is_empty() => match self.language {
                        C => "0".into(),
                        Rust => "false".into(),
                    },
                    PlainTest::Among(codes) => {
                        let equal: Vec<String> = codes.iter().map(|code| format!("{x} == {code}.0")).collect();
                        equal.join(" || ")
                    }
                };
                let missing = match missing_left {
                    true => format!(" || {}", self.is_nan(&x)),
                    false => String::new(),
                };
                let (open, close) = if self.language == C { ("(", ")") } else { ("", "") };
                let _ = writeln!(out, "{indent}if {open}{condition}{missing}{close} {{");
                self.node(tree, *left, depth + 1, out);
                let _ = writeln!(out, "{indent}}}");
                // What is left goes right.
                self.node(tree, *right, depth, out);
            }
        }
    }

    fn finish(self, fitted: &Fitted, names: &[String], written: &Written) -> String {
        let classes = fitted.classes();
        let language = self.language;
        let (mut fields, mut answers) = (String::new(), String::new());
        for (output, id) in &written.said {
            let (id, width) = (id.0, written.formula.width(*id));
            match output {
                Output::Class if !classes.is_empty() && width == 1 => {
                    let list: Vec<String> = classes.iter().map(|class| string(class, language)).collect();
                    let (count, list) = (list.len(), list.join(", "));
                    if language == C {
                        fields.push_str("    const char *prediction;\n");
                        let _ = writeln!(answers, "    {{ static const char *const classes[] = {{ {list} }};");
                        let _ = writeln!(answers, "      out->prediction = classes[(int)v{id}[0]]; }}");
                    } else {
                        fields.push_str("    pub prediction: &'static str,\n");
                        let _ = writeln!(
                            answers,
                            "        prediction: {{ static CLASSES: [&str; {count}] = [{list}]; \
                             CLASSES[v{id}[0] as usize] }},"
                        );
                    }
                }
                other => {
                    let name = match other {
                        Output::Probability => "probability",
                        Output::Transform => "transform",
                        _ => "prediction",
                    };
                    match (language, width) {
                        (C, 1) => {
                            let _ = writeln!(fields, "    double {name};");
                            let _ = writeln!(answers, "    out->{name} = v{id}[0];");
                        }
                        (C, _) => {
                            let _ = writeln!(fields, "    double {name}[{width}];");
                            let _ =
                                writeln!(answers, "    for (int j = 0; j < {width}; j++) out->{name}[j] = v{id}[j];");
                        }
                        (Rust, 1) => {
                            let _ = writeln!(fields, "    pub {name}: f64,");
                            let _ = writeln!(answers, "        {name}: v{id}[0],");
                        }
                        (Rust, _) => {
                            let _ = writeln!(fields, "    pub {name}: [f64; {width}],");
                            let _ = writeln!(answers, "        {name}: v{id},");
                        }
                    }
                }
            }
        }
        let mut row = String::new();
        for (field, name) in fitted.header.schema.columns.iter().zip(names) {
            let category = field.kind == Kind::Category;
            let said = field.name.replace(['\n', '\r'], " ").replace("*/", "* /");
            let _ = match (language, category) {
                (C, true) => writeln!(row, "    const char *{name}; /* {said}; NULL is missing */"),
                (C, false) => writeln!(row, "    double {name}; /* {said}; NAN is missing */"),
                (Rust, true) => writeln!(row, "    /// {said}; `None` is missing.\n    pub {name}: Option<&'a str>,"),
                (Rust, false) => writeln!(row, "    /// {said}; NaN is missing.\n    pub {name}: f64,"),
            };
        }
        let model = &fitted.header.model;
        let version = env!("CARGO_PKG_VERSION");
        let Writer { tables, functions, body, .. } = self;
        match language {
            C => format!(
                "/* {model}, written by ermine {version}. Numbers in, numbers out: no allocation, no state. */\n\
                 #include <math.h>\n#include <string.h>\n\n\
                 struct ermine_row {{\n{row}}};\n\nstruct ermine_prediction {{\n{fields}}};\n\n\
                 {tables}\n{functions}\n\
                 void ermine_predict(const struct ermine_row *row, struct ermine_prediction *out) {{\n\
                 {body}{answers}}}\n"
            ),
            Rust => {
                let category = fitted.header.schema.columns.iter().any(|field| field.kind == Kind::Category);
                let (with, of) = if category { ("<'a>", "<'_>") } else { ("", "") };
                format!(
                    "//! {model}, written by ermine {version}. Numbers in, numbers out: no allocation, no state.\n\
                     #![allow(dead_code, unused, clippy::all)]\n\nuse std::f64::{{INFINITY, NAN}};\n\n\
                     #[derive(Clone, Copy, Debug)]\npub struct Row{with} {{\n{row}}}\n\n\
                     #[derive(Clone, Copy, Debug)]\npub struct Prediction {{\n{fields}}}\n\n\
                     {tables}\n{functions}\n\
                     pub fn predict(row: &Row{of}) -> Prediction {{\n{body}    Prediction {{\n{answers}    }}\n}}\n"
                )
            }
        }
    }
}
