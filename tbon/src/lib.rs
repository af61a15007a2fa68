//! tbon
