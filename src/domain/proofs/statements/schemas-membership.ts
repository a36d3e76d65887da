/** Inputs of statements about what stands in the ledger, as callers send them. @module */
import Type, { type Static } from 'typebox'
import { AcceptedSigners, RequiredPolicy } from '../../hybrid-tokens/schemas.ts'

const CLOSED = { additionalProperties: false } as const
const Signal = Type.String({
  pattern: '^(0|[1-9][0-9]{0,76})$',
  description: 'An element of the BN254 scalar field: a decimal without leading zeros.',
})
const EntryIndex = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Place of one of your entries in the log.',
})

export const ByIndex = Type.Object({ index: EntryIndex }, CLOSED)
export const ByDigest = Type.Object(
  {
    digest: Type.String({
      pattern: '^[0-9a-f]{1,128}$',
      description: 'Of one of your entries; the first that has it.',
    }),
  },
  CLOSED,
)
export const AuditInputs = Type.Union([ByIndex, ByDigest], {
  title: 'LoggedEntry',
  description: 'One of your entries, by its index or by its digest.',
})
export type AuditInputs = Static<typeof AuditInputs>

export const QuantumSignals = Type.Object(
  {
    index: EntryIndex,
    tokenDigest: Signal,
    decision: Type.Enum(['0', '1']),
    exp: Signal,
    policyBits: Signal,
    salt: Signal,
    requiredBits: Signal,
  },
  {
    title: 'HybridTokenSignals',
    description:
      'A hybrid token as its entry commits to it, and the signatures that are required: 1 classical, 2 post-quantum, 3 both.',
    ...CLOSED,
  },
)
export type QuantumSignals = Static<typeof QuantumSignals>

export const HybridTokenQuestion = Type.Object(
  {
    token: Type.Object(
      {},
      {
        additionalProperties: Type.Unknown(),
        description: 'As POST /v1/tokens/generate-quantum-safe issued it to your organisation.',
      },
    ),
    required_policy: Type.Optional(RequiredPolicy),
    accept_signers: Type.Optional(AcceptedSigners),
  },
  CLOSED,
)
export type HybridTokenQuestion = Static<typeof HybridTokenQuestion>

export const QuantumInputs = Type.Union([HybridTokenQuestion, QuantumSignals])
export type QuantumInputs = Static<typeof QuantumInputs>
