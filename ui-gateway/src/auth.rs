//! Who may do what, for every call, health and reflection included. The peer's user was checked
//! when it connected on the socket; here its token is, in constant time, and the scope that the
//! token opens.

use crate::audit::Audit;
use crate::door::Peer;
use crate::visit::Visit;
use serde::Serialize;
use subtle::ConstantTimeEq;
use tonic::Status;
use tonic::codegen::http::{Request, header};

/// What a token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
#[derive(Clone, Debug)]
pub struct Caller {
    /// Where from.
    pub peer: Peer,
    /// What the client calls itself.
    pub client: String,
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
    /// The token that opens `scope`.
    pub fn of(&self, scope: Scope) -> &str {
        match scope {
            Scope::View => &self.view,
            Scope::Control => &self.control,
        }
    }

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

/// Calls that only look. Whatever is not named here needs [`Scope::Control`], so that a new call is
/// closed until somebody opens it.
const VIEW_METHODS: [&str; 13] = [
    "/invivo.v1.Invivo/Hello",
    "/invivo.v1.Invivo/Status",
    "/invivo.v1.Invivo/Watch",
    "/invivo.v1.Invivo/Functions",
    "/invivo.v1.Invivo/Matrix",
    "/invivo.v1.Invivo/Messages",
    "/invivo.v1.Invivo/Hang",
    "/invivo.v1.Invivo/Stacks",
    "/invivo.v1.Invivo/Buffers",
    "/invivo.v1.Invivo/Records",
    "/invivo.v1.Invivo/Timeline",
    "/invivo.v1.Invivo/Audit",
    "/invivo.v1.Invivo/Invite",
];
/// The one call without a token: it gives one for a secret, and has limits of its own.
const OPEN_METHOD: &str = "/invivo.v1.Invivo/Redeem";
/// Services that only look.
const VIEW_SERVICES: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// The scope that a call needs, by its path.
pub fn scope_needed(path: &str) -> Scope {
    let view = VIEW_METHODS.contains(&path)
        || VIEW_SERVICES
            .iter()
            .any(|service| path.starts_with(service));
    if view { Scope::View } else { Scope::Control }
}

/// The check.
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

    /// Who makes this call; nobody in particular where no token is needed.
    ///
    /// # Errors
    /// When the call is not allowed, with what to do.
    pub fn check<B>(&self, request: &Request<B>, visit: &Visit) -> Result<Option<Caller>, Status> {
        let path = request.uri().path();
        if path == OPEN_METHOD {
            return Ok(None);
        }
        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|header| header.as_bytes().strip_prefix(b"Bearer "));
        let Some(scope) = self.tokens.scope(token.unwrap_or_default()) else {
            visit.refused();
            return Err(Status::unauthenticated(if header.is_none() {
                "no token: send the metadata entry `authorization: Bearer TOKEN` with a token from the job's connect.json"
            } else {
                "wrong token: use one from this job's connect.json (a job that was started anew has new ones)"
            }));
        };
        let caller = Caller {
            peer: visit.peer(),
            client: visit.name(),
            scope,
        };
        if scope < scope_needed(path) {
            let method = path.rsplit('/').next().unwrap_or(path);
            self.audit.denied(&in_words(method), &caller);
            return Err(Status::permission_denied(format!(
                "{method} needs the scope control and this token opens view: call again with the token \"control\" of \
                 the job's connect.json"
            )));
        }
        Ok(Some(caller))
    }
}

/// A method's name as the audit log has it: `RecordWindow` is `record-window`. Names of methods
/// that do not exist are cut short.
fn in_words(method: &str) -> String {
    let mut words = String::new();
    for char in method.chars().take(32) {
        if char.is_ascii_uppercase() && !words.is_empty() {
            words.push('-');
        }
        words.push(char.to_ascii_lowercase());
    }
    words
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
        assert_eq!(
            tokens.scope("b".repeat(64).as_bytes()),
            Some(Scope::Control)
        );
        for wrong in ["", "a", &"a".repeat(65), &"c".repeat(64)] {
            assert_eq!(tokens.scope(wrong.as_bytes()), None);
        }
    }

    #[test]
    fn of_the_interface_exactly_the_commands_need_control() {
        let set =
            prost_types::FileDescriptorSet::decode(invivo_grpc::DESCRIPTORS).expect("descriptors");
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
        let commands = [
            "Pause",
            "Resume",
            "Hold",
            "Reset",
            "Record",
            "RecordWindow",
            "Shutdown",
            "SetStrategy",
            // It needs no token at all.
            "Redeem",
        ];
        assert_eq!(control.collect::<Vec<_>>(), commands);
    }

    #[test]
    fn methods_are_in_words_in_the_log() {
        assert_eq!(in_words("RecordWindow"), "record-window");
        assert_eq!(in_words("Pause"), "pause");
        assert_eq!(in_words(&"X".repeat(1000)).len(), 63);
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
