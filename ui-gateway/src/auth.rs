//! Authentication and authorisation: tokens, the scope that each call needs, and invitations.

pub mod caller;
pub mod invitations;
pub mod methods;
pub mod middleware;
pub mod token_check;
pub mod tokens;
