/** Proofs of versions of circuits that were replaced, as an earlier version of the service made them. @module */
import type { CircuitId } from '../../../src/circuits/catalogue.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import { readExpectations } from './fixture.ts'

/** Circuits whose version 1.0.0 was replaced. */
export const FORMER = [
  'kyc',
  'token_validation',
  'consent_verification',
] as const satisfies readonly CircuitId[]

type FormerProof = Pick<ProofGenerated, 'proof' | 'public_signals'>

/** Of version 1.0.0, by circuit. */
export const formerProofs = (): Record<(typeof FORMER)[number], FormerProof> => {
  const { checks } = readExpectations('2026-11-22', 'embedded')
  const bodies = checks.map(({ body }) => body as Partial<ProofGenerated> | undefined)
  const found = FORMER.map((id) => {
    const body = bodies.findLast((one) => one?.circuit_id === id && one.public_signals !== undefined)
    if (body?.proof === undefined || body.public_signals === undefined)
      throw new Error(`there is no former proof of ${id}`)
    return [id, { proof: body.proof, public_signals: body.public_signals }]
  })
  return Object.fromEntries(found)
}
