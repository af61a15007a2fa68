//! The programs of the tree, and the packages that hold them.

/// Programs outside of MPI, the packages that hold them, and where they are put.
pub const PROGRAMS: [(&str, &str, &str); 4] = [
    ("invivo", "invivo-launcher", "bin/invivo"),
    ("ui-gateway", "invivo-ui-gateway", "bin/ui-gateway"),
    ("invivo-client", "invivo-cli", "lib/invivo/client"),
    (
        "observation",
        "invivo-observation",
        "lib/invivo/observation",
    ),
];
/// Programs on MPI.
pub const TOOLS: [(&str, &str); 1] = [("tool-process", "invivo-tool-process")];
