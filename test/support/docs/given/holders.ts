/** docs/holders.md: a person who keeps a credential of some issuer answers a challenge with it. */
import { expect } from 'chai'
import { createHolder, exportHolder } from '../../../../src/circuits/holder.ts'
import type { Answer, AskedContext, Proved } from '../../../../src/circuits/proving/proving.ts'
import { get, issuedTo, organisationId, post, service } from '../reader.ts'

interface Request {
  readonly context: AskedContext
  readonly answer_url: string
}

export const passphrase = 'correct horse battery staple'
const kept = createHolder({ organisation: organisationId })
const credential = await issuedTo(kept)
export const text = await exportHolder(kept, passphrase, [credential])

const { challenge_id, request_url } = await post<Record<'challenge_id' | 'request_url', string>>(
  '/v1/proofs/challenge',
  {
    circuit_id: 'kyc',
    inputs: { minLevel: 'basic', minAge: 18 },
    purpose: 'age-check',
  },
)
export const request = await get<Request>(new URL(request_url).pathname)

export const checks = [
  async ({ answer, proof, publicSignals }: { answer: Answer } & Proved) => {
    expect(answer.decision).to.equal(true)
    const path = request.answer_url.replace(service, '')
    const body = { proof, public_signals: publicSignals }
    await post(path, body)
    expect(await get(`/v1/proofs/challenge/${challenge_id}`)).to.include({ state: 'verified' })
  },
] as const
