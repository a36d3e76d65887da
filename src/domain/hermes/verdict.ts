/**
 * Verdicts: what was found, bound to everything it was found by, proven, signed and recorded. Neither the question nor
 * anything of the target's answer can be read or guessed from what is signed: both are bound by HMACs under a key
 * that follows from the manage token of the route.
 * @module
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import type { Provable } from '../../circuits/circuit.ts'
import { type YesnoValues, yesno } from '../../circuits/mappers/yesno.ts'
import { iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Decide } from '../../ledger/decision.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { proofDigest, type SnarkProof } from '../../protocol/zk1.ts'
import { contextElement, encodeValue, h248, scopeElement } from '../../rules/encode.ts'
import type { Row } from '../../store/table.ts'
import type { proofRow } from '../proofs/recording.ts'
import type { StoredContext } from '../proofs/statement.ts'
import type { Allowance } from '../usage/service.ts'
import type { ResultSigner } from '../verification/signed-result.ts'
import { PROOF_CREATED } from '../webhooks/events.ts'
import type { Question } from './criteria.ts'
import type { TypedAnswer, Verdict } from './schemas.ts'
import type { KnownRoute } from './store.ts'

const SALT_BYTES = 32
const MS_PER_SECOND = 1000
/** What a nullifier of a verdict is scoped to, beside the service itself. */
const PURPOSE = 'hermes'
const BINDING_LABEL = 'hermes-binding/1'

/** The key of a route's bindings: HMAC-SHA256(manage token, "hermes-binding/1"), so that its creator can check them. */
export const bindingKeyOf = (manageToken: string): Buffer =>
  createHmac('sha256', manageToken).update(BINDING_LABEL).digest()

/** All that a verdict follows from. */
export interface Finding {
  /** `hmv_…` */
  readonly id: string
  readonly route: Pick<KnownRoute, 'id' | 'slug' | 'organisation' | 'owned'>
  readonly bindingKey: Uint8Array
  readonly asked: Question['asked']
  readonly url: string
  readonly body: Uint8Array
  /** Unix ms. */
  readonly fetchedAt: number
  /** How many objects satisfy the question. */
  readonly satisfying: number
}

export interface VerdictStatement extends Provable {
  readonly id: string
  readonly verdict: Verdict
  readonly route: Finding['route']
  readonly fetchedAt: number
  /** What `ctx` binds, as it is kept with the proof. */
  readonly context: StoredContext
  /** HMAC-SHA256, lower-case hex. */
  readonly bindings: {
    readonly url_hash: string
    readonly criteria_hash: string
    readonly body_hash: string
  }
  readonly digest: string
  /** 32 bytes, lower-case hex. */
  readonly commitment: string
}

const elementHex = (element: bigint): string => element.toString(16).padStart(64, '0')

const bind = (key: Uint8Array, label: string, content: string | Uint8Array): string =>
  createHmac('sha256', key).update(`${label}\n`).update(content).digest('hex')

/** @param issuer BASE_URL */
export const makeVerdict = (issuer: string, finding: Finding): VerdictStatement => {
  const { id, route, bindingKey, asked, url, body, fetchedAt, satisfying } = finding
  const bindings = {
    url_hash: bind(bindingKey, 'url/1', url),
    criteria_hash: bind(bindingKey, 'criteria/1', canonicalJson(asked)),
    body_hash: bind(bindingKey, 'body/1', body),
  }
  const statement = { route: route.slug, ...bindings, fetched_at: iso(fetchedAt) }
  const context = { statement, nonce: id, purpose: PURPOSE }
  const values: YesnoValues = {
    value: encodeValue(satisfying),
    salt: h248(randomBytes(SALT_BYTES)),
    op: 'gte',
    operand: encodeValue(1),
    scope: scopeElement({ aud: issuer, org: route.organisation, purpose: PURPOSE }),
    ctx: contextElement({ aud: issuer, org: route.organisation, circuit: yesno.id, statement, nonce: id }),
  }
  const publicSignals = yesno.publicSignals(values)
  const { commitment } = yesno.read(publicSignals)
  return {
    id,
    verdict: satisfying > 0 ? 'YES' : 'NO',
    route,
    fetchedAt,
    context,
    bindings,
    publicSignals,
    witness: yesno.witnessInput(values),
    digest: proofDigest(yesno.id, publicSignals),
    commitment: elementHex(commitment),
  }
}

/** A verdict that is about to be committed. */
interface Pronounced {
  readonly caller: Caller
  readonly issuer: string
  readonly statement: VerdictStatement
  readonly signer: ResultSigner
  /** `zk1.…` */
  readonly proof: string
  readonly proofId: string
  readonly made: SnarkProof
  readonly proofRow: typeof proofRow
  /** `yesno:sha256:…` */
  readonly verificationKey: string
  readonly allowance: Allowance | undefined
  readonly rows: readonly Row[]
}

const inDecimals = <Name extends string>(signals: Readonly<Record<Name, bigint>>): Record<Name, string> =>
  Object.fromEntries(Object.entries<bigint>(signals).map(([name, value]) => [name, String(value)])) as Record<
    Name,
    string
  >

const zkProofOf = ({ statement, proof, verificationKey }: Pronounced): TypedAnswer['zkProof'] => {
  const { verdict, publicSignals, commitment } = statement
  const publicInputs = { verdict, ...inDecimals(yesno.read(publicSignals)) }
  return { proof, commitment, verificationKey, publicInputs }
}

/**
 * Pronounces a verdict. It is signed inside the commit, where its place in the ledger is known; it throws AppError route_deleted
 * where the route was deleted while its target was asked.
 */
export const pronounce = (pronounced: Pronounced): Decide<TypedAnswer> => {
  const { caller, issuer, statement, signer, proof, proofId, made, allowance, rows } = pronounced
  const { id, verdict, route, fetchedAt, bindings, digest, commitment } = statement
  const timestamp = iso(fetchedAt)
  const recorded = {
    ...statement,
    circuitId: yesno.id,
    proofId,
    proof: made,
    createdAt: fetchedAt,
    expiresAt: null,
  }
  const signed = {
    iss: issuer,
    jti: id,
    iat: Math.floor(fetchedAt / MS_PER_SECOND),
    org: route.organisation,
    route: route.slug,
    verdict,
    ...bindings,
    fetched_at: timestamp,
    circuit_id: yesno.id,
    digest,
  }
  return (tx) => {
    if (tx.holder(CLAIM_KINDS.routeDeleted, route.id)) fail('route_deleted')
    allowance?.take(tx)
    const { index, leafHash } = tx.append({
      type: 'verify',
      subject: ['route', route.id],
      digest,
      commitment,
      circuitId: yesno.id,
      proofId,
      data: { decision: verdict, verdictId: id, event: PROOF_CREATED },
    })
    for (const row of rows) tx.write(row)
    // What routes of strangers prove, strangers chose: it is nobody's proof, and counts for no organisation.
    if (route.owned) tx.write(pronounced.proofRow(caller, recorded, index))
    return tx.withRoot(() => ({
      verdict,
      timestamp,
      jws: signer.jws('hv+jws', { ...signed, leaf_hash: leafHash }),
      signature: signer.signature('hermes/1', { digest, route: route.slug, timestamp, verdict }),
      proof,
      proofId,
      zkProof: zkProofOf(pronounced),
    }))
  }
}
