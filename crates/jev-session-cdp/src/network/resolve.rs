//! Name resolution for our own fetches: a name is resolved once in a tab's life and keeps its
//! address, so that what was checked is what is connected, and no later answer can move an origin
//! from the open network into a private one (rebinding). Private networks and this machine are
//! reached only by a host that says so itself: an address in numbers, or `localhost`.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use jev_core::error::FetchFault;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::policy::PrivateNames;

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Realm {
    /// The open network.
    Open,
    /// A private network (RFC 1918, RFC 4193, shared address space).
    Private,
    /// This machine.
    Loopback,
    /// Never a web server: unspecified, link-local (which holds clouds' metadata services),
    /// multicast, reserved.
    Forbidden,
}

/// Why a name has no usable address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ResolveFault(pub(crate) FetchFault);

/// Resolves and pins. Addresses written as numbers never come here: see [`check_literal`].
#[derive(Clone, Debug)]
pub(crate) struct PinnedResolver {
    pins: Arc<Mutex<HashMap<String, Vec<IpAddr>>>>,
    private: PrivateNames,
}

impl PinnedResolver {
    pub(crate) fn new(private: PrivateNames) -> Self {
        Self {
            pins: Arc::default(),
            private,
        }
    }
}

/// Whether a host written in numbers may be connected. The list names it, so private and loopback
/// addresses may; what is never a web server may not.
pub(crate) fn check_literal(host: Option<Host<&str>>) -> Result<(), FetchFault> {
    let ip = match host {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    match realm(ip) {
        Realm::Open | Realm::Private | Realm::Loopback => Ok(()),
        Realm::Forbidden => Err(FetchFault::Boundary),
    }
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let pins = Arc::clone(&self.pins);
        let private = self.private;
        Box::pin(async move {
            let host = name.as_str().to_ascii_lowercase();
            let pinned = pins
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&host)
                .cloned();
            let addresses = match pinned {
                Some(addresses) => addresses,
                None => {
                    let found: Vec<IpAddr> = tokio::net::lookup_host((host.as_str(), 0))
                        .await
                        .map_err(|_| fault(FetchFault::Dns))?
                        .map(|address| address.ip())
                        .collect();
                    let usable = usable(&host, found, private).map_err(fault)?;
                    // Two requests may resolve at once: the first pin stands for both.
                    pins.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .entry(host)
                        .or_insert(usable)
                        .clone()
                }
            };
            let addresses: Addrs = Box::new(addresses.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

fn fault(fault: FetchFault) -> Box<dyn Error + Send + Sync> {
    Box::new(ResolveFault(fault))
}

/// The addresses a name may be connected at. A name may stand for this machine only when it says
/// so, and for a private network only when the host allows that; an answer that mixes open and
/// private addresses is taken as open.
fn usable(
    host: &str,
    found: Vec<IpAddr>,
    private: PrivateNames,
) -> Result<Vec<IpAddr>, FetchFault> {
    if found.is_empty() {
        return Err(FetchFault::Dns);
    }
    let bare = host.trim_end_matches('.');
    let realms: &[Realm] = if bare == "localhost" || bare.ends_with(".localhost") {
        &[Realm::Loopback]
    } else {
        match private {
            PrivateNames::Refuse => &[Realm::Open],
            PrivateNames::Allow => &[Realm::Open, Realm::Private],
        }
    };
    realms
        .iter()
        .map(|wanted| {
            let of_realm = found.iter().filter(|ip| realm(**ip) == *wanted);
            of_realm.copied().collect::<Vec<_>>()
        })
        .find(|addresses| !addresses.is_empty())
        .ok_or(FetchFault::Boundary)
}

fn realm(ip: IpAddr) -> Realm {
    match ip {
        IpAddr::V4(ip) => realm_v4(ip),
        IpAddr::V6(ip) => realm_v6(ip),
    }
}

fn realm_v4(ip: Ipv4Addr) -> Realm {
    let [first, second, ..] = ip.octets();
    if ip.is_loopback() {
        Realm::Loopback
    } else if ip.is_private() || (first == 100 && (64..128).contains(&second)) {
        Realm::Private
    } else if first == 0
        || first >= 240
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        || (first == 198 && (second == 18 || second == 19))
    {
        Realm::Forbidden
    } else {
        Realm::Open
    }
}

fn realm_v6(ip: Ipv6Addr) -> Realm {
    let [first, second, ..] = ip.segments();
    if ip.is_loopback() {
        return Realm::Loopback;
    }
    // Addresses that carry an IPv4 address: mapped, compatible, translated (RFC 6052), 6to4.
    let carried = ip.to_ipv4().or_else(|| {
        let octets = ip.octets();
        let at = match (first, second) {
            (0x64, 0xff9b) => 12,
            (0x2002, _) => 2,
            _ => return None,
        };
        let bytes: [u8; 4] = octets.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(bytes))
    });
    if let Some(ip) = carried {
        return realm_v4(ip);
    }
    if ip.is_unique_local() {
        Realm::Private
    } else if ip.is_unicast_link_local() || ip.is_multicast() || ip.is_unspecified() {
        Realm::Forbidden
    } else {
        Realm::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn names_lead_only_where_they_may() {
        type Case = (
            &'static str,
            &'static [&'static str],
            Result<&'static [&'static str], FetchFault>,
        );
        let cases: &[Case] = &[
            ("h", &["93.184.216.34"], Ok(&["93.184.216.34"])),
            ("h", &["10.0.0.1"], Err(FetchFault::Boundary)),
            ("h", &["172.16.0.1"], Err(FetchFault::Boundary)),
            ("h", &["192.168.1.1"], Err(FetchFault::Boundary)),
            ("h", &["100.64.0.1"], Err(FetchFault::Boundary)),
            ("h", &["fd00::1"], Err(FetchFault::Boundary)),
            ("h", &["::ffff:10.0.0.1"], Err(FetchFault::Boundary)),
            ("h", &["10.0.0.1", "93.184.216.34"], Ok(&["93.184.216.34"])),
            ("h", &["127.0.0.1"], Err(FetchFault::Boundary)),
            ("h", &["::1"], Err(FetchFault::Boundary)),
            ("h", &["::ffff:127.0.0.1"], Err(FetchFault::Boundary)),
            ("h", &["64:ff9b::7f00:1"], Err(FetchFault::Boundary)),
            ("h", &["2002:7f00:1::"], Err(FetchFault::Boundary)),
            ("h", &["169.254.169.254"], Err(FetchFault::Boundary)),
            ("h", &["fe80::1"], Err(FetchFault::Boundary)),
            ("h", &["0.0.0.0"], Err(FetchFault::Boundary)),
            ("h", &["::"], Err(FetchFault::Boundary)),
            ("h", &["127.0.0.1", "93.184.216.34"], Ok(&["93.184.216.34"])),
            (
                "localhost",
                &["::1", "127.0.0.1"],
                Ok(&["::1", "127.0.0.1"]),
            ),
            ("a.localhost", &["127.0.0.1"], Ok(&["127.0.0.1"])),
            ("localhost", &["93.184.216.34"], Err(FetchFault::Boundary)),
            ("notlocalhost", &["127.0.0.1"], Err(FetchFault::Boundary)),
            ("h", &[], Err(FetchFault::Dns)),
        ];
        for (host, found, expected) in cases {
            let got = usable(host, parse(found), PrivateNames::Refuse);
            assert_eq!(got, expected.map(parse), "{host} {found:?}");
        }
    }

    #[test]
    fn a_host_may_allow_names_of_private_networks_and_no_more() {
        for (found, expected) in [
            ("10.0.0.1", Ok(parse(&["10.0.0.1"]))),
            ("fd00::1", Ok(parse(&["fd00::1"]))),
            ("127.0.0.1", Err(FetchFault::Boundary)),
            ("169.254.169.254", Err(FetchFault::Boundary)),
        ] {
            let got = usable("h", parse(&[found]), PrivateNames::Allow);
            assert_eq!(got, expected, "{found}");
        }
    }

    #[test]
    fn addresses_in_numbers_are_what_the_list_names_but_never_link_local() {
        let check = |host: &str| {
            let url = url::Url::parse(&format!("http://{host}/")).unwrap();
            check_literal(url.host())
        };
        for host in [
            "h",
            "localhost",
            "127.0.0.1",
            "[::1]",
            "10.0.0.1",
            "1.1.1.1",
        ] {
            assert_eq!(check(host), Ok(()), "{host}");
        }
        for host in [
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
            "[fe80::1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "0.0.0.0",
            "[::]",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            assert_eq!(check(host), Err(FetchFault::Boundary), "{host}");
        }
    }
}
