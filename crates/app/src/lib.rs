pub mod csv;
pub mod parquet;
pub mod table;
