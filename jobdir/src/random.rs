//! Random numbers from the operating system, for tokens, secrets and command ids.

use std::fmt::Write;

/// Bytes of a token; 256 bits cannot be guessed.
const TOKEN_BYTES: usize = 32;
/// Characters of a token.
pub const TOKEN_LENGTH: usize = 2 * TOKEN_BYTES;

/// A fresh token: [`TOKEN_LENGTH`] hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn token() -> std::io::Result<String> {
    let mut bytes = [0u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    let mut text = String::with_capacity(TOKEN_LENGTH);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// A fresh id, never 0, which means none.
///
/// # Errors
/// If the system has no random numbers.
pub fn id() -> std::io::Result<u64> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes)?;
    // 0 would leave the choice to the gateway, and a repeated call would be another command.
    Ok(u64::from_le_bytes(bytes).max(1))
}
