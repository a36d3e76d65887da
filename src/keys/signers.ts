/**
 * The service's own signing keys, one per purpose and algorithm: created once, sealed at rest, replaced by
 * rotation (rotation.ts). A new one is published before it signs. Replaced keys no longer sign, and stay published so that what
 * they signed can still be verified; one that leaked is ended, and known to nobody any more.
 * @module
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database } from '../store/database.ts'
import { createRecent } from '../store/recent.ts'
import { bytes, integer, json, type RowOf, table, text } from '../store/table.ts'
import { type Jwk, type JwkSet, thumbprint } from './jwks.ts'
import {
  isMlDsa,
  ML_DSA_SEED_BYTES,
  type MlDsaAlgorithm,
  mlDsa,
  type SignatureAsked,
  signMlDsa,
} from './ml-dsa.ts'
import type { Place, Sealing } from './sealing.ts'
import { KEY_MEMORY_MS, signingOf } from './succession.ts'

export const SIGNING_PURPOSES = ['results', 'tokens', 'log', 'tickets', 'status', 'credentials'] as const
export type SigningPurpose = (typeof SIGNING_PURPOSES)[number]

/** Ed25519 (RFC 8032), ML-DSA-44 and ML-DSA-65 (FIPS 204, pure), ECDSA P-256 with SHA-256 (RFC 7518 §3.4). */
export const SIGNING_ALGORITHMS = ['Ed25519', 'ML-DSA-44', 'ML-DSA-65', 'ES256'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]
type ClassicalAlgorithm = Exclude<SigningAlgorithm, MlDsaAlgorithm>

/** Tickets have one algorithm, since they must stay small, and status lists and credentials have the one that wallets know. */
const SOLE_ALGORITHM: Partial<Record<SigningPurpose, SigningAlgorithm>> = {
  tickets: 'Ed25519',
  status: 'ES256',
  credentials: 'ES256',
}

export const algorithmsOf = (purpose: SigningPurpose): readonly SigningAlgorithm[] => {
  const sole = SOLE_ALGORITHM[purpose]
  return sole === undefined ? SIGNING_ALGORITHMS : [sole]
}

/** For the same reason their keys are named by the first 48 bits of the thumbprint. */
const TICKET_KID_CHARACTERS = 8

/** One key, ready to sign. Hold it for one request only: a rotation must be noticed. */
interface Ready<Sign> {
  /** RFC 7638 thumbprint; its first 8 characters for tickets. */
  readonly kid: string
  readonly sign: Sign
}

/** Signs without waiting; 64 bytes, of ES256 r ‖ s. */
export type CurrentSigner = Ready<(message: Uint8Array) => Uint8Array>

/**
 * Signs on another thread, since a signature takes longer than others should wait; as many bytes as {@link signMlDsa} says.
 * `context` (FIPS 204 §5.2) is empty by default. Throws RangeError for one that is too long.
 */
export type PostQuantumSigner = Ready<(message: Uint8Array, context?: Uint8Array) => Promise<Uint8Array>>

export interface Signers {
  /** The key of a purpose that signs now, for code that can't wait while it signs, such as a ledger item's rows. */
  current(purpose: SigningPurpose, alg: ClassicalAlgorithm): Promise<CurrentSigner>
  /** The same of ML-DSA, whose signatures are waited for. */
  postQuantum(purpose: SigningPurpose, alg: MlDsaAlgorithm): Promise<PostQuantumSigner>
  /**
   * A key of this purpose and algorithm, current or replaced; undefined where this kid names none, or one that was ended: what a
   * message says of its key must never choose one that was made for something else.
   */
  publicKey(purpose: SigningPurpose, alg: SigningAlgorithm, kid: string): Promise<Jwk | undefined>
  /** Public keys, the newest first: those that sign next, current and replaced ones. */
  jwks(): Promise<JwkSet>
}

export const signingKeys = table('signing_keys', {
  kid: text().key(),
  purpose: text<SigningPurpose>(),
  alg: text<SigningAlgorithm>(),
  /** Of a purpose and algorithm, from 1. */
  version: integer(),
  public_jwk: json<Jwk>(),
  /** PKCS #8 for Ed25519 and P-256, the 32-byte seed for ML-DSA. */
  sealed_private: bytes(),
  created_at: integer(),
  signs_from: integer().null(),
  /** Unix ms: it leaked, and counts for nothing any more, from whenever what it signs says it is. */
  ended_at: integer().null(),
})

type SigningKeyRow = RowOf<typeof signingKeys>

const REREAD_MS = 100
const SEAL_PURPOSE = 'signing-key'
const NO_CONTEXT = new Uint8Array(0)

const place = (kid: string): Place => ({ table: 'signing_keys', column: 'sealed_private', row: kid })

/** @throws SealingError when a key was sealed under another master key */
export const expectOpens = (
  sealing: Pick<Sealing, 'open'>,
  { kid, sealed_private }: Pick<SigningKeyRow, 'kid' | 'sealed_private'>,
): void => {
  sealing.open(SEAL_PURPOSE, place(kid), sealed_private)
}

interface KeyPair {
  readonly jwk: Jwk
  readonly secret: Uint8Array
}

const generateClassical = (alg: ClassicalAlgorithm): KeyPair => {
  const { privateKey } =
    alg === 'Ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' })
  return { jwk: jwk as Jwk, secret: privateKey.export({ format: 'der', type: 'pkcs8' }) }
}

/** JWK type AKP of draft-ietf-cose-dilithium: the public key as bytes, the algorithm as part of the key. */
const generateMlDsa = (alg: MlDsaAlgorithm): KeyPair => {
  const seed = new Uint8Array(randomBytes(ML_DSA_SEED_BYTES))
  const { publicKey } = mlDsa(alg).keygen(seed)
  return { jwk: { kty: 'AKP', alg, pub: Buffer.from(publicKey).toString('base64url') }, secret: seed }
}

const generate = (alg: SigningAlgorithm): KeyPair =>
  isMlDsa(alg) ? generateMlDsa(alg) : generateClassical(alg)

const classicalSigner = (alg: ClassicalAlgorithm, secret: Uint8Array): CurrentSigner['sign'] => {
  const key: KeyObject = createPrivateKey({ key: Buffer.from(secret), format: 'der', type: 'pkcs8' })
  return (message) =>
    alg === 'Ed25519' ? sign(null, message, key) : sign('sha256', message, { key, dsaEncoding: 'ieee-p1363' })
}

/** The columns of a new key that don't depend on those that there are. */
export const draftSigningKey = (
  sealing: Pick<Sealing, 'seal'>,
  purpose: SigningPurpose,
  alg: SigningAlgorithm,
) => {
  const { jwk, secret } = generate(alg)
  const whole = thumbprint(jwk)
  const kid = purpose === 'tickets' ? whole.slice(0, TICKET_KID_CHARACTERS) : whole
  return {
    kid,
    purpose,
    alg,
    public_jwk: JSON.stringify(jwk),
    sealed_private: sealing.seal(SEAL_PURPOSE, place(kid), secret),
  }
}

/** `alg` of a public JWK: RFC 8037 keys sign JWS as EdDSA. */
const jwsAlgorithm = (alg: SigningAlgorithm): string => (alg === 'Ed25519' ? 'EdDSA' : alg)

interface Deps {
  readonly database: Database
  readonly sealing: Sealing
  readonly clock: Clock
  /** Makes ML-DSA signatures on another thread; absent: on this one. */
  readonly signElsewhere?: ((asked: SignatureAsked) => Promise<Uint8Array>) | undefined
}

/**
 * Creates the keys that are missing; safe when several servers start at once.
 * @throws SealingError when the database was sealed under another master key
 */
export const createSigners = async ({
  database: { knex },
  sealing,
  clock,
  signElsewhere = async (asked) => signMlDsa(asked),
}: Deps): Promise<Signers> => {
  /** Each made when its key first signs. */
  const classical = new Map<string, CurrentSigner['sign']>()
  const postQuantum = new Map<string, PostQuantumSigner['sign']>()

  const read = (): Promise<SigningKeyRow[]> =>
    knex<SigningKeyRow>('signing_keys')
      .whereNull('ended_at')
      .orderBy([{ column: 'created_at', order: 'desc' }, 'kid'])

  const remembered = { ttlMs: KEY_MEMORY_MS, maxEntries: 1, clock, load: read }
  const rows = createRecent(remembered)
  /** Read for ids that aren't among the rows. Strangers may make up any number of them, and must not hide what was just made for long. */
  const reread = createRecent({ ...remembered, ttlMs: REREAD_MS })

  const current = (all: readonly SigningKeyRow[], purpose: SigningPurpose, alg: SigningAlgorithm) =>
    signingOf(
      all.filter((row) => row.purpose === purpose && row.alg === alg),
      clock.now(),
    )

  const unseal = ({ kid, sealed_private }: SigningKeyRow): Uint8Array =>
    sealing.open(SEAL_PURPOSE, place(kid), sealed_private)

  const classicalOf = (row: SigningKeyRow, alg: ClassicalAlgorithm): CurrentSigner => {
    const { kid } = row
    const sign = classical.get(kid) ?? classicalSigner(alg, unseal(row))
    classical.set(kid, sign)
    return { kid, sign }
  }

  const postQuantumSigner = (row: SigningKeyRow, alg: MlDsaAlgorithm): PostQuantumSigner['sign'] => {
    const { secretKey } = mlDsa(alg).keygen(unseal(row))
    return (message, context = NO_CONTEXT) => signElsewhere({ alg, secretKey, message, context })
  }

  const postQuantumOf = (row: SigningKeyRow, alg: MlDsaAlgorithm): PostQuantumSigner => {
    const { kid } = row
    const sign = postQuantum.get(kid) ?? postQuantumSigner(row, alg)
    postQuantum.set(kid, sign)
    return { kid, sign }
  }

  const currentOf = async (purpose: SigningPurpose, alg: SigningAlgorithm): Promise<SigningKeyRow> => {
    const row = current(await rows.get(''), purpose, alg)
    if (row === undefined) throw new Error(`there is no ${alg} key for ${purpose}`)
    return row
  }

  const known = await read()
  const missing = SIGNING_PURPOSES.flatMap((purpose) =>
    algorithmsOf(purpose)
      .filter((alg) => current(known, purpose, alg) === undefined)
      .map((alg) => ({ ...draftSigningKey(sealing, purpose, alg), version: 1, created_at: clock.now() })),
  )
  // Whoever inserts a version first makes it; the others use theirs.
  if (missing.length > 0)
    await knex('signing_keys').insert(missing).onConflict(['purpose', 'alg', 'version']).ignore()
  // One key is opened now, so that a wrong master key is noticed at the start and not at the first signature.
  classicalOf(await currentOf('results', 'Ed25519'), 'Ed25519')

  return {
    current: async (purpose, alg) => classicalOf(await currentOf(purpose, alg), alg),
    postQuantum: async (purpose, alg) => postQuantumOf(await currentOf(purpose, alg), alg),

    async publicKey(purpose, alg, kid) {
      const isIt = (row: SigningKeyRow) => row.purpose === purpose && row.alg === alg && row.kid === kid
      // Another server may have made it a moment ago.
      const found = (await rows.get('')).find(isIt) ?? (await reread.get('')).find(isIt)
      return found?.public_jwk
    },

    async jwks() {
      const keys = (await rows.get('')).map(({ public_jwk, kid, alg }) => ({
        ...public_jwk,
        alg: jwsAlgorithm(alg),
        use: 'sig' as const,
        kid,
      }))
      return { keys }
    },
  }
}
