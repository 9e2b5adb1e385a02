//! The server over a socket: answers, h5grove's own answers, HSDS's interface, and attacks.

mod answers;
mod attacks;
mod client;
mod decoded;
mod grove;
mod hsds;
mod hsds_attacks;
mod overviews;
mod serving;
mod shares;
mod work;
