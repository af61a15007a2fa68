//! Who may do what: a layer in front of every call, health and reflection included. The peer's uid was checked
//! when it connected; here its token is, in constant time, and the scope that the token opens.

use crate::audit::{Audit, Event};
use serde::Serialize;
use std::task::{Context, Poll};
use subtle::ConstantTimeEq;
use tonic::Status;
use tonic::codegen::http::{Request, Response, header};
use tonic::transport::server::UdsConnectInfo;
use tower::{Layer, Service};

/// What a token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// To look.
    View,
    /// To act on the application, and to look.
    Control,
}

impl Scope {
    /// Its name in `connect.json`, messages and logs.
    pub fn name(self) -> &'static str {
        match self {
            Scope::View => "view",
            Scope::Control => "control",
        }
    }
}

/// Who calls. Services find it in the request's extensions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Caller {
    /// Its user.
    pub uid: u32,
    /// Its process, 0 where the kernel does not tell.
    pub pid: i32,
    /// What its token opens.
    pub scope: Scope,
}

/// The two tokens.
#[derive(Clone)]
pub struct Tokens {
    /// Opens [`Scope::View`].
    pub view: String,
    /// Opens [`Scope::Control`].
    pub control: String,
}

impl Tokens {
    /// The scope that `token` opens. Both tokens are always compared, so that time tells nothing.
    fn scope(&self, token: &[u8]) -> Option<Scope> {
        let view = token.ct_eq(self.view.as_bytes());
        let control = token.ct_eq(self.control.as_bytes());
        match (bool::from(control), bool::from(view)) {
            (true, _) => Some(Scope::Control),
            (false, true) => Some(Scope::View),
            (false, false) => None,
        }
    }
}

/// Calls that only look. Whatever is not named here needs [`Scope::Control`], so that a new call is closed
/// until somebody opens it.
const VIEW_METHODS: [&str; 5] = [
    "/invivo.v1.Invivo/Hello",
    "/invivo.v1.Invivo/Status",
    "/invivo.v1.Invivo/Watch",
    "/invivo.v1.Invivo/Functions",
    "/invivo.v1.Invivo/Matrix",
];
/// Services that only look.
const VIEW_SERVICES: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// The scope that a call needs, by its path.
pub fn scope_needed(path: &str) -> Scope {
    let view = VIEW_METHODS.contains(&path) || VIEW_SERVICES.iter().any(|service| path.starts_with(service));
    if view { Scope::View } else { Scope::Control }
}

/// The layer.
#[derive(Clone)]
pub struct Auth {
    tokens: Tokens,
    audit: Audit,
}

impl Auth {
    /// Lets pass who has one of `tokens`.
    pub fn new(tokens: Tokens, audit: Audit) -> Auth {
        Auth { tokens, audit }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<Caller, Status> {
        let peer = request
            .extensions()
            .get::<UdsConnectInfo>()
            .and_then(|info| info.peer_cred);
        let peer = peer.ok_or_else(|| Status::unauthenticated("the calling process cannot be told"))?;
        let header = request.headers().get(header::AUTHORIZATION).ok_or_else(|| {
            Status::unauthenticated(
                "no token: send the metadata entry `authorization: Bearer TOKEN` with a token from the job's connect.json",
            )
        })?;
        let token = header.as_bytes().strip_prefix(b"Bearer ").unwrap_or_default();
        let scope = self.tokens.scope(token).ok_or_else(|| {
            Status::unauthenticated(
                "wrong token: use one from this job's connect.json (a job that was started anew has new ones)",
            )
        })?;
        let caller = Caller {
            uid: peer.uid(),
            pid: peer.pid().unwrap_or(0),
            scope,
        };
        let path = request.uri().path();
        if scope == Scope::View && scope_needed(path) == Scope::Control {
            let verb = path.rsplit('/').next().unwrap_or(path);
            self.audit.note(verb, caller, &Event::Denied);
            return Err(Status::permission_denied(format!(
                "{verb} needs the scope control and this token opens view: call again with the token \"control\" of \
                 the job's connect.json"
            )));
        }
        Ok(caller)
    }
}

impl<S> Layer<S> for Auth {
    type Service = Authenticated<S>;

    fn layer(&self, inner: S) -> Authenticated<S> {
        Authenticated {
            auth: self.clone(),
            inner,
        }
    }
}

/// A service behind the layer.
#[derive(Clone)]
pub struct Authenticated<S> {
    auth: Auth,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Authenticated<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = futures_util::future::Either<S::Future, std::future::Ready<Result<Response<R>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.auth.check(&request) {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                futures_util::future::Either::Left(self.inner.call(request))
            }
            Err(status) => {
                tracing::warn!(
                    path = request.uri().path(),
                    why = status.message(),
                    "call refused"
                );
                futures_util::future::Either::Right(std::future::ready(Ok(status.into_http())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn tokens_open_their_scope_and_nothing_else_does() {
        let tokens = Tokens {
            view: "a".repeat(64),
            control: "b".repeat(64),
        };
        assert_eq!(tokens.scope("a".repeat(64).as_bytes()), Some(Scope::View));
        assert_eq!(tokens.scope("b".repeat(64).as_bytes()), Some(Scope::Control));
        for wrong in ["", "a", &"a".repeat(65), &"c".repeat(64)] {
            assert_eq!(tokens.scope(wrong.as_bytes()), None);
        }
    }

    #[test]
    fn of_the_interface_exactly_the_commands_need_control() {
        let set = prost_types::FileDescriptorSet::decode(invivo_grpc::DESCRIPTORS).expect("descriptors");
        let service = set
            .file
            .iter()
            .flat_map(|file| &file.service)
            .find(|service| service.name() == "Invivo");
        let methods = &service.expect("service").method;
        let control = methods
            .iter()
            .map(|method| method.name())
            .filter(|name| scope_needed(&format!("/invivo.v1.Invivo/{name}")) == Scope::Control);
        assert_eq!(control.collect::<Vec<_>>(), ["Pause", "Resume"]);
    }

    #[test]
    fn what_is_not_known_is_closed() {
        for path in [
            "",
            "/",
            "/invivo.v1.Invivo/Later",
            "/other.Service/Status",
            "/invivo.v1.Invivo/Status/x",
        ] {
            assert_eq!(scope_needed(path), Scope::Control);
        }
    }
}
