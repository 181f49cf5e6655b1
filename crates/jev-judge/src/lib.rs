//! The Choice protocol of System One decision models, and the judges that speak it.
#![forbid(unsafe_code)]

#[cfg(feature = "embedded")]
pub mod embedded;
mod json;
pub mod lexical;
pub mod model;
pub mod scripted;
mod situation;
pub mod spec;
#[cfg(test)]
mod testing;
mod text;
pub mod validate;
pub mod wire;
