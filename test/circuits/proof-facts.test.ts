/** What a proof tells of itself where nobody knows it: only what its signals bind, whoever made it. */
import { expect } from 'chai'
import { findCircuit } from '../../src/circuits/catalogue.ts'
import { type ProofToCompare, proofFacts } from '../../src/circuits/proof-facts.ts'
import { commonScopeElement, contextElement, scopeElement } from '../../src/rules/encode.ts'
import { type Expectation, unexpected } from '../../src/rules/expectation.ts'

const AUD = 'https://assay.example'
const NOW = Date.parse('2026-06-01T12:00:00Z')

/** A proof of this statement, with these signals beside `ctx`. */
const proofOf = (
  circuitId: string,
  statement: object,
  signals: Readonly<Record<string, bigint>> = {},
): ProofToCompare => {
  const context = { aud: AUD, org: 'org_1', circuit: circuitId, statement, nonce: 'n-1' }
  const values: Record<string, bigint> = { ...signals, ctx: contextElement(context) }
  const publicSignals = (findCircuit(circuitId)?.publicNames ?? []).map((name) => String(values[name] ?? 0n))
  return { circuitId, publicSignals, context }
}
const reasons = (expected: Expectation, proof: ProofToCompare) =>
  unexpected(expected, proofFacts(proof), NOW).join()

describe('what a proof tells of itself', () => {
  it('is a purpose only where its scope is that of it', () => {
    const scope = scopeElement({ aud: AUD, org: 'org_1', purpose: 'vote' })
    const elsewhere = scopeElement({ aud: 'https://other.example', org: 'org_1', purpose: 'vote' })
    const ofOther = scopeElement({ aud: AUD, org: 'org_2', purpose: 'vote' })
    const common = commonScopeElement({ aud: AUD, purpose: 'vote' })
    const told = (statement: object, signals: Readonly<Record<string, bigint>>, purpose?: string) =>
      reasons({ purpose: 'vote' }, { ...proofOf('kyc', statement, signals), purpose })
    expect(told({ purpose: 'vote' }, { scope })).to.equal('')
    // Another scope is another nullifier of the same person.
    for (const other of [1n, elsewhere, ofOther, common])
      expect(told({ purpose: 'vote' }, { scope: other })).to.equal('EXPECTATION_PURPOSE')
    expect(told({}, { scope }, 'vote')).to.equal('')
    expect(told({}, { scope })).to.equal('EXPECTATION_PURPOSE')
    expect(reasons({ purpose: 'vote' }, proofOf('token_validation', { purpose: 'vote' }))).to.equal('')
    // Proofs of yesno from before organisations had scopes of their own.
    expect(reasons({ purpose: 'vote' }, proofOf('yesno', { purpose: 'vote' }, { scope: common }))).to.equal(
      '',
    )
  })

  it('is a time of attestation only where an attestor has signed it', () => {
    const seconds = BigInt(NOW / 1000)
    const asked = { max_age_seconds: 60 }
    const statement = { attested_at: Number(seconds) }
    expect(reasons(asked, proofOf('proof_aggregation', statement))).to.equal('')
    expect(reasons(asked, proofOf('kyc', statement, { now: seconds - 60n }))).to.equal('')
    for (const now of [seconds - 61n, seconds + 121n])
      expect(reasons(asked, proofOf('kyc', statement, { now }))).to.equal('EXPECTATION_MAX_AGE_SECONDS')
  })

  it('differs from what is no expectation, which a program may read from anywhere', () => {
    const proof = proofOf('token_validation', {})
    for (const odd of [null, 5, {}])
      expect(reasons({ audience: odd } as unknown as Expectation, proof)).to.equal('EXPECTATION_AUDIENCE')
  })

  it('is a YES without its context only where the circuit asks the question itself', () => {
    const told = (circuitId: string, signals: Readonly<Record<string, bigint>>, statement: object = {}) => {
      const { context, ...bare } = proofOf(circuitId, statement, signals)
      return [context, undefined].map((known) => proofFacts({ ...bare, context: known }).decision)
    }
    expect(told('yesno', { decision: 1n })).to.deep.equal([1, 1])
    // Nothing may have been asked, or a policy may have said NO.
    expect(told('simple_yesno', { decision: 1n })).to.deep.equal([1, null])
    expect(told('simple_yesno', { decision: 1n }, { rules_hash: null })).to.deep.equal([null, null])
    expect(told('kyc', { decision: 1n })).to.deep.equal([1, null])
    expect(told('kyc', { decision: 1n }, { policy_verdict: 'NO' })).to.deep.equal([0, null])
    expect(told('audit_proof', {})).to.deep.equal([1, null])
    for (const circuitId of ['yesno', 'simple_yesno', 'kyc'])
      expect(told(circuitId, { decision: 0n })).to.deep.equal([0, 0])
  })
})
