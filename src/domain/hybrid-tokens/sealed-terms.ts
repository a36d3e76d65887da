/** What is kept, sealed, of a hybrid token: what its circuit and its revocation need, and nobody may read. @module */
import type { HybridTokenTerms } from '../../circuits/mappers/quantum_safe_token.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { KnownHybridToken } from './store.ts'

/** As sealed. */
export interface KeptTerms {
  /** Decimal; below 2^248. */
  readonly salt: string
  readonly subject: string
  readonly decision: 0 | 1
}

/** Keeps the pseudonyms of subjects apart from those of other records; tokens and tickets have the same. */
export const HYBRID_TOKEN_SUBJECT = 'token-subject'
const PURPOSE = 'hybrid-token'
const MS_PER_SECOND = 1000
/** Bytes of a SHA-256 that fit into an element whatever they are. */
const H248_BYTES = 31

const place = (organisation: string, id: string) => ({
  table: 'hybrid_tokens',
  column: 'sealed',
  row: `${organisation}/${id}`,
})

/** @param at the row's organisation and id */
export const sealTerms = (
  sealing: Pick<Sealing, 'seal'>,
  at: { readonly organisation: string; readonly id: string },
  kept: KeptTerms,
): Uint8Array => sealing.seal(PURPOSE, place(at.organisation, at.id), Buffer.from(JSON.stringify(kept)))

/** `h248` of the bytes whose SHA-256 this is. */
export const tokenDigestOf = (digest: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(digest.subarray(0, H248_BYTES)).toString('hex')}`)

/** A token as its circuit knows it, and whom it is about. */
export interface OpenedTerms {
  readonly terms: HybridTokenTerms
  readonly subject: string
}

type SealedTerms = Pick<KnownHybridToken, 'organisation' | 'id' | 'sealed'>

const open = (sealing: Pick<Sealing, 'open'>, { organisation, id, sealed }: SealedTerms): KeptTerms =>
  JSON.parse(Buffer.from(sealing.open(PURPOSE, place(organisation, id), sealed)).toString())

/** Whom a token is about. @throws SealingError as `openTerms` */
export const openSubject = (sealing: Pick<Sealing, 'open'>, row: SealedTerms): string =>
  open(sealing, row).subject

/** @throws SealingError when it was altered, moved, or sealed under another master key */
export const openTerms = (sealing: Pick<Sealing, 'open'>, row: KnownHybridToken): OpenedTerms => {
  const { salt, subject, decision } = open(sealing, row)
  return {
    subject,
    terms: {
      tokenDigest: tokenDigestOf(row.digest),
      decision: BigInt(decision),
      exp: BigInt(Math.floor(row.expires_at / MS_PER_SECOND)),
      policyBits: BigInt(row.policy_bits),
      salt: BigInt(salt),
    },
  }
}
