/** docs/proving.md: a terminal proves a payment, a holder a credential; a shop verifies without the service. */
import { expect } from 'chai'
import {
  answerOf,
  createHolder,
  type ExpectedStatusList,
  fetchCircuitFiles,
  type Proved,
  proveAnswer,
  readStatusList,
  type VerifiedPresentation,
  type VerifyOptions,
  verifyProof,
} from '../../../../src/circuits/proving/proving.ts'
import { createTerminal as openTerminal } from '../../../../src/terminal/index.ts'
import { memoryStorage } from '../../../../src/terminal/storage/storage.ts'
import { createTerminal, get, issuedTo, key, organisationId, PERSON, service } from '../reader.ts'

export { key, organisationId }

const NOBODY = 'http://127.0.0.1:9'

export const { terminalId, terminalSecret, merchantId, apiKey } = await createTerminal()
const terminal = await openTerminal({
  baseUrl: NOBODY,
  apiKey,
  merchantId,
  terminalId,
  terminalSecret,
  storage: memoryStorage(),
})
await terminal.pay({ cardToken: 'tok_1', amount: 12.5 })
export const payment = terminal.pending().transactions[0]!
await terminal.close()

export const data = PERSON
export const passphrase = 'correct horse battery staple'
export const purpose = 'age-check'
export const aud = 'https://shop.example'
export const org = organisationId
export const nonce = 'n-0001'
export const circuit_id = 'kyc'
export const context = {
  aud,
  org,
  circuit: circuit_id,
  statement: {
    minLevel: '1',
    latestBirthDate: '20071231',
    countries: Array.from({ length: 8 }, () => '0'),
    unique: '1',
    disclose: '1',
    purpose,
  },
  nonce,
  exp: Math.floor(Date.now() / 1000) + 300,
}

export const verificationKey = await get<VerifyOptions['keys']['circuit']>('/api/circuits/kyc/vkey')
export const issuerKeys = await get<VerifyOptions['keys']['issuer']>('/.well-known/issuer-keys')
const now = Math.floor(Date.now() / 1000)
const keeper = createHolder({ organisation: organisationId })
const answer = answerOf(await issuedTo(keeper), keeper.secret, context, BigInt(now))
const made = await proveAnswer(answer, await fetchCircuitFiles(service, circuit_id))
export const { proof } = made
export const public_signals = made.publicSignals
const jwks = await get<ExpectedStatusList['keys']>('/.well-known/jwks.json')
const read = await readStatusList(await get<string>('/status/0'), {
  keys: jwks,
  issuer: service,
  list: 0,
  now,
})
if ('reason' in read) throw new Error(read.reason)
export const { statusList } = read
export const seen = new Set<string>()

export const checks = [
  ({ verified, decision, reasons, issuer, binding }: Omit<VerifiedPresentation, 'valid' | 'digest'>) => {
    expect({ verified, decision, reasons, issuer, binding }).to.deep.equal({
      verified: true,
      decision: 1,
      reasons: [],
      issuer: organisationId,
      binding: 'holder',
    })
  },
  ({ valid }: { valid: boolean }) => {
    expect(valid).to.equal(true)
  },
  async ({ proof, publicSignals }: Proved) => {
    const presented = { circuit_id, proof, public_signals: publicSignals, context }
    const { reasons } = await verifyProof(presented, {
      keys: { circuit: verificationKey, issuer: issuerKeys },
      issuers: [organisationId],
      expect: { audience: aud, organisation: org, purpose, nonce },
      statusList,
    })
    expect(reasons).to.deep.equal([])
  },
] as const
