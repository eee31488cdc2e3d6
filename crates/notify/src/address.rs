//! Which addresses are inside the network: a webhook must not make this machine ask them, unless the administrator says so.
//!
//! Invariant: what is not known to be an address of the public network counts as internal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is inside the network of this machine, or is no address of one machine at all.
pub(crate) fn is_internal(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_internal_v4(v4),
        IpAddr::V6(v6) => is_internal_v6(v6),
    }
}

/// The ranges of RFC 6890 that are not reachable from everywhere, and what is reserved.
fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        (0 | 10 | 127, _, _) | (169, 254, _) | (172, 16..=31, _) => true,
        // Addresses that a provider shares out among its customers.
        (100, 64..=127, _) => true,
        (192, 168, _) | (192, 0, 0 | 2) | (192, 88, 99) => true,
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // To many machines, and reserved ones.
        (224.., _, _) => true,
        _ => false,
    }
}

/// Only global unicast is public; addresses in it that stand for others are not.
fn is_internal_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_documentation = first == 0x2001 && second == 0x0db8;
    // Teredo and others of 2001::/23, and 6to4, lead to addresses of IPv4.
    let is_tunnel = (first == 0x2001 && second < 0x0200) || first == 0x2002;
    !is_global || is_documentation || is_tunnel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_not_internal() {
        let internal = |text: &str| is_internal(text.parse().unwrap());
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "::127.0.0.1",
        ] {
            assert!(internal(inside), "{inside}");
        }
        for outside in
            ["8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2a00:1450::1"]
        {
            assert!(!internal(outside), "{outside}");
        }
    }
}
