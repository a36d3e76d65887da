/** Which addresses may be called: every edge of every range, and a slow reference in plain bits. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createAddressJudge } from '../../src/net/address.ts'

const isPublic = createAddressJudge([])

const toV4 = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
const toV6 = (value: bigint): string =>
  Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16)).join(
    ':',
  )
const v4 = (text: string): bigint => text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
/** Groups without abbreviation at the front, zeros behind. */
const v6 = (text: string): bigint => {
  const groups = text.split(':').map((group) => BigInt(`0x${group || '0'}`))
  return groups.reduce((sum, group, index) => sum | (group << BigInt(112 - index * 16)), 0n)
}

/** Base, prefix length, and whether the addresses just before and just behind are public. */
const REFUSED_V4: readonly (readonly [base: string, bits: number, before: boolean, behind: boolean])[] = [
  ['0.0.0.0', 8, false, true],
  ['10.0.0.0', 8, true, true],
  ['100.64.0.0', 10, true, true],
  ['127.0.0.0', 8, true, true],
  ['168.63.129.16', 32, true, true],
  ['169.254.0.0', 16, true, true],
  ['172.16.0.0', 12, true, true],
  ['192.0.0.0', 24, true, true],
  ['192.0.2.0', 24, true, true],
  ['192.31.196.0', 24, true, true],
  ['192.52.193.0', 24, true, true],
  ['192.88.99.0', 24, true, true],
  ['192.168.0.0', 16, true, true],
  ['192.175.48.0', 24, true, true],
  ['198.18.0.0', 15, true, true],
  ['198.51.100.0', 24, true, true],
  ['203.0.113.0', 24, true, true],
  ['224.0.0.0', 4, true, false],
  ['240.0.0.0', 4, false, false],
]

/** Of IPv6 everything outside 2000::/3 is refused, and these inside of it. */
const REFUSED_V6: readonly (readonly [base: string, bits: number, before: boolean, behind: boolean])[] = [
  ['2001:0', 23, true, true],
  ['2001:db8', 32, true, true],
  ['2620:4f:8000', 48, true, true],
  ['3fff', 20, true, true],
]

const within = (value: bigint, base: bigint, bits: number, width: number): boolean =>
  value >> BigInt(width - bits) === base >> BigInt(width - bits)

const referenceV4 = (value: bigint): boolean =>
  !REFUSED_V4.some(([base, bits]) => within(value, v4(base), bits, 32))

const LOW_32 = 0xffffffffn

const referenceV6 = (value: bigint): boolean => {
  const low = value & LOW_32
  if (within(value, v6('0:0:0:0:0:ffff'), 96, 128) || within(value, v6('64:ff9b'), 96, 128))
    return referenceV4(low)
  if (within(value, v6('2002'), 16, 128)) return referenceV4((value >> 80n) & LOW_32)
  if (within(value, v6('2001:0'), 32, 128)) {
    return referenceV4((value >> 64n) & LOW_32) && referenceV4(low ^ LOW_32)
  }
  const mark = (value >> 32n) & LOW_32
  if ((mark === 0x5efen || mark === 0x2005efen) && !referenceV4(low)) return false
  return within(value, v6('2000'), 3, 128) && !REFUSED_V6.some(([b, bits]) => within(value, v6(b), bits, 128))
}

describe('addresses of outbound calls', () => {
  for (const [base, bits, before, behind] of REFUSED_V4) {
    it(`refuses ${base}/${bits} to its edges and not beyond`, () => {
      const first = v4(base)
      const last = first + (1n << BigInt(32 - bits)) - 1n
      expect([first, last].map((edge) => isPublic(toV4(edge)))).to.deep.equal([false, false])
      if (first > 0n) expect(isPublic(toV4(first - 1n))).to.equal(before)
      if (last < LOW_32) expect(isPublic(toV4(last + 1n))).to.equal(behind)
    })
  }

  for (const [base, bits, before, behind] of [...REFUSED_V6, ['2000', 3, false, false] as const]) {
    const refused = base !== '2000'
    it(`${refused ? 'refuses' : 'opens'} ${base}::/${bits} to its edges and not beyond`, () => {
      const first = v6(base)
      const last = first + (1n << BigInt(128 - bits)) - 1n
      expect([first, last].map((edge) => isPublic(toV6(edge)))).to.deep.equal([!refused, !refused])
      expect(isPublic(toV6(first - 1n))).to.equal(before)
      expect(isPublic(toV6(last + 1n))).to.equal(behind)
    })
  }

  for (const address of [
    ...[
      '::',
      '::1',
      '::7f00:1',
      '::808:808',
      '::8.8.8.8',
      'fe80::1',
      'fec0::1',
      'fc00::1',
      'fd00:ec2::254',
      'ff02::1',
    ],
    ...[
      '100::1',
      '5f00::1',
      '64:ff9b:1::808:808',
      '64:ff9b:1:808:8:800::',
      '4000::1',
      '2001:2::1',
      '2001:20::1',
    ],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:7f00:1', '64:ff9b::10.0.0.1', '2002:a9fe:a9fe::1'],
    ...[
      '2001:0:808:808::f5ff:fffe',
      '2001:0:a00:1::f7f7:f7f7',
      '2606:4700::5efe:10.0.0.1',
      '2606:4700::200:5efe:a00:1',
    ],
    ...[
      '',
      'localhost',
      '8.8.8',
      '8.8.8.8.',
      '0x8.8.8.8',
      '[2606:4700::1]',
      '2606:4700::1%eth0',
      '8.8.8.8/32',
      ' 8.8.8.8',
    ],
  ]) {
    it(`refuses "${address}"`, () => expect(isPublic(address)).to.equal(false))
  }

  for (const address of [
    ...[
      '8.8.8.8',
      '1.1.1.1',
      '169.253.255.255',
      '2606:4700:4700::1111',
      '::ffff:8.8.8.8',
      '64:ff9b::8.8.8.8',
    ],
    ...['2002:808:808::1', '2001:0:808:808::f7f7:f7f7', '2606:4700::5efe:808:808'],
  ]) {
    it(`lets ${address} be called`, () => expect(isPublic(address)).to.equal(true))
  }

  it('opens allow-listed ranges and nothing beside them, in every form that carries such an address', () => {
    const judge = createAddressJudge(['10.1.0.0/16', '127.0.0.1/32', 'fd00:1::/32', '::1/128'])
    const open = [
      '10.1.0.0',
      '10.1.255.255',
      '::ffff:10.1.2.3',
      '64:ff9b::10.1.2.3',
      '2002:a01:203::1',
      '127.0.0.1',
    ]
    for (const address of [...open, 'fd00:1::', 'fd00:1:ffff:ffff:ffff:ffff:ffff:ffff', '::1', '8.8.8.8']) {
      expect(judge(address), address).to.equal(true)
    }
    const shut = [
      '10.0.255.255',
      '10.2.0.0',
      '::ffff:10.2.0.0',
      '127.0.0.2',
      '::',
      '::2',
      'fd00:2::',
      '::10.1.2.3',
    ]
    for (const address of shut) expect(judge(address), address).to.equal(false)
  })

  it('agrees with a reference that compares bits', () => {
    const group = fc.oneof(fc.constant(0n), fc.constantFrom(0xffffn, 0x5efen, 0x200n), fc.bigInt(0n, 0xffffn))
    const prefixes = [
      '',
      '0:0:0:0:0:ffff',
      '64:ff9b',
      '2002',
      '2001:0',
      '2001:1ff',
      '2001:db8',
      '2606:4700',
      '3fff',
    ]
    const inner = fc.oneof(
      fc.bigInt(0n, LOW_32),
      fc.constantFrom(...REFUSED_V4.map(([base]) => v4(base))),
      fc.constantFrom(...REFUSED_V4.map(([base]) => v4(base) ^ LOW_32)),
    )
    const sample = fc.record({
      prefix: fc.constantFrom(...prefixes),
      middle: fc.array(group, { minLength: 2, maxLength: 2 }),
      second: inner,
      low: inner,
    })
    fc.assert(
      fc.property(sample, ({ prefix, middle, second, low }) => {
        const free =
          (second << (prefix === '2002' ? 80n : 64n)) | (middle[0]! << 48n) | (middle[1]! << 32n) | low
        const value = v6(prefix) | (['0:0:0:0:0:ffff', '64:ff9b'].includes(prefix) ? low : free)
        return isPublic(toV6(value)) === referenceV6(value) && isPublic(toV4(low)) === referenceV4(low)
      }),
      { numRuns: 3000 },
    )
  })
})
