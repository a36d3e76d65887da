/** What examples of the circuit routes need to exist. */
import { systemCaller } from '../../src/caller.ts'
import { consentMessage } from '../../src/circuits/issuer-signature.ts'
import { type HybridTokenTerms, hybridTokenCommitment } from '../../src/circuits/quantum_safe_token.ts'
import type { TestApp, TestOrganisation } from './app.ts'
import { terminalTill } from './tills.ts'
import { signedResult } from './verification.ts'

/** The consent in the example of consent-verification, as it is signed for it. */
const EXAMPLE_CONSENT = {
  subject: 1001n,
  secret: 340282366920938463463374607431768211456n,
  controller: 2002n,
  purposes: [3003n, ...Array<bigint>(7).fill(0n)],
  from: 0n,
  to: 4102444800n,
}

/** The hybrid token in the example of quantum-safe-token. */
const EXAMPLE_TOKEN: HybridTokenTerms = {
  tokenDigest: 4004n,
  decision: 1n,
  exp: 4102444800n,
  policyBits: 3n,
  salt: 340282366920938463463374607431768211456n,
}

const hexElement = (element: bigint): string => element.toString(16).padStart(64, '0')

/** Logs a hybrid token as whoever issues one does. @returns the index of its entry */
export const logHybridToken = (
  { services }: TestApp,
  organisation: string,
  token: HybridTokenTerms,
): Promise<number> =>
  services.ledger.append(systemCaller(organisation, 'test'), {
    entry: { type: 'hybrid_token', commitment: hexElement(hybridTokenCommitment(token)), data: {} },
    result: ({ index }) => index,
  })

export const makeConsentSignature = async ({ services }: TestApp) => {
  const { sign } = await services.issuer.current()
  const { r8x, r8y, s } = sign(consentMessage(EXAMPLE_CONSENT))
  return { consentR8x: String(r8x), consentR8y: String(r8y), consentS: String(s) }
}

export const makeLoggedDigest = async (app: TestApp, { apiKey }: TestOrganisation) => ({
  loggedDigest: (await signedResult(app, apiKey)).digest,
})

export const makeHybridEntry = async (app: TestApp, { organisationId }: TestOrganisation) => ({
  hybridEntryNumber: String(await logHybridToken(app, organisationId, EXAMPLE_TOKEN)),
})

export const makePayment = async (app: TestApp, owner: TestOrganisation) => {
  const till = await terminalTill(app, owner)
  const payment = till.payment()
  await till.sync([payment])
  return { proofData: payment.proofData, paymentTime: new Date(payment.timestamp).toISOString() }
}
