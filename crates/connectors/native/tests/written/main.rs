//! What the connector wrote, as others see it: by libhdf5, and after libhdf5 changed it.
//!
//! Many tests need python3 with h5py; `h5dump` is asked where it is installed.

mod allocation;
mod bounds;
mod cache_control;
mod cache_image;
mod commits;
mod edges;
mod group_filters;
mod in_place;
mod life;
mod listings;
mod many;
mod others;
mod page_buffer;
mod shared;
mod space;
mod strategies;
mod swmr;
mod together;
mod turns;
mod values;
