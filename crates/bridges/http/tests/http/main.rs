//! The server over a socket: answers, h5grove's own answers, HSDS's interface, and attacks.

mod answers;
mod attacks;
mod client;
mod grove;
mod hsds;
mod hsds_attacks;
mod serving;
