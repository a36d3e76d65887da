/** Whose keys hybrid tokens are signed with: the service's, or those that the organisation registered. @module */
import { type PublicKey, readPublicKey } from '../../keys/public-key.ts'
import type { Signers, SigningAlgorithm } from '../../keys/signers.ts'
import type { ClassicalAlgorithm, PqAlgorithm } from '../../protocol/hybrid-token.ts'
import type { RegisteredKeysService } from '../agents/keys/service.ts'
import type { SignerType } from './schemas.ts'

/** The purpose of the service's keys. What else they sign, JWTs, never begins like a hybrid token. */
export const KEY_PURPOSE = 'tokens'

/** Names on the wire → names of keys. */
export const SIGNING_ALGORITHM = {
  Ed25519: 'Ed25519',
  ECDSA_P256: 'ES256',
  Dilithium2: 'ML-DSA-44',
  Dilithium3: 'ML-DSA-65',
} as const satisfies Record<ClassicalAlgorithm | PqAlgorithm, SigningAlgorithm>

export interface Signer {
  readonly type: SignerType
  /** `agt_…`, `dev_…`, or BASE_URL. */
  readonly id: string
}

export interface SignerKey {
  readonly key: PublicKey
  readonly signer: Signer
}

export interface KeyDeps {
  readonly signers: Pick<Signers, 'publicKey'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'find'>
  readonly baseUrl: string
}

/**
 * The key that an organisation may have tokens signed by, for this algorithm and no other.
 * @param kid RFC 7638 thumbprint, as a token claims it
 */
export const findSignerKey = async (
  { signers, registeredKeys, baseUrl }: KeyDeps,
  organisation: string,
  wireAlg: ClassicalAlgorithm | PqAlgorithm,
  kid: string,
): Promise<SignerKey | undefined> => {
  if (kid === '') return undefined
  const alg = SIGNING_ALGORITHM[wireAlg]
  const own = await signers.publicKey(KEY_PURPOSE, alg, kid)
  const registered = own === undefined ? await registeredKeys.find(organisation, kid) : undefined
  const key = readPublicKey(own ?? registered?.jwk)
  if (key === undefined || key.alg !== alg || key.kid !== kid) return undefined
  return { key, signer: registered?.owner ?? { type: 'service', id: baseUrl } }
}
