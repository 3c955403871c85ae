//! Which addresses are on the public internet, and which networks an operator may allow in addition.
//!
//! Promises: pure; an address is judged by what a packet to it would reach, so v6 addresses that carry a v4
//! address are judged by the carried one. What is not known to be global is not global. It does not resolve
//! names. The tables follow the IANA special-purpose registries (RFC 6890 and its updates).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses, such as `10.0.0.0/8` or `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The block of `prefix` leading bits; `None` when the prefix is longer than the address.
    #[must_use]
    pub const fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix <= longest { Some(Self { address, prefix }) } else { None }
    }

    /// The block of one address.
    #[must_use]
    pub const fn single(address: IpAddr) -> Self {
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether the address is in the block; a v4 address written as v6 counts as the v4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address.to_canonical(), address.to_canonical()) {
            (IpAddr::V4(block), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0);
                block.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(block), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                block.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::single(self.address) {
            self.address.fmt(out)
        } else {
            write!(out, "{}/{}", self.address, self.prefix)
        }
    }
}

/// V4 blocks that are not on the public internet.
const LOCAL_V4: [(Ipv4Addr, u8); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; cloud metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved and broadcast
    (Ipv4Addr::new(168, 63, 129, 16), 32), // the host agent of a large cloud, reachable from its machines only
];

/// V6 blocks inside the global unicast space that are not on the public internet.
const LOCAL_V6: [(Ipv6Addr, u8); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, benchmarks, ORCHID
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// The space that global unicast addresses are taken from.
const GLOBAL_UNICAST: Network =
    Network { address: IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)), prefix: 3 };

/// Whether a packet to this address goes to the public internet.
#[must_use]
pub(crate) fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let within = |(block, prefix): &(Ipv4Addr, u8)| {
        Network { address: IpAddr::V4(*block), prefix: *prefix }.contains(IpAddr::V4(address))
    };
    !LOCAL_V4.iter().any(within)
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let octets = address.octets();
    let v4_at = |at: usize| Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]);
    match address.segments() {
        // Mapped, and NAT64: the last 32 bits are where the packet goes.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_global_v4(v4_at(12)),
        // 6to4 carries the address of the router.
        [0x2002, ..] => is_global_v4(v4_at(2)),
        // Teredo carries its server, and its client with every bit turned.
        [0x2001, 0, ..] => is_global_v4(v4_at(4)) && is_global_v4(Ipv4Addr::from_bits(!v4_at(12).to_bits())),
        _ => {
            let within = |(block, prefix): &(Ipv6Addr, u8)| {
                Network { address: IpAddr::V6(*block), prefix: *prefix }.contains(IpAddr::V6(address))
            };
            GLOBAL_UNICAST.contains(IpAddr::V6(address)) && !LOCAL_V6.iter().any(within)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(text: &str) -> bool {
        is_global(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_open_internet_are_global() {
        for address in
            ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1"]
        {
            assert!(global(address), "{address}");
        }
        for address in
            ["2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
        {
            assert!(global(address), "{address}");
        }
    }

    #[test]
    fn v4_addresses_of_special_blocks_are_not() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
        ] {
            assert!(!global(address), "{address}");
        }
    }

    #[test]
    fn v6_addresses_of_special_blocks_are_not() {
        for address in [
            "::",
            "::1",
            "::127.0.0.1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "2001:2::1",
            "2001:10::1",
            "100::1",
            "5f00::1",
            "64:ff9b:1::a00:1",
            "4000::1",
        ] {
            assert!(!global(address), "{address}");
        }
    }

    #[test]
    fn a_carried_v4_address_decides() {
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::1",
            "2002:c0a8:101::",
            "2001:0:7f00:1::1",
            "2001:0:808:808:0:0:80ff:fffe",
        ] {
            assert!(!global(address), "{address}");
        }
    }

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let net = Network::new("10.1.0.0".parse().unwrap(), 16).unwrap();
        assert!(net.contains("10.1.255.255".parse().unwrap()));
        assert!(net.contains("::ffff:10.1.0.1".parse().unwrap()));
        assert!(!net.contains("10.2.0.0".parse().unwrap()));
        let everything = Network::new("::".parse().unwrap(), 0).unwrap();
        assert!(everything.contains("fe80::1".parse().unwrap()));
        assert_eq!(Network::new("10.0.0.0".parse().unwrap(), 33), None);
    }
}
