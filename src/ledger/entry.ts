/**
 * What is hashed into the log: a fact with its stamp, as canonical JSON (RFC 8785). Actor and subject are pseudonyms;
 * the salt makes the public leaf hash of a guessable entry unguessable.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import type { Credential } from '../caller.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import type { Entry } from './decision.ts'

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
    case 'pod':
      return ['pod', credential.podId]
    case 'route':
      return ['route', credential.routeId]
    case 'system':
      return ['system', credential.id]
  }
}

/** Whom an entry is about: whom it names, else who acts; nobody when that is the service itself. */
export const subjectOf = (
  { subject }: Entry,
  credential: Credential,
): readonly [kind: string, id: string] | undefined =>
  subject ?? (credential.kind === 'system' ? undefined : actorOf(credential))

/** Order of the BN254 scalar field: texts of one length compare as the numbers do. */
const FIELD_ORDER = '30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001'

const checkCommitment = (commitment: string | undefined): void => {
  if (commitment !== undefined && !(/^[0-9a-f]{64}$/.test(commitment) && commitment < FIELD_ORDER))
    throw new TypeError('A commitment is a canonical field element in 64 lower-case hex digits.')
}

const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `"${name}":${JSON.stringify(value)},`

/**
 * The canonical JSON of an entry: members in the order of RFC 8785 §3.2.3, written out because this is the hot path.
 * @throws Error when `data` holds NaN, infinity or itself, or the commitment is no field element
 */
export const entryText = (entry: Entry, stamp: Stamp): string => {
  checkCommitment(entry.commitment)
  return (
    `{"actor":${JSON.stringify(stamp.actor)},` +
    member('commitment', entry.commitment) +
    `"data":${canonicalJson(entry.data)},` +
    member('digest', entry.digest) +
    `"id":${JSON.stringify(stamp.id)},"org":${JSON.stringify(stamp.organisation)},"salt":"${stamp.salt}",` +
    `"subject":${JSON.stringify(stamp.subject)},"ts":${stamp.at},"type":"${entry.type}","v":${ENTRY_VERSION}}`
  )
}
