/** What can be wrong with the form of a request, or strange about it. @module */
import type { Random } from './random.ts'

export type Line = readonly [name: string, value: string | Buffer]

/** A request that can still be changed. */
export interface Draft {
  method: string
  target: string | Buffer
  version: string
  lines: Line[]
  body: Buffer
  /** Instead of the body as it is. */
  framing: 'length' | 'chunks' | 'own'
  /** In how many pieces it is sent. */
  pieces: number
  pauseMs: number
  /** Times that it is sent on one connection. */
  copies: number
}

export interface Change {
  readonly what: string
  /** Whether it is still a request that must be answered. */
  readonly keeps?: true
  apply(draft: Draft): void
}

const KNOWN_NAMES = [
  ...[
    'host',
    'authorization',
    'x-api-key',
    'x-pod-key',
    'cookie',
    'x-csrf-token',
    'idempotency-key',
    'x-request-id',
  ],
  ...[
    'content-type',
    'content-encoding',
    'accept',
    'accept-encoding',
    'origin',
    'referer',
    'range',
    'if-none-match',
  ],
  ...[
    'if-modified-since',
    'last-event-id',
    'x-forwarded-for',
    'x-forwarded-host',
    'forwarded',
    'te',
    'upgrade',
    'expect',
  ],
  ...[
    'signature',
    'signature-input',
    'content-digest',
    'access-control-request-method',
    'connection',
    'keep-alive',
  ],
]
const VALUES = [
  ...[
    '',
    ' ',
    ',',
    ';',
    '=',
    '"',
    '\\',
    '*',
    '*/*',
    '%',
    '%00',
    'é',
    '\u00ff',
    '\t',
    '-1',
    '0',
    '1e9',
    '__proto__',
    'constructor',
  ],
  ...[
    'bytes=0-',
    'bytes=9-1',
    'W/"x"',
    'close',
    'chunked',
    'gzip',
    'identity',
    'utf-16',
    'multipart/form-data; boundary=x',
  ],
  ...[
    'application/json; charset=utf-16',
    'application/json;;;charset="utf-8"',
    'application/x-www-form-urlencoded',
    'text/html,*/*;q=0.8',
  ],
  ...[
    '100-continue',
    'wonders',
    'h2c',
    'websocket',
    'https://elsewhere.example',
    'null',
    '10.0.0.1, 10.0.0.2',
    '::1',
    '[::1]:80',
    'Thu, 01 Jan 1970 00:00:00 GMT',
  ],
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const TARGETS = [
  ...[
    '*',
    '//',
    '///a//b',
    '/%',
    '/%00',
    '/%ff',
    '/..%2f..%2fetc/passwd',
    '/../..',
    '/./.',
    '/#fragment',
    '/?',
    '/?=&=&%',
    '/?a=1&a=2&__proto__=3',
  ],
  ...[
    'http://elsewhere.example/health',
    'https://user:pw@127.0.0.1/',
    'ftp://a/',
    'elsewhere.example:443',
    '/health/live?q=%F0%9F%98%80',
    '/é',
    'x',
  ],
]
/** Beside a member that is there, or instead of one. */
const MEMBERS = [
  ...[
    '"__proto__":{"isAdmin":true}',
    '"constructor":{"prototype":{}}',
    '"\\u005f_proto__":1',
    '"a":1,"a":2',
    '"\\u0061":1,"a":2',
  ],
  ...[
    '"\\ud800":1',
    '"a":"\\ud800"',
    '"a":"\\u0000"',
    '"a":1e999',
    '"a":-0',
    '"a":9007199254740993',
    '"a":[[[[[[[[[[]]]]]]]]]]',
    '"toString":1',
    '"":1',
  ],
]
const LONG = 15_000
const TOO_LONG = 40_000
const SLOW_PAUSE_MS = 3

export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

export const changesOf = ({ nat, pick, oneIn }: Random): readonly Change[] => {
  const withLine = (draft: Draft, name: string, value: string | Buffer): void => {
    draft.lines.splice(nat(draft.lines.length + 1), 0, [name, value])
  }
  const without = (draft: Draft, name: string): void => {
    draft.lines = draft.lines.filter(([one]) => one.toLowerCase() !== name)
  }
  const many = (count: number, line: (i: number) => Line) => (draft: Draft) => {
    draft.lines.push(...Array.from({ length: count }, (_, i) => line(i)))
  }
  return [
    { what: 'a header', apply: (draft) => withLine(draft, pick(KNOWN_NAMES), pick(VALUES)) },
    {
      what: 'another value',
      apply: (draft) => {
        const name = pick(KNOWN_NAMES)
        without(draft, name)
        withLine(draft, name, pick(VALUES))
      },
    },
    {
      what: 'a header twice',
      apply: (draft) => {
        const name = pick(KNOWN_NAMES)
        for (const value of [pick(VALUES), pick(VALUES)]) withLine(draft, name, value)
      },
    },
    {
      what: 'a header of bytes',
      apply: (draft) =>
        withLine(
          draft,
          pick(KNOWN_NAMES),
          Buffer.from(
            Array.from({ length: nat(40) }, () => nat(256)).filter((byte) => byte !== 10 && byte !== 13),
          ),
        ),
    },
    {
      what: 'a strange name',
      apply: (draft) =>
        withLine(
          draft,
          pick([
            '',
            ' ',
            'a b',
            'é',
            'x'.repeat(300),
            '__proto__',
            'constructor',
            'content-length ',
            'Transfer-Encoding\t',
          ]),
          'x',
        ),
    },
    { what: 'a folded line', apply: (draft) => withLine(draft, 'x-folded', 'a\r\n b') },
    { what: 'a bare line feed', apply: (draft) => withLine(draft, 'x-feed', 'a\nx-other: b') },
    { what: 'a flood of headers', apply: many(50 + nat(600), (i) => [`x-${i}`, 'y']) },
    {
      what: 'a flood of cookies',
      keeps: true,
      apply: (draft) =>
        withLine(draft, 'cookie', Array.from({ length: 800 }, (_, i) => `c${i}=${i}`).join('; ')),
    },
    {
      what: 'a flood of hops',
      keeps: true,
      apply: (draft) =>
        withLine(
          draft,
          'x-forwarded-for',
          Array.from({ length: 900 }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(', '),
        ),
    },
    {
      what: 'a long header',
      apply: (draft) =>
        withLine(
          draft,
          pick(KNOWN_NAMES),
          pick(['a', ' ', ',', ';', '"', 'a,', 'a;', '=', '%', '*/*,', '\t']).repeat(LONG).slice(0, LONG),
        ),
    },
    {
      what: 'a header that is too long',
      apply: (draft) => withLine(draft, pick(KNOWN_NAMES), 'a'.repeat(TOO_LONG)),
    },
    { what: 'no Host', apply: (draft) => without(draft, 'host') },
    {
      what: 'another method',
      apply: (draft) => {
        draft.method = pick(METHODS)
      },
    },
    {
      what: 'no method',
      apply: (draft) => {
        draft.method = pick(['BREW', 'get', '', 'G ET', 'PRI', '\u0000'])
      },
    },
    {
      what: 'another target',
      apply: (draft) => {
        draft.target = pick(TARGETS)
      },
    },
    {
      what: 'a long target',
      apply: (draft) => {
        draft.target = `${draft.target}${pick(['/', '?', '&', '%41', 'a', '/a', '?a=', '&a=1', '+', '='])
          .repeat(LONG)
          .slice(0, LONG - 2000)}`
      },
    },
    {
      what: 'a target of bytes',
      apply: (draft) => {
        draft.target = Buffer.concat([
          bytes('/'),
          Buffer.from(Array.from({ length: 1 + nat(20) }, () => 33 + nat(223))),
        ])
      },
    },
    {
      what: 'another version',
      apply: (draft) => {
        draft.version = pick([
          'HTTP/1.0',
          'HTTP/1.2',
          'HTTP/2.0',
          'HTTP/0.9',
          'HTTP/1.1 ',
          'HTTPS/1.1',
          'HTTP/1',
          '',
        ])
      },
    },
    {
      what: 'chunks',
      keeps: true,
      apply: (draft) => {
        draft.framing = 'chunks'
      },
    },
    {
      what: 'chunks that are none',
      apply: (draft) => {
        draft.framing = 'own'
        without(draft, 'content-length')
        draft.lines.push(['Transfer-Encoding', 'chunked'])
        draft.body = bytes(
          pick([
            'zz\r\n{}\r\n0\r\n\r\n',
            '2\r\n{}0\r\n\r\n',
            'fffffffffffffffff\r\n{}',
            '-1\r\n{}\r\n',
            '2;a=b;c="d\r\n{}\r\n0\r\n\r\n',
            '2\n{}\n0\n\n',
            '0\r\nx-trailer: y\r\n\r\n',
            '0\r\nContent-Length: 5\r\n\r\n',
            `0\r\n${'x: y\r\n'.repeat(300)}\r\n`,
          ]),
        )
      },
    },
    {
      what: 'a length that is none',
      apply: (draft) => {
        draft.framing = 'own'
        draft.lines.push([
          'Content-Length',
          pick(['-1', '+2', '0x2', '2.0', '1e1', '', '2, 2', '2, 3', '9'.repeat(30), '99999999999']),
        ])
      },
    },
    {
      what: 'a length and chunks',
      apply: (draft) => {
        draft.lines.push(['Content-Length', String(nat(20))])
        draft.framing = 'chunks'
      },
    },
    {
      what: 'another coding',
      apply: (draft) => {
        draft.framing = 'own'
        draft.lines.push([
          'Transfer-Encoding',
          pick(['gzip', 'chunked, gzip', 'gzip, chunked', 'identity', 'Chunked', 'x', 'chunked, chunked']),
        ])
      },
    },
    {
      what: 'a body that is cut off',
      apply: (draft) => {
        draft.framing = 'own'
        draft.lines.push(['Content-Length', String(draft.body.length + 1 + nat(100_000))])
      },
    },
    {
      what: 'a body that is too large',
      keeps: true,
      apply: (draft) => {
        draft.body = Buffer.alloc(300_000 + nat(1_200_000), pick(['a', '{"a":', '[', '"', ' ', '{"a":1,']))
      },
    },
    {
      what: 'another encoding',
      keeps: true,
      apply: (draft) => {
        const text = draft.body.toString()
        draft.body = pick([
          Buffer.from(text, 'utf16le'),
          Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(text, 'utf16le')]),
          Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), draft.body]),
          Buffer.concat([
            draft.body.subarray(0, -1),
            Buffer.of(pick([0x80, 0xc0, 0xc1, 0xed, 0xf5, 0xff]), 0xa0, 0x80),
            draft.body.subarray(-1),
          ]),
          Buffer.from(text.replaceAll('"', '\u2019'), 'latin1'),
        ])
      },
    },
    {
      what: 'a member',
      keeps: true,
      apply: (draft) => {
        const text = draft.body.toString()
        const places = [...text.matchAll(/\{/g)].map(({ index }) => index + 1)
        if (places.length === 0) return
        const at = pick(places)
        draft.body = Buffer.from(
          `${text.slice(0, at)}${pick(MEMBERS)}${text[at] === '}' ? '' : ','}${text.slice(at)}`,
        )
      },
    },
    {
      what: 'a body where there is none',
      keeps: true,
      apply: (draft) => {
        draft.body = Buffer.from(pick(['{}', '[]', 'x', '{"a":1}', 'x'.repeat(3000)]))
      },
    },
    {
      what: 'slowly',
      keeps: true,
      apply: (draft) => {
        draft.pieces = 2 + nat(30)
        draft.pauseMs = SLOW_PAUSE_MS
      },
    },
    {
      what: 'in pieces',
      keeps: true,
      apply: (draft) => {
        draft.pieces = 2 + nat(200)
      },
    },
    {
      what: 'pipelined',
      keeps: true,
      apply: (draft) => {
        draft.copies = 2 + nat(oneIn(8) ? 200 : 12)
      },
    },
    {
      what: 'an expectation',
      keeps: true,
      apply: (draft) => withLine(draft, 'Expect', pick(['100-continue', '100-Continue', 'x'])),
    },
    {
      what: 'an upgrade',
      apply: (draft) => {
        draft.lines.push(['Connection', 'Upgrade'], ['Upgrade', pick(['websocket', 'h2c', 'x'])])
      },
    },
  ]
}
