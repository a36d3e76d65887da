/**
 * What is hashed into the log: a fact with its stamp, as canonical JSON (RFC 8785). Actor and subject are pseudonyms;
 * the salt makes the public leaf hash of a guessable entry unguessable.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Credential } from '../caller.ts'
import type { Entry } from './item.ts'

export const ENTRY_VERSION = 1
const SALT_BYTES = 16
const SALT_POOL_BYTES = SALT_BYTES * 256

/** What the ledger adds to an entry. */
export interface Stamp {
  readonly id: string
  /** Unix ms. */
  readonly at: number
  readonly organisation: string
  readonly actor: string
  readonly subject: string | null
  /** 16 random bytes in lower-case hex. */
  readonly salt: string
}

const pool = Buffer.alloc(SALT_POOL_BYTES)
let used = SALT_POOL_BYTES

/** 16 random bytes in lower-case hex, from pooled reads of the CSPRNG. */
export const newSalt = (): string => {
  if (used === SALT_POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += SALT_BYTES
  return pool.toString('hex', used - SALT_BYTES, used)
}

/** Who acts, as kind and id: the same whichever session or token it acts through. */
export const actorOf = (credential: Credential): readonly [kind: string, id: string] => {
  switch (credential.kind) {
    case 'key':
      return ['key', credential.keyId]
    case 'session':
      return ['account', credential.accountId]
    case 'terminal':
      return ['terminal', credential.terminalId]
    case 'system':
      return ['system', credential.id]
  }
}

const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `"${name}":${JSON.stringify(value)},`

/**
 * The canonical JSON of an entry: members in the order of RFC 8785 §3.2.3, written out because this is the hot path.
 * @throws Error when `data` holds NaN, infinity or itself
 */
export const entryText = (entry: Entry, stamp: Stamp): string =>
  `{"actor":${JSON.stringify(stamp.actor)},` +
  member('commitment', entry.commitment) +
  `"data":${canonicalize(entry.data)},` +
  member('digest', entry.digest) +
  `"id":${JSON.stringify(stamp.id)},"org":${JSON.stringify(stamp.organisation)},"salt":"${stamp.salt}",` +
  `"subject":${JSON.stringify(stamp.subject)},"ts":${stamp.at},"type":"${entry.type}","v":${ENTRY_VERSION}}`
