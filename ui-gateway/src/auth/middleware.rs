//! The tower middleware around all services: authentication, the call's deadline, and the answer in
//! chunks.

use super::token_check::Auth;
use crate::connection::response_body::ChunkedBody;
use crate::connection::state::ConnectionState;
use crate::limits::answer_budget::BudgetShare;
use crate::limits::rate_limited_log::{LogKind, RateLimitedLog};
use futures_util::future::BoxFuture;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request, Response, header};
use tonic::service::Routes;
use tower::Service;

/// The header with the deadline of a call, relative to its start.
const TIMEOUT_HEADER: &str = "grpc-timeout";

/// All services behind the check of tokens; clones share them.
#[derive(Clone)]
pub struct AuthMiddleware {
    auth: Auth,
    routes: Routes,
    log: RateLimitedLog,
}

impl AuthMiddleware {
    pub fn new(auth: Auth, routes: Routes, log: RateLimitedLog) -> AuthMiddleware {
        AuthMiddleware {
            auth,
            routes: routes.prepare(),
            log,
        }
    }

    /// Authenticates a call and puts its caller into the request's extensions.
    fn authenticate(&self, request: &mut Request<Body>) -> Result<Arc<ConnectionState>, Status> {
        let state = request.extensions().get::<Arc<ConnectionState>>().cloned();
        let state = state.ok_or_else(|| Status::internal("a call without a connection"))?;

        // The user agent is a name until the client gives a better one in Hello.
        if let Some(agent) = request.headers().get(header::USER_AGENT) {
            state.set_client_name(&String::from_utf8_lossy(agent.as_bytes()), false);
        }

        let refuse = |status: Status| {
            let what = format!(
                "call of {} refused: {}",
                request.uri().path(),
                status.message()
            );
            self.log
                .warn(LogKind::Call, &state.peer().to_string(), &what);
            status
        };
        let caller = self.auth.check(request, &state).map_err(refuse)?;
        if let Some(caller) = caller {
            // The first valid token of a connection: it counts as a client from here on.
            state.promote(caller.token).map_err(|full| {
                let peer = state.peer().to_string();
                self.log
                    .warn(LogKind::TooManyClients, &peer, &full.to_string());
                Status::resource_exhausted(full.to_string())
            })?;
            state.close_when_revoked(caller.token, caller.revoked.clone());
            request.extensions_mut().insert(caller);
        }
        Ok(state)
    }
}

impl Service<Request<Body>> for AuthMiddleware {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Routes are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let state = match self.authenticate(&mut request) {
            Ok(state) => state,
            Err(status) => return Box::pin(std::future::ready(Ok(status.into_http()))),
        };
        // Read before the request is consumed by the services.
        let time_max = deadline(request.headers());

        let answer = self.routes.call(request);
        Box::pin(async move {
            let answer = match time_max {
                None => answer.await?,
                Some(time_max) => match tokio::time::timeout(time_max, answer).await {
                    Ok(answer) => answer?,
                    Err(_) => return Ok(too_late(time_max).into_http()),
                },
            };

            // The share of the budget moves from the message into the body, so that it is returned
            // when the last chunk is sent, not when the answer is ready.
            let (mut parts, body) = answer.into_parts();
            let share = parts.extensions.remove::<BudgetShare>();
            Ok(Response::from_parts(
                parts,
                Body::new(ChunkedBody::new(body, state, share)),
            ))
        })
    }
}

fn too_late(time_max: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the call's own deadline of {time_max:?} has passed; a command goes on nevertheless: ask \
         again with the same command_id for its answer"
    ))
}

/// The call's deadline as the client gives it (gRPC over HTTP/2: up to eight digits and a unit).
/// Malformed values are ignored, as gRPC's own libraries do.
fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT_HEADER)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }

    // At most eight digits: no product below can overflow.
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_digits_and_a_unit() {
        let parsed = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TIMEOUT_HEADER, text.parse().expect("a header"));
            deadline(&headers)
        };
        assert_eq!(parsed("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(parsed("3M"), Some(Duration::from_secs(180)));
        assert_eq!(parsed("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(parsed("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parsed("7u"), Some(Duration::from_micros(7)));
        assert_eq!(parsed("0n"), Some(Duration::ZERO));
        for nonsense in ["", "S", "5", "123456789S", "-1S", "+1S", "1.5S", "5X"] {
            assert_eq!(parsed(nonsense), None, "{nonsense}");
        }
        assert_eq!(deadline(&HeaderMap::new()), None);
    }
}
