//! In front of every call, health and reflection included: who calls and may it, how long it may
//! take, and how its answer goes out.

use crate::answer::{InPieces, Share};
use crate::auth::Auth;
use crate::complaints::{Complaints, Kind};
use crate::visit::Visit;
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

/// The header with the time that a client gives a call.
const TIMEOUT_HEADER: &str = "grpc-timeout";

/// The services and what stands in front of them; clones share it.
#[derive(Clone)]
pub struct Front {
    auth: Auth,
    routes: Routes,
    complaints: Complaints,
}

impl Front {
    /// `routes` behind `auth`.
    pub fn new(auth: Auth, routes: Routes, complaints: Complaints) -> Front {
        Front {
            auth,
            routes: routes.prepare(),
            complaints,
        }
    }

    /// Refuses a call or sends it on.
    fn admit(&self, request: &mut Request<Body>) -> Result<Arc<Visit>, Status> {
        let visit = request.extensions().get::<Arc<Visit>>().cloned();
        let visit = visit.ok_or_else(|| Status::internal("a call without a connection"))?;
        if let Some(agent) = request.headers().get(header::USER_AGENT) {
            visit.call_it(&String::from_utf8_lossy(agent.as_bytes()), false);
        }
        let refuse = |status: Status| {
            let what = format!(
                "call of {} refused: {}",
                request.uri().path(),
                status.message()
            );
            self.complaints
                .tell(Kind::Call, &visit.peer().to_string(), &what);
            status
        };
        let caller = self.auth.check(request, &visit).map_err(refuse)?;
        if let Some(caller) = caller {
            visit.admit().map_err(|full| {
                self.complaints
                    .tell(Kind::Full, &visit.peer().to_string(), &full.to_string());
                Status::resource_exhausted(full.to_string())
            })?;
            request.extensions_mut().insert(caller);
        }
        Ok(visit)
    }
}

impl Service<Request<Body>> for Front {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // Routes always are.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let visit = match self.admit(&mut request) {
            Ok(visit) => visit,
            Err(status) => return Box::pin(std::future::ready(Ok(status.into_http()))),
        };
        let time_max = time_given(request.headers());
        let answer = self.routes.call(request);
        Box::pin(async move {
            let answer = match time_max {
                None => answer.await?,
                Some(time_max) => match tokio::time::timeout(time_max, answer).await {
                    Ok(answer) => answer?,
                    Err(_) => return Ok(too_late(time_max).into_http()),
                },
            };
            let (mut parts, body) = answer.into_parts();
            let share = parts.extensions.remove::<Share>();
            Ok(Response::from_parts(
                parts,
                Body::new(InPieces::new(body, visit, share)),
            ))
        })
    }
}

fn too_late(time_max: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the call's own deadline of {time_max:?} has passed; a command goes on nevertheless: ask again with the same \
         command_id for its answer"
    ))
}

/// The time that the client gives the call (gRPC over HTTP/2: up to eight digits and a unit); what
/// is no time is ignored, as the protocol's own libraries do.
fn time_given(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT_HEADER)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
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
    fn times_are_digits_and_a_unit() {
        let given = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TIMEOUT_HEADER, text.parse().expect("a header"));
            time_given(&headers)
        };
        assert_eq!(given("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(given("3M"), Some(Duration::from_secs(180)));
        assert_eq!(given("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(given("250m"), Some(Duration::from_millis(250)));
        assert_eq!(given("7u"), Some(Duration::from_micros(7)));
        assert_eq!(given("0n"), Some(Duration::ZERO));
        for nonsense in ["", "S", "5", "123456789S", "-1S", "+1S", "1.5S", "5X"] {
            assert_eq!(given(nonsense), None, "{nonsense}");
        }
        assert_eq!(time_given(&HeaderMap::new()), None);
    }
}
