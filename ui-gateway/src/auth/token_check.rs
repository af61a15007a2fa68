//! The check of a call's token and scope, for every call, health and reflection included.

use super::caller::Caller;
use super::methods::{OPEN_METHOD, log_name, scope_needed};
use super::tokens::Tokens;
use crate::audit::Audit;
use crate::connection::state::ConnectionState;
use tonic::Status;
use tonic::codegen::http::{Request, header};

/// Checks tokens, and notes denied commands in the audit log.
#[derive(Clone)]
pub struct Auth {
    tokens: Tokens,
    audit: Audit,
}

impl Auth {
    pub fn new(tokens: Tokens, audit: Audit) -> Auth {
        Auth { tokens, audit }
    }

    /// The caller; `None` for the method that needs no token.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` without a valid token, `PERMISSION_DENIED` if its scope is too small; the
    /// message says what to do.
    pub fn check<B>(
        &self,
        request: &Request<B>,
        state: &ConnectionState,
    ) -> Result<Option<Caller>, Status> {
        let path = request.uri().path();
        // Before the token is looked at: whoever redeems an invitation has none yet.
        if path == OPEN_METHOD {
            return Ok(None);
        }

        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|header| header.as_bytes().strip_prefix(b"Bearer "));
        // A call without a token takes the same path with an empty one, which equals no token.
        let Some(shown) = self.tokens.shown(token.unwrap_or_default()) else {
            state.count_refusal();
            let why = match header {
                None => "no token",
                Some(_) => "wrong token",
            };
            let method = log_name(path.rsplit('/').next().unwrap_or(path));
            self.audit
                .refused(&method, state.peer(), state.client_name(), why);
            return Err(Status::unauthenticated(if header.is_none() {
                "no token: send the metadata entry `authorization: Bearer TOKEN` with a token \
                 from the job's connect.json"
            } else {
                "wrong token: use one from this job's connect.json (a job that was started anew \
                 has new ones, and a guest's may have been revoked)"
            }));
        };

        let caller = Caller {
            peer: state.peer(),
            client: state.client_name(),
            scope: shown.scope,
            token: shown.id,
            revoked: shown.revoked,
        };
        if caller.scope < scope_needed(path) {
            let method = path.rsplit('/').next().unwrap_or(path);
            self.audit.denied(&log_name(method), &caller);
            return Err(Status::permission_denied(format!(
                "{method} needs the scope control and this token opens view: call again with the \
                 token \"control\" of the job's connect.json"
            )));
        }
        Ok(Some(caller))
    }
}
