//! No generated samples: a type without values, so that nothing is done with it.

use invivo_otfx::Buffer;
use invivo_proto::record::Call;
use std::num::NonZeroU64;

#[derive(Clone, Debug)]
pub enum Generator {}

impl Generator {
    pub fn every(_: Option<NonZeroU64>) -> Option<Generator> {
        None
    }

    pub fn count(&mut self, _: &Call, _: &mut Buffer) {
        match *self {}
    }

    pub fn hear(&mut self, _: u32) {
        match *self {}
    }
}
