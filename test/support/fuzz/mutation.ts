/**
 * Inputs made from others: bytes changed, moved, repeated; members of JSON taken out, doubled, replaced; and the same inside of
 * what is encoded in base64.
 * @module
 */
import type { Random } from './random.ts'

export const MAX_INPUT_BYTES = 65_536
/** Of JSON that is taken apart; larger ones are changed as bytes. */
const MAX_JSON_BYTES = 8192
const MAX_STEPS = 6
/** Repeating a piece up to the longest input shows what is quadratic, and takes long. */
const LONG_EVERY = 512
const MAX_SHORT_REPEATS = 16
/** Copies of one item of a list. */
const MANY = 400
const ENCODED = /[\w+/-]{8,}={0,2}/g

/** What parsers look for, and what they should not trip over. */
const TOKENS: readonly Buffer[] = [
  ...[
    '',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\0',
    '\u00a0',
    '\u2028',
    '\ufeff',
    'é',
    'e\u0301',
    '\u202e',
    '😀',
    '\ud800',
  ],
  ...[
    '"',
    "'",
    '\\',
    '\\u0000',
    '\\ud800',
    '/',
    '//',
    '..',
    '.',
    ',',
    ';',
    ':',
    '=',
    '==',
    '&',
    '~',
    '|',
    '+',
    '-',
    '*',
    '#',
    '%',
    '%00',
    '%zz',
    '%F0%9F%98%80',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    '{}',
    '[]',
    '<',
    '>',
    '</',
    '<!--',
    '<![CDATA[',
    ']]>',
    '<!DOCTYPE a>',
    '<?xml ?>',
    '&amp;',
    '&#0;',
    '&#x110000;',
  ],
  ...[
    'null',
    'true',
    'NaN',
    'Infinity',
    '__proto__',
    'constructor',
    'toString',
    'length',
    '{"a":',
    '"a":1,"a":2',
  ],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '00',
    '1e3',
    '1e400',
    '1e-400',
    '0.1',
    '.5',
    '5.',
    '0x10',
    '9007199254740993',
    '18446744073709551616',
    '9'.repeat(80),
  ],
  ...[
    '2026-02-30',
    '2026-02-29T24:00:00Z',
    '9999-12-31T23:59:60Z',
    '1970-01-01T00:00:00.000000000Z',
    '0000-00-00',
  ],
  ...['https://', 'http://[::1', 'javascript:', 'data:,', 'Bearer ', 'sha-256=:', ':AA==:', ';q=0', '— '],
].map((text) => Buffer.from(text))

const NUMBERS = [
  0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
]

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -0, 1, -1, 0.1, 1e21, 1e308, 5e-324, 2 ** 53, 2 ** 31, 2 ** 32],
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e400',
    '\0',
    '\ud800',
    'é',
    'e\u0301',
    'x'.repeat(300),
    '9'.repeat(80),
    '__proto__',
    '2026-02-30',
  ],
  ...[[], {}, [[]], [null], [0, 1], { a: 1 }, { length: 1e9 }, { toJSON: 1 }, { '': null }],
]
const NAMES = ['', 'a', '__proto__', 'constructor', 'toString', 'length', 'x'.repeat(100)]

type Json = unknown
type Container = Record<string, Json>

/** Every list and object in a value. */
const containersOf = (value: Json): Container[] => {
  const found: Container[] = []
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    found.push(next as Container)
    open.push(...Object.values(next))
  }
  return found
}

export type Mutate = (input: Buffer) => Buffer

/** @param others inputs that pieces are taken from */
export const createMutation = (random: Random, others: () => readonly Buffer[]): Mutate => {
  const { nat, pick, oneIn } = random

  /** A piece of an input: where it begins and ends. */
  const piece = ({ length }: Buffer): [number, number] => {
    const from = nat(length + 1)
    return [from, Math.min(length, from + 1 + nat(oneIn(4) ? length + 1 : 16))]
  }

  const BYTE_STEPS: readonly ((input: Buffer) => Buffer)[] = [
    (input) => {
      if (input.length === 0) return input
      const at = nat(input.length)
      input[at] = (input[at] as number) ^ (1 << nat(8))
      return input
    },
    (input) => {
      if (input.length > 0) input[nat(input.length)] = nat(256)
      return input
    },
    (input) => {
      const [from, to] = piece(input)
      return Buffer.concat([input.subarray(0, from), input.subarray(to)])
    },
    (input) => {
      const at = nat(input.length + 1)
      return Buffer.concat([input.subarray(0, at), pick(TOKENS), input.subarray(at)])
    },
    (input) => {
      const [from, to] = piece(input)
      return Buffer.concat([input.subarray(0, from), pick(TOKENS), input.subarray(to)])
    },
    // The same piece again, and again.
    (input) => {
      const [from, to] = piece(input)
      if (from === to) return input
      const most = Math.floor((MAX_INPUT_BYTES - input.length) / (to - from))
      const times = oneIn(LONG_EVERY) ? most : 1 + nat(MAX_SHORT_REPEATS)
      const repeated = Array.from({ length: Math.max(0, Math.min(times, most)) }, () =>
        input.subarray(from, to),
      )
      return Buffer.concat([input.subarray(0, to), ...repeated, input.subarray(to)])
    },
    // A piece of another input.
    (input) => {
      const other = pick(others())
      const [from, to] = piece(other)
      const [start, end] = piece(input)
      return Buffer.concat([input.subarray(0, start), other.subarray(from, to), input.subarray(end)])
    },
    (input) => {
      const [from, to] = piece(input)
      return Buffer.concat([input.subarray(to), input.subarray(from, to), input.subarray(0, from)])
    },
    // A number of one, two or four bytes.
    (input) => {
      const bytes = pick([1, 2, 4] as const)
      if (input.length < bytes) return input
      const [at, number] = [nat(input.length - bytes + 1), pick(NUMBERS) % 2 ** (8 * bytes)]
      if (oneIn(2)) input.writeUIntBE(number, at, bytes)
      else input.writeUIntLE(number, at, bytes)
      return input
    },
    (input) => input.subarray(0, nat(input.length + 1)),
  ]

  const changeBytes = (input: Buffer): Buffer => {
    let changed: Buffer = Buffer.from(input)
    for (let steps = 1 + nat(MAX_STEPS); steps > 0; steps--) changed = pick(BYTE_STEPS)(changed)
    return changed
  }

  const otherValue = (): Json => {
    const text = pick(others()).toString()
    if (oneIn(4) && text.length <= MAX_JSON_BYTES)
      try {
        const containers = containersOf(JSON.parse(text))
        return containers.length === 0 ? text : structuredClone(pick(containers))
      } catch {
        return text
      }
    // Of its own, since it may be changed further.
    return structuredClone(pick(VALUES))
  }

  const JSON_STEPS: readonly ((container: Container, name: string) => void)[] = [
    (container, name) => {
      container[name] = otherValue()
    },
    (container, name) => {
      if (Array.isArray(container)) container.splice(Number(name), 1)
      else delete container[name]
    },
    (container, name) => {
      if (Array.isArray(container))
        for (let times = 1 + nat(oneIn(64) ? MANY : 4); times > 0; times--)
          container.push(container[Number(name)])
      else
        Object.defineProperty(container, pick(NAMES), {
          value: container[name],
          enumerable: true,
          configurable: true,
          writable: true,
        })
    },
    (container, name) => {
      const value = container[name]
      if (typeof value === 'string') container[name] = changeBytes(Buffer.from(value)).toString()
      else if (typeof value === 'number') container[name] = value + pick([1, -1, 0.5, 2 ** 32])
      else container[name] = [value]
    },
    (container, name) => {
      const value = container[name]
      if (typeof value === 'string') container[name] = changeEncoded(Buffer.from(value)).toString()
    },
  ]

  const changeJson = (input: Buffer): Buffer => {
    let value: Json
    try {
      value = JSON.parse(input.toString())
    } catch {
      return changeBytes(input)
    }
    for (let steps = 1 + nat(MAX_STEPS / 2); steps > 0; steps--) {
      const containers = containersOf(value).filter((one) => Object.keys(one).length > 0)
      if (containers.length === 0) return Buffer.from(JSON.stringify(otherValue()))
      const container = pick(containers)
      pick(JSON_STEPS)(container, pick(Object.keys(container)))
    }
    return Buffer.from(JSON.stringify(value))
  }

  /** Takes one piece of base64 apart, changes what is in it, and encodes it again. */
  const changeEncoded = (input: Buffer): Buffer => {
    const text = input.toString('latin1')
    const found = [...text.matchAll(ENCODED)]
    const one = found.length === 0 ? undefined : pick(found)
    if (one === undefined) return changeBytes(input)
    const [encoded] = one
    const form = /[+/=]/.test(encoded) ? 'base64' : 'base64url'
    const inside = Buffer.from(encoded, form)
    const changed = inside[0] === 0x7b || inside[0] === 0x5b ? changeJson(inside) : changeBytes(inside)
    return Buffer.concat([
      input.subarray(0, one.index),
      Buffer.from(changed.toString(form)),
      input.subarray(one.index + encoded.length),
    ])
  }

  return (input) => {
    const begins = input[0]
    const isJson = (begins === 0x7b || begins === 0x5b) && input.length <= MAX_JSON_BYTES
    const change = isJson && !oneIn(3) ? changeJson : oneIn(4) ? changeEncoded : changeBytes
    return change(input).subarray(0, MAX_INPUT_BYTES)
  }
}
