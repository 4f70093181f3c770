//! Ermine over HTTP. No algorithm and no file format: rows go to [`ermine_app`], answers come back.
//!
//! | module | what |
//! | --- | --- |
//! | [`http`] | connections and their limits, bodies, answers to what is wrong |
//! | [`jobs`] | work that waits in a bounded queue for threads that take it in batches |
//! | [`lab`] | `ermine lab`: a page in the browser on the same engine |
//! | [`serve`] | `ermine serve`: models behind an endpoint |

pub mod http;
pub mod jobs;
pub mod lab;
pub mod serve;
