//! otfx
