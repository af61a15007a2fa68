//! Which scope each gRPC method needs: a list of the methods that only read.

use super::tokens::Scope;

/// Methods that only read. Every method that is not named here needs [`Scope::Control`], so that a
/// new method is closed until somebody opens it.
const VIEW_METHODS: [&str; 22] = [
    "/invivo.v1.Invivo/Hello",
    "/invivo.v1.Invivo/Status",
    "/invivo.v1.Invivo/Watch",
    "/invivo.v1.Invivo/Functions",
    "/invivo.v1.Invivo/CallSites",
    "/invivo.v1.Invivo/Regions",
    "/invivo.v1.Invivo/Iterations",
    "/invivo.v1.Invivo/Matrix",
    "/invivo.v1.Invivo/Messages",
    "/invivo.v1.Invivo/WaitStates",
    "/invivo.v1.Invivo/Grid",
    "/invivo.v1.Invivo/Hang",
    "/invivo.v1.Invivo/Stacks",
    "/invivo.v1.Invivo/Profile",
    "/invivo.v1.Invivo/Selection",
    "/invivo.v1.Invivo/Metrics",
    "/invivo.v1.Invivo/Analyses",
    "/invivo.v1.Invivo/Buffers",
    "/invivo.v1.Invivo/Records",
    "/invivo.v1.Invivo/Timeline",
    "/invivo.v1.Invivo/Audit",
    "/invivo.v1.Invivo/Invite",
];
/// The only method without a token: it exchanges the secret of an invitation for one, and has a
/// rate limit of its own.
pub const OPEN_METHOD: &str = "/invivo.v1.Invivo/Redeem";

/// Services that only read.
const VIEW_SERVICES: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// The scope that a method needs, by its path.
pub fn scope_needed(path: &str) -> Scope {
    // Services that only read have no list of methods: any of their paths will do.
    let view = VIEW_METHODS.contains(&path)
        || VIEW_SERVICES
            .iter()
            .any(|service| path.starts_with(service));
    if view { Scope::View } else { Scope::Control }
}

/// A method's name in the form of the audit log: `RecordWindow` becomes `record-window`.
pub fn log_name(method: &str) -> String {
    let mut words = String::new();
    // A client can call methods that do not exist, with names of any length.
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
    fn exactly_the_commands_need_control() {
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
            "SetAnalyses",
            "SetSampling",
            "SetSelection",
            "SetMetrics",
            "SetOverhead",
            "Save",
            // It needs no token at all.
            "Redeem",
            "Guests",
            "Revoke",
        ];
        assert_eq!(control.collect::<Vec<_>>(), commands);
    }

    #[test]
    fn methods_are_lower_case_words_in_the_log() {
        assert_eq!(log_name("RecordWindow"), "record-window");
        assert_eq!(log_name("Pause"), "pause");
        assert_eq!(log_name(&"X".repeat(1000)).len(), 63);
    }

    #[test]
    fn unknown_methods_need_control() {
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
