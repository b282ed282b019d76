// Where calls may go: every special-purpose block is refused in words that help, public addresses pass, an exception
// opens exactly what it names, and a URL is either taken byte for byte or refused.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { BlockedTarget, isLiteral, maxUrlCharacters, parseAllowList, parseTarget, requireAllowedAddress } from './address-guard.ts';
import { specialAddresses } from './special-addresses.ts';

/** Block, its first and last address, and where that is public the nearest address on either side. */
type Block = [block: string, inside: string[], outside?: string[]];

const special: Block[] = [
  ['168.63.129.16 Azure', ['168.63.129.16', '::ffff:168.63.129.16', '::ffff:a83f:8110'], ['168.63.129.15', '168.63.129.17']],
  ['metadata of other clouds', ['169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']],
  ['0.0.0.0/8 this network', ['0.0.0.0', '0.0.0.1', '0.255.255.255'], ['1.0.0.0']],
  ['10.0.0.0/8 private', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0']],
  ['100.64.0.0/10 shared', ['100.64.0.0', '100.100.100.200', '100.127.255.255'], ['100.63.255.255', '100.128.0.0']],
  ['127.0.0.0/8 loopback', ['127.0.0.0', '127.0.0.1', '127.255.255.255'], ['126.255.255.255', '128.0.0.0']],
  ['169.254.0.0/16 link local', ['169.254.0.0', '169.254.169.254', '169.254.255.255'], ['169.253.255.255', '169.255.0.0']],
  ['172.16.0.0/12 private', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
  ['192.0.0.0/24 protocol assignments', ['192.0.0.0', '192.0.0.8', '192.0.0.9', '192.0.0.170', '192.0.0.192', '192.0.0.255'], ['191.255.255.255', '192.0.1.0']],
  ['192.0.2.0/24 documentation', ['192.0.2.0', '192.0.2.255'], ['192.0.3.0']],
  ['192.31.196.0/24 AS112', ['192.31.196.0', '192.31.196.255'], ['192.31.195.255', '192.31.197.0']],
  ['192.52.193.0/24 AMT', ['192.52.193.0', '192.52.193.255'], ['192.52.192.255', '192.52.194.0']],
  ['192.88.99.0/24 6to4 relay', ['192.88.99.0', '192.88.99.255'], ['192.88.98.255', '192.88.100.0']],
  ['192.168.0.0/16 private', ['192.168.0.0', '192.168.255.255'], ['192.167.255.255', '192.169.0.0']],
  ['192.175.48.0/24 AS112', ['192.175.48.0', '192.175.48.255'], ['192.175.47.255', '192.175.49.0']],
  ['198.18.0.0/15 benchmarking', ['198.18.0.0', '198.19.255.255'], ['198.17.255.255', '198.20.0.0']],
  ['198.51.100.0/24 documentation', ['198.51.100.0', '198.51.100.255'], ['198.51.99.255', '198.51.101.0']],
  ['203.0.113.0/24 documentation', ['203.0.113.0', '203.0.113.255'], ['203.0.112.255', '203.0.114.0']],
  ['224.0.0.0/4 multicast', ['224.0.0.0', '239.255.255.255'], ['223.255.255.255']],
  ['240.0.0.0/4 reserved', ['240.0.0.0', '255.255.255.254']],
  ['255.255.255.255 broadcast', ['255.255.255.255']],
  ['::/128 unspecified', ['::', '0:0:0:0:0:0:0:0']],
  ['::1/128 loopback', ['::1', '0:0:0:0:0:0:0:1']],
  ['::/96 IPv4-compatible', ['::2', '::7f00:1', '::127.0.0.1', '::a9fe:a9fe', '::808:808', '::ffff:ffff']],
  [
    '::ffff:0:0/96 IPv4-mapped, not public',
    ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:0', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:ffff:ffff', '0:0:0:0:0:ffff:7f00:1'],
  ],
  ['::ffff:0:0:0/96 IPv4-translated', ['::ffff:0:0:0', '::ffff:0:7f00:1', '::ffff:0:808:808']],
  ['64:ff9b::/96 NAT64', ['64:ff9b::', '64:ff9b::a9fe:a9fe', '64:ff9b::808:808', '64:ff9b::ffff:ffff']],
  ['64:ff9b:1::/48 local NAT64', ['64:ff9b:1::', '64:ff9b:1::7f00:1', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff']],
  ['100::/64 discard', ['100::', '100::ffff:ffff:ffff:ffff']],
  ['100:0:0:1::/64 dummy', ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff']],
  [
    '2001::/23 protocol assignments',
    ['2001:1::1', '2001:1::2', '2001:1::3', '2001:5::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ],
  ['2001::/32 Teredo', ['2001::', '2001:0:a9fe:a9fe::', '2001::ffff:ffff:ffff:ffff:ffff']],
  ['2001:2::/48 benchmarking', ['2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff']],
  ['2001:3::/32 AMT', ['2001:3::', '2001:3:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['2001:4:112::/48 AS112', ['2001:4:112::', '2001:4:112:ffff:ffff:ffff:ffff:ffff']],
  ['2001:10::/28 ORCHID', ['2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['2001:20::/28 ORCHIDv2', ['2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['2001:30::/28 drone identifiers', ['2001:30::', '2001:3f:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['2001:db8::/32 documentation', ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'], ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::']],
  [
    '2002::/16 6to4',
    ['2002::', '2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  ],
  ['2620:4f:8000::/48 AS112', ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'], ['2620:4f:7fff:ffff:ffff:ffff:ffff:ffff', '2620:4f:8001::']],
  ['3fff::/20 documentation', ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'], ['3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::']],
  ['4000::/2 and below, unassigned', ['4000::', '4000::1', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '8000::1', 'c000::1', 'fbff::1', '200::1']],
  ['5f00::/16 segment routing', ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['fc00::/7 unique local', ['fc00::', 'fd00:ec2::254', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['fe80::/10 link local', ['fe80::', 'fe80::1', 'fe80::1%eth0', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['fec0::/10 site local', ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
  ['ff00::/8 multicast', ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
];

const refusal = (run: () => unknown): BlockedTarget => {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof BlockedTarget, String(error));
    return error;
  }
  return assert.fail('nothing was refused');
};
const refuseAddress = (address: string, allow: string[] = []) => refusal(() => requireAllowedAddress(address, parseAllowList(allow)));
const refuseUrl = (url: string) => refusal(() => parseTarget(url));

suite('addresses', () => {
  for (const [block, inside, outside = []] of special) {
    test(`${block} is refused`, () => {
      for (const address of inside) {
        const { reason, message } = refuseAddress(address);
        assert.equal(reason, 'blocked_address', address);
        assert.match(message, /^[0-9a-f:.]+(%eth0)? is [a-z0-9 ]+, not a public address; the operator can open it with OUTBOUND_ALLOW\.$/, address);
      }
      for (const address of outside) assert.doesNotThrow(() => requireAllowedAddress(address, []), address);
    });
  }

  test('public addresses pass', () => {
    for (const address of [
      '8.8.8.8', '1.1.1.1', '93.184.215.14', '223.255.255.254', '2606:4700::1111', '2a00:1450:4009::200e', '2000::', '3ffe::1', '::ffff:8.8.8.8',
    ])
      assert.doesNotThrow(() => requireAllowedAddress(address, []), address);
  });

  test('what is not an address is refused', () => {
    for (const text of ['', 'example.com', 'localhost', '1.2.3.4.5', '256.1.1.1', ':::', '[::1]', '12345::', '127.0.0.1:80'])
      assert.match(refuseAddress(text).message, /is not an address/, text);
    assert.deepEqual(['127.0.0.1', '::1', 'example.com', ''].map(isLiteral), [true, true, false, false]);
  });

  const kinds = [
    '0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '169.254.1.1', '192.0.2.1', '192.175.48.1', '192.52.193.1', '::', '::1', '64:ff9b::1',
    '100::1', '2001::1', '2001:4:112::1', '2001:20::1', '2002::1', '4000::1', '5f00::1', 'fd00::1', 'fec0::1', 'ff02::1',
  ];
  test('a refusal is a plain sentence', () => {
    const clumsy = / {2}|\ba (as|amt|un(?!i)|[eio])|[a-z] \d/;
    assert.deepEqual(kinds.map((address) => refuseAddress(address).message).filter((message) => clumsy.test(message)), []);
  });

  test('every block of the table names its source, and its first and last address are refused', () => {
    for (const { block, name, source } of specialAddresses) {
      assert.match(`${name} ${source}`, /\S \S/, block);
      const [address, bits] = ipaddr.parseCIDR(block);
      const bytes = address.toByteArray();
      const last = bytes.map((byte, at) => byte | (0xff >> Math.min(8, Math.max(0, bits - at * 8))));
      const isMapped = (one: number[]) => one.length === 16 && ipaddr.fromByteArray(one).range() === 'ipv4Mapped';
      for (const one of [bytes, last].filter((each) => !isMapped(each))) refuseAddress(ipaddr.fromByteArray(one).toString());
    }
  });

  test('every range that the library knows as special is refused', () => {
    for (const kind of [ipaddr.IPv4, ipaddr.IPv6]) {
      const { SpecialRanges: known } = kind.prototype as unknown as { SpecialRanges: Record<string, [ipaddr.IPv4, number] | [ipaddr.IPv4, number][]> };
      for (const [name, ranges] of Object.entries(known).filter(([one]) => one !== 'ipv4Mapped')) {
        const all = (Array.isArray(ranges[0]) ? ranges : [ranges]) as [ipaddr.IPv4, number][];
        for (const [address] of all) assert.ok(refuseAddress(address.toString()), name);
      }
    }
  });

  const exceptions: [allow: string[], open: string[], shut: string[]][] = [
    [[], [], ['127.0.0.1', '10.0.0.1', '::1']],
    [['168.63.129.16/32'], ['168.63.129.16'], ['169.254.169.254']],
    [['127.0.0.1'], ['127.0.0.1', '::ffff:127.0.0.1'], ['127.0.0.2', '127.0.0.0', '::1', '::7f00:1', '10.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::']],
    [['10.1.0.0/16'], ['10.1.0.0', '10.1.255.255'], ['10.0.255.255', '10.2.0.0', '172.16.0.1', '::a01:1']],
    [['192.168.7.9/32'], ['192.168.7.9'], ['192.168.7.8', '192.168.7.10']],
    [['::1'], ['::1'], ['::', '::2', '127.0.0.1', '::ffff:127.0.0.1']],
    [['fd00:1::/32'], ['fd00:1::', 'fd00:1:ffff::1'], ['fd00:2::', 'fd00::1', 'fc00:1::', '0.0.0.1']],
    [['10.0.0.0/8', 'fd00::/8'], ['10.9.9.9', 'fd12::1'], ['fc00::1', '172.16.0.1']],
    [['0.0.0.0/0'], ['10.0.0.1', '127.0.0.1', '169.254.169.254'], ['::1', 'fd00::1']],
  ];
  for (const [allow, open, shut] of exceptions) {
    test(`OUTBOUND_ALLOW=${allow.join(',') || '(empty)'} opens exactly that`, () => {
      const list = parseAllowList(allow);
      for (const address of [...open, '8.8.8.8', '2606:4700::1111']) assert.doesNotThrow(() => requireAllowedAddress(address, list), address);
      for (const address of shut) assert.equal(refuseAddress(address, allow).reason, 'blocked_address', address);
    });
  }

  test('an exception that is no address or range is refused when it is read', () => {
    for (const cidr of ['10.0.0.0/33', '::/129', 'example.com', 'example.com/8', '']) assert.throws(() => parseAllowList([cidr]), Error, cidr);
  });
});

suite('URLs', () => {
  const refused: [url: string, message: RegExp][] = [
    ['', /begin with http/],
    ['example.com/x', /begin with http/],
    ['//example.com/x', /begin with http/],
    ['http:example.com', /begin with http/],
    ['http:/example.com', /begin with http/],
    ['http:\\\\example.com\\x', /begin with http/],
    ...[
      'ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'javascript:alert(1)', 'data:text/plain,x', 'ws://example.com/',
      'unix:/run/x', 'httpx://example.com/', 'https+unix://x/',
    ].map((url): [string, RegExp] => [url, /begin with http/]),
    ...[
      'http://user:pass@example.com/', 'http://user@example.com/', 'http://@example.com/', 'http://:@example.com/', 'http://a@127.0.0.1',
      'https://example.com:80@127.0.0.1/', 'http://127.0.0.1\\@example.com/',
    ].map((url): [string, RegExp] => [url, /user name or password/]),
    ...[
      'http://', 'http:///evil', 'http://?x', 'http://#x', 'http://example.com\\evil/', 'http://exa%6dple.com/', 'http://[::1', 'http://::1/',
      'http://[fe80::1%25eth0]/', 'http://[1.2.3.4]/', 'http://[]/', 'http://[:::]/', 'http://1.2.3.4.5/', 'http://256.1.1.1/',
      'http://0x1ffffffff/', 'http://a|b/', 'http://a,b/', 'http://*/', 'http://example.com:/', 'http://example.com:x/', 'http://example.com:8x/',
      'http://[::1]x/',
    ].map((url): [string, RegExp] => [url, /no valid host/]),
    ...[
      ' http://example.com/', 'http://example.com/ ', 'http://example.com/a b', 'http://exa mple.com/', 'http://example.com/\t',
      'ht\ntp://example.com/', 'http://exam\nple.com/', 'http://example.com/\r\nx: y', 'http://example.com/\0', 'http://example.com/?q=\x7f',
      'http://example.com/?q=é', 'http://bücher.example/', 'http://127。0。0。1/', 'http://example.com/😀', 'http://example.com/\u2028',
    ].map((url): [string, RegExp] => [url, /printable ASCII without spaces/]),
    ...[0, 1, 21, 22, 23, 25, 53, 79, 81, 110, 389, 442, 444, 1023].map((port): [string, RegExp] => [
      `http://example.com:${port}/`,
      new RegExp(`Port ${port} is not called; use 80, 443`),
    ]),
    ...[65536, 99999].map((port): [string, RegExp] => [`http://example.com:${port}/`, /valid|port/i]),
    ['http://example.com:123456/', /valid|port/i],
    [`http://example.com/${'x'.repeat(maxUrlCharacters)}`, /has 4115 characters; at most 4096/],
    [`http://example.com/${'x'.repeat(64 * 1024)}`, /at most 4096/],
  ];
  for (const [url, message] of refused) {
    test(`refused: ${JSON.stringify(url.slice(0, 50))}`, () => {
      const error = refuseUrl(url);
      assert.equal(error.reason, 'invalid_url');
      assert.match(error.message, message);
    });
  }

  const disguised: [host: string, address: string][] = [
    ['127.0.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0x7F000001', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['127.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['2852039166', '169.254.169.254'],
    ['0xa9.0xfe.0xa9.0xfe', '169.254.169.254'],
    ['[::1]', '::1'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
    ['[::]', '::'],
    ['[::ffff:7f00:1]', '::ffff:7f00:1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['[::7f00:1]', '::7f00:1'],
    ['[::127.0.0.1]', '::7f00:1'],
    ['[64:ff9b::a9fe:a9fe]', '64:ff9b::a9fe:a9fe'],
    ['[2002:7f00:1::]', '2002:7f00:1::'],
    ['[FD00:EC2::254]', 'fd00:ec2::254'],
  ];
  for (const [host, address] of disguised) {
    test(`${host} is seen as ${address} and refused`, () => {
      for (const url of [`http://${host}/x`, `https://${host}:8443`, `http://${host}?q=@example.com`, `http://${host}#@example.com/`]) {
        const { hostname } = parseTarget(url);
        assert.equal(hostname, address, url);
        assert.ok(isLiteral(hostname), url);
        assert.equal(refuseAddress(hostname).reason, 'blocked_address', url);
      }
    });
  }

  test('scheme, host and port are taken apart, and nothing after the host moves the host', () => {
    const expected: [url: string, origin: string, hostname: string, port: number, path: string][] = [
      ['http://example.com', 'http://example.com', 'example.com', 80, '/'],
      ['https://example.com/', 'https://example.com', 'example.com', 443, '/'],
      ['HTTPS://Example.COM:443/A', 'https://example.com', 'example.com', 443, '/A'],
      ['http://example.com:443/', 'http://example.com:443', 'example.com', 443, '/'],
      ['https://example.com:80/', 'https://example.com:80', 'example.com', 80, '/'],
      ['http://example.com:1024/', 'http://example.com:1024', 'example.com', 1024, '/'],
      ['http://example.com:6379/', 'http://example.com:6379', 'example.com', 6379, '/'],
      ['http://example.com:5432/', 'http://example.com:5432', 'example.com', 5432, '/'],
      ['http://example.com:65535/', 'http://example.com:65535', 'example.com', 65535, '/'],
      ['http://example.com:00080/', 'http://example.com', 'example.com', 80, '/'],
      ['https://[2606:4700::1111]:8443/x', 'https://[2606:4700::1111]:8443', '2606:4700::1111', 8443, '/x'],
      ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example', 443, '/'],
      ['http://example.com./x', 'http://example.com.', 'example.com.', 80, '/x'],
      ['http://example.com//127.0.0.1/', 'http://example.com', 'example.com', 80, '//127.0.0.1/'],
      ['http://example.com/\\127.0.0.1', 'http://example.com', 'example.com', 80, '/\\127.0.0.1'],
      ['http://example.com/http://127.0.0.1/', 'http://example.com', 'example.com', 80, '/http://127.0.0.1/'],
      ['http://example.com/a@127.0.0.1', 'http://example.com', 'example.com', 80, '/a@127.0.0.1'],
      ['http://example.com?@127.0.0.1', 'http://example.com', 'example.com', 80, '/?@127.0.0.1'],
      ['http://example.com#@127.0.0.1', 'http://example.com', 'example.com', 80, '/'],
    ];
    for (const [url, origin, hostname, port, path] of expected) assert.deepEqual(parseTarget(url), { origin, hostname, port, path }, url);
  });

  const kept = [
    '/', '/x', "/x?q='a'", '/x?q="a"', '/x?a|b', '/x?q=%zz', '/x?q=%', '/x?a+b', '/x?a%20b', '/x?a%2Bb%2fc%2F', '/x?a=&b&=c&&', '/x?a=1&a=2&a=1',
    '/x?', '/x?&', '/x?a&', '/x??', '/x?a?b=/c', '/a/../b/./c', '/%2e%2e/', '//x//', '/x?<>^`{}[]\\', '/x;p=1,2!$()*~:@',
    `/?${'a=1&'.repeat(900)}`,
  ];
  test('path and query are kept byte for byte', () => {
    for (const path of kept) assert.equal(parseTarget(`https://example.com${path}`).path, path);
  });
  test('the fragment is dropped', () => {
    for (const path of kept) for (const fragment of ['#', '#x', '#?x=1', '#a#b']) assert.equal(parseTarget(`https://example.com${path}${fragment}`).path, path);
    assert.equal(parseTarget('http://example.com?a=1#b').path, '/?a=1');
  });
  test('a URL of the longest length taken is taken', () => {
    assert.equal(parseTarget('http://example.com/'.padEnd(maxUrlCharacters, 'x')).path.length, maxUrlCharacters - 'http://example.com'.length);
  });
});
