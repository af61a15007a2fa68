//! The families of MPIs that are binary-compatible with each other.

/// Binary-compatible MPIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI.
    Ompi,
    /// MPICH, Intel MPI, MVAPICH.
    Mpich,
    /// The standard's own interface (MPI 5), as MPICH and Intel MPI serve it beside theirs.
    Abi,
}

impl Family {
    /// As directories and messages spell it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ompi => "ompi",
            Family::Mpich => "mpich",
            Family::Abi => "abi",
        }
    }

    /// As its makers spell it.
    pub fn title(self) -> &'static str {
        match self {
            Family::Ompi => "Open MPI",
            Family::Mpich => "MPICH",
            Family::Abi => "MPICH (standard ABI)",
        }
    }

    /// The family by which its launchers are known: who starts programs of the one starts those of
    /// the other.
    pub fn launched_by(self) -> Family {
        match self {
            Family::Ompi => Family::Ompi,
            Family::Mpich | Family::Abi => Family::Mpich,
        }
    }
}
