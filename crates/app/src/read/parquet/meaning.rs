//! What a stored value stands for, by the types of the file's schema.

use crate::table::Kind;
use parquet::{
    basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical},
    schema::types::Type,
};

/// What a stored value stands for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// A column without a type: nothing but nulls.
    Null,
    Boolean,
    /// As it is stored.
    Number,
    Unsigned,
    HalfFloat,
    /// Divided by this, not multiplied by the inverse: then 12.34 is the number that the text 12.34 is.
    Decimal(f64),
    Days,
    /// So many in a second.
    Ticks(f64),
    Nanoseconds,
    Text,
}

impl Meaning {
    /// `None` where a value cannot be a cell of a table.
    pub(super) fn of(field: &Type) -> Option<Meaning> {
        let about = field.get_basic_info();
        if !field.is_primitive() || (about.has_repetition() && about.repetition() == Repetition::REPEATED) {
            return None;
        }
        let decimal = |scale: i32| Some(Meaning::Decimal(10_f64.powi(scale)));
        let logical = about.logical_type_ref();
        if let Some(LogicalType::Unknown) = logical {
            return Some(Meaning::Null);
        }
        let physical = field.get_physical_type();
        match (physical, logical, about.converted_type()) {
            (Physical::BOOLEAN, ..) => Some(Meaning::Boolean),
            (Physical::FLOAT | Physical::DOUBLE, ..) => Some(Meaning::Number),
            (Physical::INT96, ..) => Some(Meaning::Nanoseconds),
            (_, Some(LogicalType::Decimal(decimals)), _) => decimal(decimals.scale),
            (_, None, ConvertedType::DECIMAL) => decimal(field.get_scale()),
            (Physical::INT32 | Physical::INT64, Some(logical), _) => match logical {
                LogicalType::Integer(integer) if integer.is_signed => Some(Meaning::Number),
                LogicalType::Integer(_) => Some(Meaning::Unsigned),
                LogicalType::Date => Some(Meaning::Days),
                LogicalType::Timestamp(stamp) => Some(match stamp.unit {
                    TimeUnit::MILLIS => Meaning::Ticks(1e3),
                    TimeUnit::MICROS => Meaning::Ticks(1e6),
                    TimeUnit::NANOS => Meaning::Nanoseconds,
                }),
                _ => None,
            },
            (Physical::INT32 | Physical::INT64, None, converted) => match converted {
                ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64 => Some(Meaning::Number),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                    Some(Meaning::Unsigned)
                }
                ConvertedType::DATE => Some(Meaning::Days),
                ConvertedType::TIMESTAMP_MILLIS => Some(Meaning::Ticks(1e3)),
                ConvertedType::TIMESTAMP_MICROS => Some(Meaning::Ticks(1e6)),
                _ => None,
            },
            (Physical::BYTE_ARRAY, ..) => Some(Meaning::Text),
            (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16), _) => Some(Meaning::HalfFloat),
            (Physical::FIXED_LEN_BYTE_ARRAY, ..) => None,
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Meaning::Null | Meaning::Number | Meaning::Unsigned | Meaning::HalfFloat | Meaning::Decimal(_) => {
                Kind::Number
            }
            Meaning::Boolean => Kind::Boolean,
            Meaning::Days => Kind::Date,
            Meaning::Ticks(_) | Meaning::Nanoseconds => Kind::DateTime,
            Meaning::Text => Kind::Category,
        }
    }
}

/// For messages about columns that cannot be read.
pub(super) fn type_name(field: &Type) -> String {
    let about = field.get_basic_info();
    match (about.logical_type_ref(), about.converted_type()) {
        (Some(LogicalType::List), _) | (_, ConvertedType::LIST) => "List".into(),
        (Some(LogicalType::Map), _) | (_, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => "Map".into(),
        _ if !field.is_primitive() => "Struct".into(),
        _ if about.has_repetition() && about.repetition() == Repetition::REPEATED => "List".into(),
        (Some(LogicalType::Time(_)), _) | (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => "Time".into(),
        (Some(LogicalType::Uuid), _) => "UUID".into(),
        (_, ConvertedType::INTERVAL) => "Interval".into(),
        _ => field.get_physical_type().to_string(),
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Values
