/**
 * All that can be checked of a result of `POST /verify` by whoever asked for it: docs/verification.md has the same
 * steps. Besides data, rules and salt it needs the address of the service, known beforehand.
 */
import { createHash } from 'node:crypto'
import { createClient } from 'assay-client'
import { contextElement, encodeValue, POSEIDON_TAGS, poseidon, scopeElement } from 'assay-proving'
import { verifyResult } from 'assay-verify'
import { decodeZk1, proofDigest, verifyPairing } from 'assay-verify/proof'
import canonicalize from 'canonicalize'

/** In the order of their numbers in the circuits. */
const OPERATORS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const

/** What was asked, as the body of `POST /verify`. */
export interface Asked {
  readonly data: Readonly<Record<string, unknown>>
  readonly options: {
    readonly circuit_id: 'yesno' | 'eligibility' | 'composite' | 'simple_yesno'
    /** All must hold; for `yesno` one. Fields are names on the first level of the data. */
    readonly rules: {
      readonly field: string
      readonly op: (typeof OPERATORS)[number]
      readonly value: string | number | boolean
    }[]
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

/** What stands in the data itself, never what every object has. */
const valueIn = (data: Asked['data'], field: string): unknown =>
  Object.hasOwn(data, field) ? data[field] : undefined

/** `ctx`, from what is signed, and from the rules and the nonce as we know them. */
const contextOf = ({ options: { rules, nonce } }: Asked, issuer: string, claims: Claims): bigint => {
  const { org, circuit_id: circuit, data_commitment, exp } = claims
  const statement = { data_commitment, rules_hash: sha256(canonical({ rules })) }
  return contextElement({ aud: issuer, org, circuit, statement, nonce, exp })
}

/** How many fields and rules there is room for, the bits of a rule, what the hash of the rules is called, and the tags of both hashes. */
const PROGRAMS = {
  eligibility: {
    size: 8,
    ruleBits: 7,
    hash: 'policyHash',
    tags: [POSEIDON_TAGS.POLICY, POSEIDON_TAGS.ELIGIBILITY_DATA],
  },
  composite: {
    size: 16,
    ruleBits: 8,
    hash: 'programHash',
    tags: [POSEIDON_TAGS.PROGRAM, POSEIDON_TAGS.COMPOSITE_DATA],
  },
} as const
/** The operator of a rule that is none. */
const UNUSED = 7

/**
 * The hash of the rules as the circuit evaluates them, and the commitment to the values that they look at: "Inside proofs" in
 * docs/rules.md, for rules that must all hold.
 */
const programSignals = (
  circuit: 'eligibility' | 'composite',
  { data, options: { rules } }: Asked,
  inner: bigint,
): Record<string, bigint> => {
  const { size, ruleBits, hash, tags } = PROGRAMS[circuit]
  if (rules.length > size) throw new Error(`${circuit} answers ${size} rules at most`)
  const fields = [...new Set(rules.map(({ field }) => field))]
  const schema = h248(canonical(fields.map((field) => [field])))
  const slots = Array.from({ length: size }, (_, i) => i)
  const words = slots.reduce((sum, i) => {
    const rule = rules[i]
    const word = rule ? OPERATORS.indexOf(rule.op) + 16 * fields.indexOf(rule.field) : UNUSED
    return sum + (BigInt(word) << BigInt(i * ruleBits))
  }, 0n)
  const operands = slots.map((i) => encodeValue(rules[i]?.value))
  const attributes = slots.map((i) =>
    encodeValue(fields[i] === undefined ? undefined : valueIn(data, fields[i])),
  )
  const isNumber = (value: bigint) => (value >> 248n === 1n ? 1n : 0n)
  const numbers = attributes.reduce((sum, value, i) => sum + (isNumber(value) << BigInt(i)), 0n)
  return {
    [hash]: poseidon(tags[0], [...operands, schema, words]),
    commitment: poseidon(tags[1], [...attributes, numbers, schema, inner]),
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
  const commit = (value: bigint) => poseidon(POSEIDON_TAGS.COMMITMENT, [value, inner])
  if (circuit_id === 'simple_yesno') return { decision: bit, commitment: commit(bit), threshold: 1n }
  if (circuit_id !== 'yesno') return { decision: bit, ...programSignals(circuit_id, asked, inner) }
  const [rule, ...others] = rules
  if (rule === undefined || others.length > 0) throw new Error('yesno answers one rule')
  return {
    decision: bit,
    commitment: commit(encodeValue(valueIn(data, rule.field))),
    op: BigInt(OPERATORS.indexOf(rule.op)),
    operand: encodeValue(rule.value),
    scope: scopeElement({ aud: issuer, org, purpose: 'verify' }),
  }
}

/**
 * Checks a result.
 * @param known `issuer`: address of the service; `organisation`: id of the one that asked. From where you know them, never from the answer
 * @param say gets a line for each check that holds
 * @returns the decision that was signed and proven: what the answer says beside its JWS nobody vouches for
 * @throws Error at the first check that does not hold
 */
export const checkResult = async (
  { issuer, organisation }: { readonly issuer: string; readonly organisation: string },
  asked: Asked,
  answered: Answered,
  say: (line: string) => void = () => {},
): Promise<Claims['decision']> => {
  const { circuit_id: circuit, ttl } = asked.options
  const check = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`NOT SO: ${what}`)
    say(`✓ ${what}`)
  }

  // 1. Who said so: a key of this service, in a result of this kind, for this organisation, that has not expired.
  const assay = createClient({ baseUrl: issuer })
  const verdict = verifyResult(answered.jws, {
    keys: await assay.getJwks(),
    issuer,
    organisation,
    statusList: 'not_checked',
  })
  if (!verdict.valid) throw new Error(`NOT SO: the service signed the result (${verdict.reason})`)
  const claims = verdict.payload as unknown as Claims
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
  const vkey = await assay.getVerificationKey({ circuitId: circuit })
  const { valid } = await verifyPairing(vkey, decoded.proof, decoded.publicSignals)
  check(valid, 'the zero-knowledge proof holds')

  // 4. And proven of this result: the digest in the JWS is that of the proof's public signals.
  const digest = proofDigest(circuit, decoded.publicSignals)
  check(claims.digest === digest, 'the JWS names the public signals of this proof')

  // 5. In answer to this question, and to no other: all signals follow from it, and from what is signed.
  const signals = new Map(SIGNALS[circuit].map((name, i) => [name, decoded.publicSignals[i]]))
  check(
    signals.get('ctx') === String(contextOf(asked, issuer, claims)),
    'the proof is bound to our rules and nonce',
  )
  for (const [name, value] of Object.entries(expectedSignals(asked, issuer, claims, salt)))
    check(signals.get(name) === String(value), `the proof has the ${name} that follows from what was asked`)
  return claims.decision
}
