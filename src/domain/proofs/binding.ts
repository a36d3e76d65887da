/**
 * What ties a proof to one question: the context that its `ctx` is the hash of, its scope, and fresh randomness. All of
 * it can be recomputed from what is stored, which is how a proof is checked again.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { fail } from '../../errors.ts'
import { canonicalJson, hasCanonicalJson } from '../../protocol/canonical-json.ts'
import { contextElement, h248, type ProofContext, type ProofScope, scopeElement } from '../../rules/encode.ts'
import type { SentContext } from './proof.ts'
import type { ProofBinding, StoredContext } from './statement.ts'

const MS_PER_SECOND = 1000
const SALT_BYTES = 32
const NONCE_BYTES = 16
const MAX_CONTEXT_CHARACTERS = 8192
/** What the scope of a nullifier is made of where no purpose is on record, as with older proofs. */
const UNNAMED_PURPOSE = 'proof'

/** What is asked of a proof beside its statement. */
export interface Bound extends StoredContext {
  readonly organisation: string
  readonly circuitId: string
  /** Unix ms, whole seconds. */
  readonly expiresAt: number | null
}

/** A nonce for whoever brings none: two proofs of one statement then have two digests. */
export const newNonce = (): string => randomBytes(NONCE_BYTES).toString('base64url')

/** 32 random bytes. */
export const newSalt = (): Uint8Array => randomBytes(SALT_BYTES)

export const toSeconds = (unixMs: number): number => Math.floor(unixMs / MS_PER_SECOND)

/** When a proof that is made now ends: whole seconds, as `ctx` binds them. @returns Unix ms */
export const expiryOf = (at: number, ttlSeconds: number | undefined): number | null =>
  ttlSeconds === undefined ? null : (toSeconds(at) + ttlSeconds) * MS_PER_SECOND

/** @param exp Unix seconds @returns Unix ms; null where there is no end */
export const endOf = (exp: number | undefined): number | null =>
  exp === undefined ? null : exp * MS_PER_SECOND

/** The first of these times; null where none ends anything. */
export const earliest = (times: readonly (number | null | undefined)[]): number | null => {
  const told = times.filter((time) => typeof time === 'number')
  return told.length === 0 ? null : Math.min(...told)
}

/** What `ctx` is the hash of. */
export type BoundContext = ProofContext & StoredContext

/** Who asked, and in whose name: of our own proofs this service and the organisation. */
const askerOf = (
  baseUrl: string,
  { organisation, elsewhere }: Pick<Bound, 'organisation' | 'elsewhere'>,
): Pick<ProofContext, 'aud' | 'org'> => ({
  aud: elsewhere?.aud ?? baseUrl,
  org: elsewhere?.org ?? organisation,
})

/** @param baseUrl BASE_URL */
export const contextOf = (baseUrl: string, bound: Bound): BoundContext => ({
  ...askerOf(baseUrl, bound),
  circuit: bound.circuitId,
  statement: bound.statement,
  nonce: bound.nonce,
  ...(bound.expiresAt !== null && { exp: toSeconds(bound.expiresAt) }),
})

/** @param sent fits its schema @throws AppError validation_failed for what can't be hashed, and for more than any statement of this service has */
export const readContext = (sent: object | undefined): SentContext | undefined => {
  if (sent === undefined) return undefined
  if (!hasCanonicalJson(sent))
    fail('validation_failed', {
      details: [
        {
          path: '/context',
          code: 'not_canonical',
          message: 'must have a canonical JSON (RFC 8785), which numbers that are not finite have not',
        },
      ],
    })
  if (canonicalJson(sent).length > MAX_CONTEXT_CHARACTERS)
    fail('validation_failed', {
      details: [
        {
          path: '/context',
          code: 'too_large',
          message: `must have at most ${MAX_CONTEXT_CHARACTERS} characters of canonical JSON`,
        },
      ],
    })
  // A statement that came as JSON is JSON.
  return sent as SentContext
}

/** What the scope of a proof of this is the hash of. @param baseUrl BASE_URL */
export const scopeOf = (baseUrl: string, bound: Pick<Bound, 'organisation'> & StoredContext): ProofScope => ({
  ...askerOf(baseUrl, bound),
  purpose: purposeOf(bound),
})

const purposeOf = ({ statement, purpose = UNNAMED_PURPOSE }: StoredContext): string =>
  typeof statement.purpose === 'string' ? statement.purpose : purpose

/** The elements that a proof of this must carry. @param baseUrl BASE_URL */
export const elementsOf = (baseUrl: string, bound: Bound): Pick<ProofBinding, 'ctx' | 'scope'> => ({
  ctx: contextElement(contextOf(baseUrl, bound)),
  scope: scopeElement(scopeOf(baseUrl, bound)),
})

/** The salt of a circuit's commitment. @param salt 32 bytes */
export const saltElement = (salt: Uint8Array): bigint =>
  h248(Buffer.concat([Buffer.from('circuit-salt/1'), salt]))
