//! `svnserve` itself: what it says byte by byte, who it lets in, how it is started and ended, and
//! what clients that mean harm can do. (That clients get the same from both servers is tested in
//! `interop`.)

mod access;
mod handles;
mod hooks;
mod hostile;
mod memory;
mod modes;
mod options;
mod revprops;
mod sasl;
mod sasl_layers;
mod spaces;
mod wire;
