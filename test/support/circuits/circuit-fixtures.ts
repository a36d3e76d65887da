/** What examples of the circuit routes need to exist. */
import { systemCaller } from '../../../src/caller.ts'
import {
  type HybridTokenTerms,
  hybridTokenCommitment,
} from '../../../src/circuits/mappers/quantum_safe_token.ts'
import type { TestApp, TestOrganisation } from '../app.ts'
import { terminalTill } from '../domain/tills.ts'
import { signedResult } from '../verification.ts'

const hexElement = (element: bigint): string => element.toString(16).padStart(64, '0')

/** Logs a hybrid token as whoever issues one does. @returns the index of its entry */
export const logHybridToken = (
  { services }: TestApp,
  organisation: string,
  token: HybridTokenTerms,
): Promise<number> =>
  services.ledger.append(
    systemCaller(organisation, 'test'),
    (tx) =>
      tx.append({ type: 'hybrid_token', commitment: hexElement(hybridTokenCommitment(token)), data: {} })
        .index,
  )

export const makeLoggedDigest = async (app: TestApp, { apiKey }: TestOrganisation) => ({
  loggedDigest: (await signedResult(app, apiKey)).digest,
})

export const makePayment = async (app: TestApp, owner: TestOrganisation) => {
  const till = await terminalTill(app, owner)
  const payment = till.payment()
  await till.sync([payment])
  return { proofData: payment.proofData, paymentTime: new Date(payment.timestamp).toISOString() }
}
