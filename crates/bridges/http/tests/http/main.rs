//! The server over a socket: answers, h5grove's own answers, and attacks.

mod answers;
mod attacks;
mod client;
mod grove;
mod serving;
