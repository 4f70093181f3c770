//! Many numbers in a message between workers, in one piece: number by number it would cost as much as computing them.
//! For `#[serde(with = "as_bytes")]`.

use serde::{Deserializer, Serializer, de};

pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut bytes = vec![0; 8 * values.len()];
    bytes.chunks_exact_mut(8).zip(values).for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_le_bytes()));
    serializer.serialize_bytes(&bytes)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    struct Bytes;
    impl de::Visitor<'_> for Bytes {
        type Value = Vec<f64>;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("numbers of eight bytes")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<f64>, E> {
            let (numbers, rest) = bytes.as_chunks::<8>();
            if rest.is_empty() {
                Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
            } else {
                Err(E::invalid_length(bytes.len(), &self))
            }
        }
    }
    deserializer.deserialize_bytes(Bytes)
}
