//! A line with which a connection between two servers begins: no bytes prove that the other side knows the secret.

pub fn run(data: &[u8]) {
    assert!(!sapwood_peers::hello::fuzz(data), "a line without the secret counts");
}
