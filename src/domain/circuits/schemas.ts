/** Wire forms of the circuit catalogue. @module */
import Type, { type Static } from 'typebox'

const Coordinates = Type.Array(Type.String({ pattern: '^[0-9]+$' }))

export const CircuitInfo = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    version: Type.String(),
    wasm_supported: Type.Boolean({
      description: 'Whether witness and proof can be computed in WebAssembly.',
    }),
    proves: Type.String({ description: 'What a proof shows by itself.' }),
    checks: Type.Array(Type.String(), { description: 'What a verifier must check in addition.' }),
    selfAsserted: Type.Boolean({
      description:
        'Whether the prover chooses the commitment freely; then a proof alone shows only consistency.',
    }),
    publicSignals: Type.Array(Type.String(), {
      description: 'Names of the public signals, in the order of a proof.',
    }),
    constraints: Type.Integer(),
    verificationKeyUrl: Type.String({ format: 'uri' }),
    formerVersions: Type.Array(
      Type.Object({ version: Type.String(), verificationKeyUrl: Type.String({ format: 'uri' }) }),
      {
        description:
          'Versions that were replaced, oldest first. The service accepts no proofs of them; whoever kept one can verify it with the key.',
      },
    ),
    provingKeyUrl: Type.String({
      format: 'uri',
      description: 'The content at this address never changes: the address contains its SHA-256.',
    }),
    witnessProgramUrl: Type.String({ format: 'uri', description: 'Like `provingKeyUrl`.' }),
    setup: Type.Object({
      type: Type.Enum(['single-party', 'multi-party'], {
        description:
          'multi-party if several contributors added secrets to the powers of tau and to the key. Anyone who knows all secrets of either can forge proofs.',
      }),
      contributions: Type.Integer({
        minimum: 1,
        description: 'Number of contributions to the proving key, without beacons.',
      }),
      transcript_sha256: Type.String({
        description: 'SHA-256 of the canonical JSON (RFC 8785) of powers, r1cs, circuitHash, contributions.',
      }),
    }),
  },
  { title: 'CircuitInfo' },
)
export type CircuitInfo = Static<typeof CircuitInfo>

export const CircuitList = Type.Array(CircuitInfo)
export type CircuitList = Static<typeof CircuitList>

export const CircuitParams = Type.Object({ circuitId: Type.String({ maxLength: 64 }) })

export const KeyQuery = Type.Object({
  version: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,4}([.][0-9]{1,4}){2}$', description: 'Default: the current version.' }),
  ),
})

export const FileQuery = Type.Object({
  sha256: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'The hash of the file, otherwise 404. With it the answer can be cached permanently.',
    }),
  ),
})

export const VerificationKeyJson = Type.Object(
  {
    protocol: Type.Literal('groth16'),
    curve: Type.Literal('bn128'),
    nPublic: Type.Integer(),
    vk_alpha_1: Coordinates,
    vk_beta_2: Type.Array(Coordinates),
    vk_gamma_2: Type.Array(Coordinates),
    vk_delta_2: Type.Array(Coordinates),
    vk_alphabeta_12: Type.Array(Type.Array(Coordinates)),
    IC: Type.Array(Coordinates),
  },
  { title: 'VerificationKey', description: 'The JSON form of snarkjs.' },
)
