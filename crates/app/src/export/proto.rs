//! The part of ONNX's schema that a model needs (onnx.proto of ONNX 1.16), by its field numbers.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    #[prost(string, tag = "2")]
    pub producer_name: String,
    #[prost(string, tag = "3")]
    pub producer_version: String,
    #[prost(string, tag = "6")]
    pub doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(string, tag = "7")]
    pub domain: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    /// 2 one integer, 3 one string, 4 a tensor, 7 integers, 8 strings.
    #[prost(int32, tag = "20")]
    pub kind: i32,
}

/// Numbers of the types of tensors.
pub const UINT8: i32 = 2;
pub const INT64: i32 = 7;
pub const STRING: i32 = 8;
pub const BOOL: i32 = 9;
pub const DOUBLE: i32 = 11;

#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_data: Vec<Vec<u8>>,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
}

impl TensorProto {
    pub fn doubles(dims: &[usize], values: &[f64]) -> TensorProto {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        TensorProto::raw(dims, DOUBLE, bytes)
    }

    pub fn integers(dims: &[usize], values: &[i64]) -> TensorProto {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        TensorProto::raw(dims, INT64, bytes)
    }

    pub fn bytes(values: &[u8]) -> TensorProto {
        TensorProto::raw(&[values.len()], UINT8, values.to_vec())
    }

    pub fn strings(values: &[String]) -> TensorProto {
        TensorProto {
            dims: vec![values.len() as i64],
            data_type: STRING,
            string_data: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
            ..TensorProto::default()
        }
    }

    fn raw(dims: &[usize], data_type: i32, bytes: Vec<u8>) -> TensorProto {
        let dims = dims.iter().map(|&length| length as i64).collect();
        TensorProto { dims, data_type, raw_data: Some(bytes), ..TensorProto::default() }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub kind: Option<TypeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<ShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

impl ValueInfo {
    /// Any number of rows, `width` columns; a width of 0 is a plain list.
    pub fn rows(name: &str, elem_type: i32, width: usize) -> ValueInfo {
        let mut dim = vec![Dimension { value: None, name: Some("rows".into()) }];
        if width > 0 {
            dim.push(Dimension { value: Some(width as i64), name: None });
        }
        let tensor = Some(TensorType { elem_type, shape: Some(ShapeProto { dim }) });
        ValueInfo { name: name.into(), kind: Some(TypeProto { tensor }) }
    }
}
