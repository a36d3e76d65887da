/** Hybrid tokens: both signatures over the same bytes, each under a published key. @module */
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import {
  demandedSignatures,
  HYBRID_TOKEN_CONTEXT,
  type HybridToken,
  hybridSigningBytes,
  readHybridToken,
  readSignature,
} from '../../../protocol/hybrid-token.ts'
import { fromBase64url } from '../../result/jws.ts'
import type { OwnService, PublishedKey } from '../own-service.ts'
import {
  attempt,
  type Check,
  type Found,
  lack,
  leave,
  leaveOpen,
  pass,
  refuse,
  timeWords,
  visible,
} from '../report.ts'
import { ed25519Key, expiryCheck, verifyP256 } from '../signed.ts'

const WHAT = 'Hybrid token'
const CLASSICAL = 'Classical signature'
const PQ = 'Post-quantum signature'
const SERVICE = 'service'
const HOLDS = 'The signatures that its policy demands hold, and its time is not over.'

const FORM_WORDS = {
  TOKEN_MALFORMED: 'Its members are not those of a hybrid token, each in its form.',
  TOKEN_TOO_LARGE: 'It is larger than a hybrid token can be.',
  ALGORITHM_UNKNOWN: 'It names algorithms that hybrid tokens don’t have.',
  POLICY_UNKNOWN: 'It names a policy that hybrid tokens don’t have.',
  LIFETIME_INVALID: 'It holds for longer than a year, or ends before it begins.',
} as const

type Bytes = Uint8Array<ArrayBuffer>

interface Half {
  readonly title: string
  readonly prefix: 'CLASSICAL' | 'PQ'
  readonly alg: HybridToken['alg_classical'] | HybridToken['alg_pq']
  readonly text: string
  /** The keys that the service publishes for it. */
  keys(): Promise<readonly PublishedKey[]>
  readonly kid: string
  verify(key: PublishedKey, message: Uint8Array, signature: Uint8Array): Promise<boolean>
}

const classicalHalf = (token: HybridToken, service: OwnService): Half => ({
  title: CLASSICAL,
  prefix: 'CLASSICAL',
  alg: token.alg_classical,
  text: token.sig_classical,
  kid: token.kid_classical,
  keys: service.keys,
  async verify(key, message, signature) {
    if (token.alg_classical === 'ECDSA_P256')
      return key.kty === 'EC' && key.crv === 'P-256' && verifyP256(key, message, signature)
    const publicKey = ed25519Key([key], key.kid)
    return (
      publicKey !== undefined && service.crypto.verifyEd25519(publicKey, message as Bytes, signature as Bytes)
    )
  },
})

const pqHalf = (token: HybridToken, service: OwnService): Half => ({
  title: PQ,
  prefix: 'PQ',
  alg: token.alg_pq,
  text: token.sig_pq,
  kid: token.kid_pq,
  keys: service.pqKeys,
  async verify({ alg, pub }, message, signature) {
    const [scheme, name] = token.alg_pq === 'Dilithium2' ? [ml_dsa44, 'ML-DSA-44'] : [ml_dsa65, 'ML-DSA-65']
    if (alg !== name || typeof pub !== 'string') return false
    const publicKey = fromBase64url(pub)
    return (
      publicKey.length === scheme.lengths.publicKey &&
      scheme.verify(signature, message, publicKey, { context: HYBRID_TOKEN_CONTEXT })
    )
  },
})

/** Keys of agents and devices are registered with their organisation, and published nowhere. */
const missingKey = ({ title, prefix, kid }: Half, signedBy = SERVICE): Check =>
  signedBy === SERVICE
    ? refuse(title, `${prefix}_KEY_UNKNOWN`, `The service publishes no key ${visible(kid)} for it.`)
    : lack(
        title,
        `It says that an ${visible(signedBy)} signed it. Keys of agents and devices are not published: ask the organisation to validate it.`,
      )

const halfCheck = (half: Half, token: HybridToken, message: Uint8Array): Promise<Check> =>
  attempt(half.title, async () => {
    const { title, prefix, alg, text, kid } = half
    if (text === '')
      return refuse(title, `${prefix}_SIGNATURE_MISSING`, 'Its policy demands it, and there is none.')
    const signature = readSignature(alg, text)
    if (signature === undefined)
      return refuse(title, `${prefix}_SIGNATURE_MALFORMED`, `It is no signature of ${alg}.`)
    const key = (await half.keys()).find((one) => kid !== '' && one.kid === kid)
    if (key === undefined) return missingKey(half, token.signed_by)
    return (await half.verify(key, message, signature))
      ? pass(title, `The ${alg} signature fits every byte of what was signed, under a published key.`)
      : refuse(
          title,
          `${prefix}_SIGNATURE_INVALID`,
          `The ${alg} signature does not fit: something was changed.`,
        )
  })

/** A token whose claims say NO is genuine as such, and nothing that people may take for a YES. */
const meaningOf = (decision: unknown): Found['meaning'] =>
  decision === 0
    ? { word: 'Genuine: NO', text: `${HOLDS} It says NO.`, isPlain: false }
    : { word: 'Genuine', text: HOLDS, isPlain: true }

/** @param json anything @param now Unix ms */
export const checkHybridToken = async (json: unknown, service: OwnService, now: number): Promise<Found> => {
  const read = readHybridToken(json)
  if ('fault' in read)
    return {
      what: WHAT,
      checks: [refuse('Form', read.fault, FORM_WORDS[read.fault])],
      meaning: meaningOf(undefined),
    }
  const { token } = read
  const demanded = demandedSignatures(token.verification_policy)
  const message = hybridSigningBytes(token)
  const notDemanded = (title: string) =>
    leave(title, `Its policy, ${token.verification_policy}, demands none.`)
  return {
    what: WHAT,
    checks: [
      pass('Form', `It has the form of a hybrid token, under the policy ${token.verification_policy}.`),
      demanded.classical
        ? await halfCheck(classicalHalf(token, service), token, message)
        : notDemanded(CLASSICAL),
      demanded.pq ? await halfCheck(pqHalf(token, service), token, message) : notDemanded(PQ),
      expiryCheck(token.exp, 'TOKEN_EXPIRED', now),
      leaveOpen(
        'Revocation',
        'whether it was revoked',
        'It stands in no status list. Whether it was revoked, only the service knows: ask POST /v1/tokens/validate-quantum-safe.',
      ),
    ],
    facts: [
      ['Id', token.token_id],
      ['Subject', visible(token.subject)],
      ['Claims', visible(token.claims)],
      ['Policy', token.verification_policy],
      ['Issued at', timeWords(token.iat)],
      ['Expires at', timeWords(token.exp)],
    ],
    meaning: meaningOf(token.claims.decision),
    notChecked: [
      'which organisation it is of: the service tells whoever validates it',
      'that the policy is the one that you demand',
    ],
  }
}
