/**
 * All that can be checked of a result of `POST /verify` by whoever asked for it: docs/verification.md has the same
 * steps. Besides data, rules and salt it needs the address of the service, known beforehand, and of Assay only
 * `decodeZk1`, `encodeValue`, rule programs and Poseidon, which the documentation describes to the byte.
 */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { groth16 } from 'snarkjs'
import { createField, POSEIDON_TAGS } from '../src/core/field.ts'
import { decodeZk1 } from '../src/protocol/zk1.ts'
import { encodeValue } from '../src/rules/encode.ts'
import { attributesOf, compileProgram } from '../src/rules/program.ts'
import { parseRules } from '../src/rules/tree.ts'

/** What was asked, as the body of `POST /verify`. */
export interface Asked {
  readonly data: Readonly<Record<string, unknown>>
  readonly options: {
    readonly circuit_id: 'yesno' | 'eligibility' | 'composite' | 'simple_yesno'
    /** All must hold. For `yesno` one, about a field on the first level. */
    readonly rules: readonly { readonly field: string; readonly op: string; readonly value: unknown }[]
    /** Seconds. */
    readonly ttl: number
    readonly nonce: string
  }
}

/** What of the answer is looked at. Nothing in it is believed. */
export interface Answered {
  readonly verificationId: string
  readonly jws: string
  readonly salt: string
  readonly proof: string
}

/** The claims of the JWS, once its signature is known to be good. */
interface Claims {
  readonly org: string
  readonly decision: string | null
  /** `none`, or the hash of the rules. */
  readonly question: string
  readonly circuit_id: string
  readonly data_commitment: string
  readonly digest: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
}

const OPERATORS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte']
const SIGNALS = {
  yesno: ['decision', 'nullifier', 'commitment', 'op', 'operand', 'scope', 'ctx'],
  eligibility: ['decision', 'commitment', 'policyHash', 'ctx'],
  composite: ['decision', 'commitment', 'programHash', 'ctx'],
  simple_yesno: ['decision', 'commitment', 'threshold', 'ctx'],
}

const sha256 = (...parts: (string | Uint8Array)[]): string => {
  const hasher = createHash('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest('hex')
}

const canonical = (value: unknown): string => canonicalize(value) ?? ''

/** The first 31 bytes of SHA-256 as a number. */
const h248 = (...parts: (string | Uint8Array)[]): bigint => BigInt(`0x${sha256(...parts).slice(0, 62)}`)

/** A public signal as 32 bytes, big-endian. */
const bytesOf = (signal: string): Uint8Array =>
  Buffer.from(BigInt(signal).toString(16).padStart(64, '0'), 'hex')

/** `ctx`, from what is signed, and from the rules and the nonce as we know them. */
const contextOf = ({ options: { rules, nonce } }: Asked, issuer: string, claims: Claims): bigint => {
  const { org, circuit_id: circuit, data_commitment, exp } = claims
  const statement = { data_commitment, rules_hash: sha256(canonical({ rules })) }
  return h248(`ctx/1${canonical({ aud: issuer, org, circuit, statement, nonce, exp })}`)
}

/** The hash of the rules as the circuit evaluates them, and the commitment to the values that they look at. */
const programSignals = (
  circuit: 'eligibility' | 'composite',
  { data, options: { rules } }: Asked,
  inner: bigint,
): Record<string, bigint> => {
  const { poseidon } = createField()
  const program = compileProgram(parseRules(rules, undefined), circuit)
  const attributes = attributesOf(program, data)
  const numbers = attributes.map((value, i) => (value >> 248n === 1n ? 1n << BigInt(i) : 0n))
  const committed = [...attributes, numbers.reduce((sum, bit) => sum + bit), program.schema, inner]
  const { operands, schema, words, gates } = program
  return circuit === 'eligibility'
    ? {
        commitment: poseidon(POSEIDON_TAGS.ELIGIBILITY_DATA, committed),
        policyHash: poseidon(POSEIDON_TAGS.POLICY, [...operands, schema, words]),
      }
    : {
        commitment: poseidon(POSEIDON_TAGS.COMPOSITE_DATA, committed),
        programHash: poseidon(POSEIDON_TAGS.PROGRAM, [...operands, schema, words + (gates << 128n)]),
      }
}

/** What the public signals have to be, by name, if they answer this question. */
const expectedSignals = (
  asked: Asked,
  issuer: string,
  { decision, org }: Claims,
  salt: Uint8Array,
): Record<string, bigint> => {
  const { data, options } = asked
  const { circuit_id, rules } = options
  const bit = decision === 'YES' ? 1n : 0n
  const inner = h248('circuit-salt/1', salt)
  const commit = (value: bigint) => createField().poseidon(POSEIDON_TAGS.COMMITMENT, [value, inner])
  if (circuit_id === 'simple_yesno') return { decision: bit, commitment: commit(bit), threshold: 1n }
  if (circuit_id !== 'yesno') return { decision: bit, ...programSignals(circuit_id, asked, inner) }
  const [rule, ...others] = rules
  if (rule === undefined || others.length > 0) throw new Error('yesno answers one rule')
  return {
    decision: bit,
    commitment: commit(encodeValue(data[rule.field])),
    op: BigInt(OPERATORS.indexOf(rule.op)),
    operand: encodeValue(rule.value),
    scope: h248(`scope/2${canonical({ aud: issuer, org, purpose: 'verify' })}`),
  }
}

/**
 * Checks a result.
 * @param issuer address of the service, from where it is known; never from the answer
 * @param say gets a line for each check that holds
 * @throws Error at the first that does not
 */
export const checkResult = async (
  issuer: string,
  asked: Asked,
  answered: Answered,
  say: (line: string) => void = () => {},
): Promise<void> => {
  const { circuit_id: circuit, ttl } = asked.options
  const check = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`NOT SO: ${what}`)
    say(`✓ ${what}`)
  }

  // 1. Who said so: a key of this service, in a result of this kind, that has not expired.
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
  const { payload: claims } = await jwtVerify<Claims>(answered.jws, keys, {
    algorithms: ['EdDSA'],
    typ: 'vr+jws',
    issuer,
  })
  const question = sha256(canonical({ rules: asked.options.rules }))
  check(claims.question === question, 'the JWS names our rules as the question')
  check(claims.jti === answered.verificationId, 'the JWS is signed by the service, and is about this result')
  check(claims.exp - claims.iat === ttl, 'it expires when it was asked to')

  // 2. About what: the data that was sent, under the salt that only we have.
  const salt = Buffer.from(answered.salt, 'base64url')
  const commitment = sha256('commitment/1', salt, canonical(asked.data))
  check(claims.data_commitment === commitment, 'the JWS commits to the data that was sent')

  // 3. Proven: by the circuit that was asked for, whose key anybody may fetch.
  check(claims.circuit_id === circuit, `the circuit is ${circuit}`)
  const decoded = decodeZk1(answered.proof)
  if (decoded === undefined) throw new Error('NOT SO: the proof can be read')
  const vkey = await (await fetch(`${issuer}/api/circuits/${circuit}/vkey`)).json()
  check(await groth16.verify(vkey, decoded.publicSignals, decoded.proof), 'the zero-knowledge proof holds')

  // 4. And proven of this result: the digest in the JWS is that of the proof's public signals.
  const digest = sha256(`digest/1${circuit}`, ...decoded.publicSignals.map(bytesOf))
  check(claims.digest === digest, 'the JWS names the public signals of this proof')

  // 5. In answer to this question, and to no other: all signals follow from it, and from what is signed.
  const signals = new Map(SIGNALS[circuit].map((name, i) => [name, decoded.publicSignals[i]]))
  check(
    signals.get('ctx') === String(contextOf(asked, issuer, claims)),
    'the proof is bound to our rules and nonce',
  )
  for (const [name, value] of Object.entries(expectedSignals(asked, issuer, claims, salt)))
    check(signals.get(name) === String(value), `the proof has the ${name} that follows from what was asked`)
}
