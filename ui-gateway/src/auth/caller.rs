//! The authenticated caller of a call, which services find in the request's extensions.

use super::tokens::Scope;
use crate::connection::peer::Peer;

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub peer: Peer,
    /// The name that the client gives for itself; empty before it has given one.
    pub client: String,
    pub scope: Scope,
}
