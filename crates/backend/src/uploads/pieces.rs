//! Body of a request, passed from the task that receives it to the thread that reads it.

use std::io::{self, Read};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Piece of a body, or its end. A channel that closes before the end means that the body was cut off.
pub enum Piece {
    Bytes(Bytes),
    End,
}

/// Reader of the pieces of a body. Blocks.
pub struct BodyPieces {
    from: mpsc::Receiver<Piece>,
    piece: Bytes,
    ended: bool,
}

impl BodyPieces {
    pub fn new(from: mpsc::Receiver<Piece>) -> Self {
        Self { from, piece: Bytes::new(), ended: false }
    }
}

impl Read for BodyPieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.ended {
            match self.from.blocking_recv() {
                Some(Piece::Bytes(piece)) => self.piece = piece,
                Some(Piece::End) => self.ended = true,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = out.len().min(self.piece.len());
        out[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}
