/**
 * Requests as bytes, right and wrong: heads, encodings, chunks, pipelines, slowly sent ones. What is wrong with one is wrong with
 * its form as a message of HTTP/1.1 (RFC 9110, RFC 9112), whatever it asks for.
 * @module
 */
import type { Random } from './random.ts'
import { bytes, changesOf, type Draft } from './raw-changes.ts'

/** What is asked for. */
export interface Aim {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string | undefined
}

/** Bytes to be sent on one connection. */
export interface Exchange {
  /** What was done to it, for people. */
  readonly what: string
  /** Sent one after the other, with a pause between them. */
  readonly writes: readonly Buffer[]
  readonly pauseMs: number
  /** Methods of the requests that may be answered, in order. */
  readonly methods: readonly string[]
  /** Whether each of them must be answered. */
  readonly isWhole: boolean
}

const chunked = (body: Buffer, { nat, oneIn }: Random): Buffer => {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + 1 + nat(oneIn(4) ? body.length : 30))
    parts.push(bytes(`${piece.length.toString(16)}${oneIn(4) ? ';a=b' : ''}\r\n`), piece, bytes('\r\n'))
    at += piece.length
  }
  return Buffer.concat([...parts, bytes(oneIn(4) ? '0\r\nx-trailer: y\r\n\r\n' : '0\r\n\r\n')])
}

const toBytes = (draft: Draft, random: Random): Buffer => {
  const { method, target, version, framing, body } = draft
  const lines = [...draft.lines]
  if (framing === 'chunks') lines.push(['Transfer-Encoding', 'chunked'])
  if (framing === 'length' && body.length > 0) lines.push(['Content-Length', String(body.length)])
  const part = (value: string | Buffer): Buffer => (typeof value === 'string' ? bytes(value) : value)
  return Buffer.concat([
    bytes(`${method} `),
    part(target),
    bytes(` ${version}\r\n`),
    ...lines.flatMap(([name, value]) => [bytes(`${name}: `), part(value), bytes('\r\n')]),
    bytes('\r\n'),
    framing === 'chunks' ? chunked(body, random) : body,
  ])
}

const MAX_CHANGES = 3

/** Something that is asked in a strange way; now and then in an ordinary one. */
export const exchangeOf = (aim: Aim, random: Random): Exchange => {
  const draft: Draft = {
    method: aim.method,
    target: aim.target,
    version: 'HTTP/1.1',
    lines: [['Host', '127.0.0.1'], ...Object.entries(aim.headers)],
    body: Buffer.from(aim.body ?? ''),
    framing: 'length',
    pieces: 1,
    pauseMs: 0,
    copies: 1,
  }
  if (aim.body !== undefined) draft.lines.push(['Content-Type', 'application/json'])
  const changes = Array.from({ length: random.nat(MAX_CHANGES + 1) }, () => random.pick(changesOf(random)))
  for (const change of changes) change.apply(draft)
  const one = toBytes(draft, random)
  const all = Buffer.concat(Array.from({ length: draft.copies }, () => one))
  const size = Math.ceil(all.length / draft.pieces)
  const writes = Array.from({ length: draft.pieces }, (_, i) => all.subarray(i * size, (i + 1) * size))
  return {
    what: changes.length === 0 ? 'as it should be' : changes.map(({ what }) => what).join(', '),
    writes: writes.filter(({ length }) => length > 0),
    pauseMs: draft.pauseMs,
    methods: Array.from({ length: draft.copies }, () => draft.method),
    isWhole: changes.every(({ keeps }) => keeps),
  }
}
