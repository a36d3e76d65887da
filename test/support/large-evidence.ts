/** Evidence made anew of what a server exported: larger, or changed by somebody who has keys or has none. */

import type { SigningPurpose } from '../../src/keys/signers.ts'
import { CHAIN_START } from '../../src/protocol/evidence/evidence-format.ts'
import { writeJws } from '../../src/protocol/jws.ts'
import type { TestApp } from './app.ts'
import { sha256 } from './sha256.ts'

type Json = Record<string, unknown>

const TYP = 'evidence+jws'
const CHAIN = /,"chain":"[0-9a-f]{64}"\}$/

/** A row of a request, which stands in no tree. */
const requestRow = ({ organisationId, until }: Json, number: number): string => {
  const at = new Date(Date.parse(String(until)) - 1000).toISOString()
  const requestId = `req_${String(number).padStart(26, '0')}`
  const [actorId, keyId] = ['key_01m84qxkjnag5fgjhsrsfn607h', 'key_01m84qxkjnag5fgjhsrsfn607h']
  const told = {
    requestId,
    method: 'POST',
    route: '/v1/proofs/verify',
    status: 200,
    durationMs: number % 400,
  }
  return JSON.stringify({
    type: 'request',
    at,
    organisationId,
    ...told,
    actor: 'key',
    actorId,
    keyId,
    ip: '192.0.2.7',
  })
}

const chained = (link: string, line: string): { readonly line: string; readonly link: string } => {
  const text = line.replace(CHAIN, '').replace(/\}$/, '')
  const next = sha256(`${link}${text}`).toString('hex')
  return { line: `${text},"chain":"${next}"}`, link: next }
}

const parts = (evidence: string) => {
  const lines = evidence.trimEnd().split('\n')
  const { jws, ...manifest } = JSON.parse(lines.at(-1) ?? '') as Json
  return { lines: lines.slice(0, -1), manifest, jws: String(jws), header: JSON.parse(lines[0] ?? '') as Json }
}

interface Change {
  readonly rows?: 'one more'
  readonly issuer?: string
  /** Of the JWS. */
  readonly header?: object
  readonly purpose?: SigningPurpose
  /** Whether it is signed anew; default true. */
  readonly sign?: boolean
}

const signedLine = async (
  app: TestApp,
  manifest: Json,
  { header, purpose = 'results' }: Change = {},
): Promise<string> => {
  const own = await app.services.signers.current('results', 'Ed25519')
  const { sign } = await app.services.signers.current(purpose, 'Ed25519')
  return JSON.stringify({
    ...manifest,
    jws: writeJws({ alg: 'EdDSA', kid: own.kid, typ: TYP, ...header }, manifest, sign),
  })
}

/** Evidence with a change, its chain made right again. */
export const resigned = async (app: TestApp, evidence: string, change: Change): Promise<string> => {
  const { lines, manifest, jws, header } = parts(evidence)
  const issuer = change.issuer ?? String(header.issuer)
  const [first = '', ...rest] = lines
  const changed = [first.replace(JSON.stringify(header.issuer), JSON.stringify(issuer)), ...rest]
  if (change.rows !== undefined) changed.push(requestRow(header, 1))
  let link = CHAIN_START
  const made = changed.map((line) => {
    const next = chained(link, line)
    link = next.link
    return next.line
  })
  const counts = { ...(manifest.counts as Record<string, number>) }
  if (change.rows !== undefined) counts.request = (counts.request ?? 0) + 1
  const told = { ...manifest, rows: made.length - 1, counts, chain: link }
  const last = change.sign === false ? JSON.stringify({ ...told, jws }) : await signedLine(app, told, change)
  return `${[...made, last].join('\n')}\n`
}

const PIECE_LINES = 2_000

/** Evidence of at least so many bytes, piece by piece: that of a server, with many more requests. */
export async function* largeEvidence(app: TestApp, evidence: string, bytes: number): AsyncGenerator<string> {
  const { lines, manifest, header } = parts(evidence)
  let link = CHAIN_START
  let size = 0
  let rows = 0
  for (const line of lines) {
    const next = chained(link, line)
    link = next.link
    size += next.line.length + 1
    yield `${next.line}\n`
  }
  while (size < bytes) {
    let piece = ''
    for (let i = 0; i < PIECE_LINES && size + piece.length < bytes; i++) {
      const next = chained(link, requestRow(header, rows++))
      link = next.link
      piece += `${next.line}\n`
    }
    size += piece.length
    yield piece
  }
  const counts = { ...(manifest.counts as Record<string, number>) }
  counts.request = (counts.request ?? 0) + rows
  yield `${await signedLine(app, { ...manifest, rows: lines.length - 1 + rows, counts, chain: link })}\n`
}
