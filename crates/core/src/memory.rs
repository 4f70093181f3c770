//! Parameters can ask for more memory than is available, and an allocation that fails ends the process: what a
//! parameter decides is priced first, and refused by name.

use crate::{Error, Result};

/// Refuses an array of `lengths[0] x lengths[1] x ...` values of `size` bytes for which there is no room. `what` is the
/// parameter that asks for it, as `n_components=1000000`.
///
/// ```
/// use ermine_core::memory;
///
/// assert!(memory::check("RBFSampler", "n_components=100", &[100, 7], 8).is_ok());
/// let error = memory::check("RBFSampler", "n_components=1000000000000000", &[1_000_000_000_000_000, 7], 8).unwrap_err();
/// let text = "RBFSampler: n_components=1000000000000000 needs 56000000000000000 bytes, more memory than is available";
/// assert_eq!(error.to_string(), text);
/// ```
pub fn check(model: &str, what: &str, lengths: &[usize], size: usize) -> Result<()> {
    let bytes = lengths.iter().fold(size as u128, |bytes, &length| bytes.saturating_mul(length as u128));
    let room = |bytes: usize| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    if usize::try_from(bytes).is_ok_and(room) {
        return Ok(());
    }
    Err(Error::Data(format!("{model}: {what} needs {bytes} bytes, more memory than is available")))
}
