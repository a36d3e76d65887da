/** Credentials that somebody signed with a key of their own: their fields may be anything, and are told as what they are. */
import { expect } from 'chai'
import type { Credential } from '../../../src/circuits/credential.ts'
import { kycMessage } from '../../../src/circuits/issuer-signature.ts'
import { FIELD_MODULUS } from '../../../src/core/field.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { foreignIssuer } from '../../support/circuits/signed-signals.ts'
import {
  AGE_QUESTION,
  answerWith,
  challengeRoutesOf,
  type Keeper,
  keeperOf,
  verifyOffline,
} from '../../support/domain/presentations.ts'
import { postVerifyProof } from '../../support/domain/proof-api.ts'

/** No list has them: between two lists, and beyond what numbers, columns and the field's neighbours hold. */
const NO_STATUS = [200_000n, 2n ** 53n, 2n ** 64n + 1n, 2n ** 100n, FIELD_MODULUS - 1n]

describe('proofs of what a foreign issuer signed', function () {
  this.timeout(60_000)
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let keeper: Keeper
  before(async () => {
    app = await sharedApp()
    issuer = await app.organisation()
    asker = await app.organisation()
    keeper = await keeperOf(app, issuer)
  })

  const signedWith = (status: bigint) => {
    const { point, sign } = foreignIssuer()
    const credential = keeper.credential as Credential<'kyc'>
    const fields = { ...credential.fields, status: String(status) } as Record<string, string>
    const values = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, BigInt(text)]))
    const { r8x, r8y, s } = sign(kycMessage(values as unknown as Parameters<typeof kycMessage>[0]))
    const signature = { r8x, r8y, s, issuerX: point.x, issuerY: point.y }
    const texts = Object.entries(signature).map(([name, value]) => [name, String(value)])
    return { ...keeper, credential: { ...credential, fields, signature: Object.fromEntries(texts) } }
  }

  for (const status of NO_STATUS)
    it(`are refused with the status ${status}, by the service as without it`, async () => {
      const routes = challengeRoutesOf(app, asker.apiKey)
      const issuers = [issuer.organisationId]
      const { challenge_id, context } = await routes.asked({ ...AGE_QUESTION, issuers })
      const now = Date.now()
      const made = await answerWith(signedWith(status), context, now)
      expect((await routes.answer(challenge_id, made)).body).to.deep.equal({ status: 'received' })
      const { body } = await routes.find(challenge_id)
      expect(body).to.deep.include({
        state: 'open',
        reason_codes: ['ISSUER_UNKNOWN', 'STATUS_UNDISCLOSED'],
      })
      const presented = await postVerifyProof(app, asker.apiKey, made)
      expect([presented.status, presented.body.valid, presented.body.verified]).to.deep.equal([
        200,
        true,
        false,
      ])
      const offline = await verifyOffline(app, made, { issuers, challenge: context, now })
      expect(offline.reasons).to.deep.equal(['ISSUER_UNKNOWN', 'STATUS_LIST_OTHER'])
    })
})
