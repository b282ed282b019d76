// Addresses that outgoing calls must not reach unless the operator opens them: the special-purpose blocks of IANA's registries, and the
// addresses under which clouds show a machine its own secrets. Review the table when a registry changes.

export type SpecialAddresses = Readonly<{
  /** In CIDR notation. */
  block: string;
  /** Completes the sentence "10.0.0.1 is …". */
  name: string;
  /** The document that sets the block aside. */
  source: string;
}>;

/** From https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry. The first match gives the name. */
export const specialAddresses: readonly SpecialAddresses[] = [
  // IPv4
  { block: '0.0.0.0/8', name: 'in the block for this network', source: 'RFC 791, RFC 1122' },
  { block: '10.0.0.0/8', name: 'a private address', source: 'RFC 1918' },
  { block: '100.64.0.0/10', name: 'shared address space', source: 'RFC 6598' },
  { block: '127.0.0.0/8', name: 'a loopback address', source: 'RFC 1122' },
  { block: '169.254.0.0/16', name: 'a link local address', source: 'RFC 3927' },
  { block: '172.16.0.0/12', name: 'a private address', source: 'RFC 1918' },
  { block: '192.0.0.0/24', name: 'reserved for protocol assignments', source: 'RFC 6890' },
  { block: '192.0.2.0/24', name: 'reserved for documentation', source: 'RFC 5737' },
  { block: '192.31.196.0/24', name: 'reserved for blackhole name servers', source: 'RFC 7535' },
  { block: '192.52.193.0/24', name: 'reserved for multicast tunnels', source: 'RFC 7450' },
  { block: '192.88.99.0/24', name: 'reserved for tunnel relays', source: 'RFC 7526, RFC 6751' },
  { block: '192.168.0.0/16', name: 'a private address', source: 'RFC 1918' },
  { block: '192.175.48.0/24', name: 'reserved for blackhole name servers', source: 'RFC 7534' },
  { block: '198.18.0.0/15', name: 'reserved for benchmarking', source: 'RFC 2544' },
  { block: '198.51.100.0/24', name: 'reserved for documentation', source: 'RFC 5737' },
  { block: '203.0.113.0/24', name: 'reserved for documentation', source: 'RFC 5737' },
  { block: '224.0.0.0/4', name: 'a multicast address', source: 'RFC 5771' },
  { block: '255.255.255.255/32', name: 'the broadcast address', source: 'RFC 919, RFC 8190' },
  { block: '240.0.0.0/4', name: 'reserved for future use', source: 'RFC 1112' },

  // IPv6. IPv4-mapped addresses (::ffff:0:0/96, RFC 4291) are judged as the IPv4 address that they contain.
  { block: '::/128', name: 'the unspecified address', source: 'RFC 4291' },
  { block: '::1/128', name: 'a loopback address', source: 'RFC 4291' },
  { block: '::/96', name: 'a deprecated form of an address of version four', source: 'RFC 4291, section 2.5.5.1' },
  { block: '::ffff:0:0:0/96', name: 'a translated address of version four', source: 'RFC 2765' },
  { block: '64:ff9b::/96', name: 'a translated address of version four', source: 'RFC 6052' },
  { block: '64:ff9b:1::/48', name: 'a translated address of version four', source: 'RFC 8215' },
  { block: '100::/64', name: 'reserved for discarded traffic', source: 'RFC 6666' },
  { block: '100:0:0:1::/64', name: 'a dummy address', source: 'RFC 9780' },
  { block: '2001::/32', name: 'a tunnel address', source: 'RFC 4380 (Teredo)' },
  { block: '2001:2::/48', name: 'reserved for benchmarking', source: 'RFC 5180' },
  { block: '2001:3::/32', name: 'reserved for multicast tunnels', source: 'RFC 7450' },
  { block: '2001:4:112::/48', name: 'reserved for blackhole name servers', source: 'RFC 7535' },
  { block: '2001:10::/28', name: 'a hash identifier', source: 'RFC 4843 (ORCHID, deprecated)' },
  { block: '2001:20::/28', name: 'a hash identifier', source: 'RFC 7343 (ORCHIDv2)' },
  { block: '2001:30::/28', name: 'a drone identifier', source: 'RFC 9374' },
  { block: '2001::/23', name: 'reserved for protocol assignments', source: 'RFC 2928, RFC 7723, RFC 8155, RFC 9665' },
  { block: '2001:db8::/32', name: 'reserved for documentation', source: 'RFC 3849' },
  { block: '2002::/16', name: 'a tunnel address', source: 'RFC 3056 (6to4)' },
  { block: '2620:4f:8000::/48', name: 'reserved for blackhole name servers', source: 'RFC 7534' },
  { block: '3fff::/20', name: 'reserved for documentation', source: 'RFC 9637' },
  { block: '5f00::/16', name: 'reserved for segment routing', source: 'RFC 9602' },
  { block: 'fc00::/7', name: 'a unique local address', source: 'RFC 4193' },
  { block: 'fe80::/10', name: 'a link local address', source: 'RFC 4291' },
  { block: 'fec0::/10', name: 'a deprecated site local address', source: 'RFC 3879' },
  { block: 'ff00::/8', name: 'a multicast address', source: 'RFC 4291' },
  // Global unicast addresses are in 2000::/3; these three blocks are everything else.
  { block: '::/3', name: 'not assigned', source: 'IANA, Internet Protocol Version 6 Address Space; RFC 4291' },
  { block: '4000::/2', name: 'not assigned', source: 'IANA, Internet Protocol Version 6 Address Space; RFC 4291' },
  { block: '8000::/1', name: 'not assigned', source: 'IANA, Internet Protocol Version 6 Address Space; RFC 4291' },

  // Metadata services of clouds. Only the first is outside the blocks above; the others are listed so that the table is whole.
  { block: '168.63.129.16/32', name: 'an address of the cloud platform', source: 'Microsoft Azure: "What is IP address 168.63.129.16?"' },
  { block: '169.254.169.254/32', name: 'an address of the cloud platform', source: 'AWS, Azure, Google Cloud, Oracle, OpenStack: instance metadata' },
  { block: '169.254.170.2/32', name: 'an address of the cloud platform', source: 'AWS: Amazon ECS task credentials' },
  { block: '169.254.170.23/32', name: 'an address of the cloud platform', source: 'AWS: Amazon EKS Pod Identity' },
  { block: '169.254.42.42/32', name: 'an address of the cloud platform', source: 'Scaleway: instance metadata' },
  { block: '169.254.0.23/32', name: 'an address of the cloud platform', source: 'Tencent Cloud: instance metadata' },
  { block: '100.100.100.200/32', name: 'an address of the cloud platform', source: 'Alibaba Cloud: instance metadata' },
  { block: '192.0.0.192/32', name: 'an address of the cloud platform', source: 'Oracle Cloud Infrastructure Classic: instance metadata' },
  { block: 'fd00:ec2::254/128', name: 'an address of the cloud platform', source: 'AWS: instance metadata over IPv6' },
  { block: 'fd00:ec2::23/128', name: 'an address of the cloud platform', source: 'AWS: Amazon EKS Pod Identity over IPv6' },
  { block: 'fd20:ce::254/128', name: 'an address of the cloud platform', source: 'Google Cloud: instance metadata over IPv6' },
];
