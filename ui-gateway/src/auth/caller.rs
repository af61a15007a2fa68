//! The authenticated caller of a call, which services find in the request's extensions.

use super::tokens::{Scope, TokenId};
use crate::connection::peer::Peer;
use tokio_util::sync::CancellationToken;

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub peer: Peer,
    /// The name that the client gives for itself; empty before it has given one.
    pub client: String,
    pub scope: Scope,
    /// The token that it has shown.
    pub token: TokenId,
    /// Cancelled when that token is revoked.
    pub revoked: CancellationToken,
}
