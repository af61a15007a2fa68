//! A transport to nobody, for roles that speak to each other alone: nothing comes, and what is sent
//! is forgotten.

use crate::{Message, Transport};
use invivo_proto::ids::WorldRank;
use std::convert::Infallible;

/// The world without MPI.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Transport for Nowhere {
    type Error = Infallible;

    fn packets(&mut self, _: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, Infallible> {
        Ok(0)
    }

    fn receive(&mut self, _: i32) -> Result<Option<Message>, Infallible> {
        Ok(None)
    }

    fn has_room(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn is_free(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn send_latest(
        &mut self,
        _: WorldRank,
        _: i32,
        _: Option<u8>,
        _: Vec<u8>,
    ) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn send_surely(&mut self, _: WorldRank, _: i32, _: Vec<u8>) -> Result<(), Infallible> {
        Ok(())
    }

    fn progress(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn refused_sends(&self) -> u64 {
        0
    }
}
