/**
 * What is no answer, of each circuit whose credentials holders keep: refused for the same reason by the service, as a challenge's
 * answer, and by whoever verifies without the service. What is kept of answers is asked of every database, what the proofs themselves are
 * refused for of one.
 */
import { expect } from 'chai'
import { findCircuit } from '../../../src/circuits/catalogue.ts'
import type { CredentialCircuit } from '../../../src/circuits/credential.ts'
import { createHolder } from '../../../src/circuits/holder.ts'
import { WitnessError } from '../../../src/circuits/proving/witness.ts'
import { organisationElement, type ProofContext } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { shippedCircuit } from '../../support/circuits/circuits.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'
import { annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  AGE_QUESTION,
  answerWith,
  challengeRoutesOf,
  type Holding,
  keeperOf,
  type Presented,
  verifyOffline,
  witnessFor,
} from '../../support/domain/presentations.ts'
import { postVerifyProof } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { rejection } from '../../support/rejection.ts'
import { onEmbedded } from '../../support/servers/database.ts'

const START = Date.parse('2026-06-01T12:00:00Z')
const DAY_MS = 86_400_000
/** Whatever is issued here ends after a day, or with the day after. */
const LATER_MS = 3 * DAY_MS
const PURPOSE = 'age-check'

/** A circuit as its issuer and its askers know it. */
interface Kind {
  readonly circuit: CredentialCircuit
  readonly question: object
  /** @param person two credentials of one person are told apart by their secrets */
  issue(person: string): Promise<Holding & { revoke(): Promise<unknown> }>
  /** What the service says once it was revoked. */
  readonly revoked: readonly string[]
  /** Another showing by the same person, which counts no second time. */
  again(person: string, first: Holding): Promise<Holding>
}

/** What differs between what was asked and what was proved. @param other another organisation */
const DIFFERENT: readonly (readonly [
  what: string,
  reason: string,
  changed: (context: ProofContext, other: string) => ProofContext,
])[] = [
  ['another nonce', 'EXPECTATION_NONCE', (context) => ({ ...context, nonce: 'n-other' })],
  ['another audience', 'EXPECTATION_AUDIENCE', (context) => ({ ...context, aud: 'https://other.example' })],
  [
    'another purpose',
    'EXPECTATION_PURPOSE',
    (context) => ({ ...context, statement: { ...(context.statement as object), purpose: 'other' } }),
  ],
  ['another asker', 'EXPECTATION_ORGANISATION', (context, org) => ({ ...context, org })],
]

const given = <C>(credential: C | null | undefined): C => credential ?? expect.fail('there is no credential')

/** Somebody whose passport ends on this day. @param at Unix ms */
const ending = (at: number) => annaWith({ expiresAt: new Date(at).toISOString().slice(0, 10) })

describe('refusals, here and without the service', function () {
  this.timeout(300_000)
  let now = START
  let nonces = 0
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let routes: ReturnType<typeof challengeRoutesOf>
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    issuer = await app.organisation()
    asker = await app.organisation()
    routes = challengeRoutesOf(app, asker.apiKey)
  })
  after(() => app.close())

  const newHolder = () => createHolder({ organisation: issuer.organisationId })
  const kinds: readonly Kind[] = [
    {
      circuit: 'kyc',
      question: AGE_QUESTION,
      revoked: ['CREDENTIAL_REVOKED'],
      async issue(person) {
        const keeper = await keeperOf(app, issuer, person, ending(now + DAY_MS))
        return { ...keeper, revoke: () => kycRoutesOf(app, issuer.apiKey).erase(person) }
      },
      again: (person) => keeperOf(app, issuer, person, ending(now + DAY_MS)),
    },
    {
      circuit: 'token_validation',
      question: { circuit_id: 'token_validation', inputs: {}, purpose: PURPOSE },
      revoked: ['CREDENTIAL_REVOKED'],
      async issue(subject) {
        const holder = newHolder()
        const tokens = tokenRoutesOf(app, issuer.apiKey)
        const { credential, tokenId } = await tokens.issued({ subject, ttl: 86_400, holder: holder.holder })
        return { holder, credential: given(credential), revoke: () => tokens.revoke(tokenId) }
      },
      again: async (_, first) => first,
    },
    {
      circuit: 'consent_verification',
      question: {
        circuit_id: 'consent_verification',
        inputs: { purpose: 'newsletter', controller: CONTROLLER },
        purpose: PURPOSE,
      },
      revoked: ['CONSENT_WITHDRAWN', 'CREDENTIAL_REVOKED'],
      async issue(subjectId) {
        const holder = newHolder()
        const consents = consentRoutesOf(app, issuer.apiKey)
        const { credential, consentId } = await consents.logged({
          subjectId,
          expiresAt: new Date(now + DAY_MS).toISOString(),
          holder: holder.holder,
        })
        return { holder, credential: given(credential), revoke: () => consents.revoke(consentId) }
      },
      again: async (_, first) => first,
    },
  ]

  for (const kind of kinds) {
    const { circuit, question } = kind
    describe(`of ${circuit}`, () => {
      let holding: Awaited<ReturnType<Kind['issue']>>
      let asked: ProofContext
      const ask = (changes: object = {}) =>
        routes.asked({ ...question, issuers: [issuer.organisationId], ...changes })
      before(async () => {
        holding = await kind.issue('anna')
        asked = (await ask()).context
      })
      beforeEach(() => {
        // Lists are published once a minute.
        now += 60_000
      })

      /** What the asker wants to know, without a challenge. */
      const newContext = (): ProofContext => ({
        ...asked,
        nonce: `n-${++nonces}`,
        exp: now / 1000 + 300,
      })
      const expected = ({ aud, nonce }: ProofContext) => ({ audience: aud, purpose: PURPOSE, nonce })
      /** Why both don't take a proof for what is expected. */
      const reasons = async (
        made: Presented,
        context = made.context,
        issuers = [issuer.organisationId],
        seen: readonly string[] = [],
      ) => {
        const wanted = expected(context)
        const { status, body } = await postVerifyProof(app, asker.apiKey, {
          ...made,
          expect: { ...wanted, issuers },
        })
        const offline = await verifyOffline(app, made, {
          issuers,
          expect: { ...wanted, organisation: asker.organisationId },
          seen,
          now,
        })
        expect([status, body.valid, body.verified]).to.deep.equal([
          200,
          offline.valid,
          body.reason_codes.length === 0,
        ])
        expect(offline.verified).to.equal(offline.reasons.length === 0)
        return { here: body.reason_codes, offline: offline.reasons, uses: offline.uses, body }
      }
      /** Why both don't take a proof as an answer to a challenge. */
      const answered = async (
        made: Presented,
        { challenge_id: id, context: challenge }: Awaited<ReturnType<typeof ask>>,
        issuers = [issuer.organisationId],
        seen: readonly string[] = [],
      ) => {
        expect((await routes.answer(id, made)).body).to.deep.equal({ status: 'received' })
        const offline = await verifyOffline(app, made, { issuers, challenge, seen, now })
        const { body } = await routes.find(id)
        return { here: body.reason_codes, offline: offline.reasons, uses: offline.uses, state: body.state }
      }
      const both = (reason: string) => ({ here: [reason], offline: [reason] })

      onEmbedded.it(
        'there is no proof with another holder’s secret, nor for another organisation',
        async () => {
          const context = newContext()
          const other = { ...holding, holder: newHolder() }
          const { credential } = holding
          const moved = { ...holding, credential: { ...credential, organisation: asker.organisationId } }
          const bearer = { ...holding, credential: { ...credential, binding: 'bearer' as const } }
          for (const one of [other, moved, bearer])
            expect(await rejection(answerWith(one, context, now))).to.be.instanceOf(RangeError)
          // Not because the holder's program doesn't want to: the circuit has no witness.
          const { witness } = shippedCircuit(circuit)
          const good = witnessFor(holding, context, now)
          expect((await witness(good))[1]).to.equal(1n)
          for (const [name, value] of [
            ['secret', other.holder.secret],
            ['organisation', organisationElement(asker.organisationId, 'holder')],
            ['organisation', organisationElement(issuer.organisationId, 'bearer')],
          ] as const)
            expect(await rejection(witness({ ...good, [name]: value })), name).to.be.instanceOf(WitnessError)
          // Nor does a proof hold when it is said to be of another.
          const made = await answerWith(holding, context, now)
          const at = findCircuit(circuit)?.publicNames.indexOf('organisation') ?? -1
          const element = String(organisationElement(asker.organisationId, 'holder'))
          const altered = { ...made, public_signals: made.public_signals.with(at, element) }
          expect(await reasons(altered)).to.deep.include(both('PROOF_INVALID'))
          expect(await answered(altered, await ask())).to.deep.include(both('PROOF_INVALID'))
        },
      )

      for (const [what, reason, changed] of DIFFERENT)
        onEmbedded.it(`a proof for ${what} is not one for this`, async () => {
          const context = newContext()
          const other = await answerWith(holding, changed(context, issuer.organisationId), now)
          expect(await reasons(other, context)).to.deep.include(both(reason))
          const challenge = await ask()
          const answer = changed(challenge.context, issuer.organisationId)
          const made = await answerWith(holding, answer, now)
          expect(await answered(made, challenge)).to.deep.include({
            ...both('CHALLENGE_MISMATCH'),
            state: 'open',
          })
        })

      it('an answer to another asker’s challenge is none to one’s own', async () => {
        const other = await app.organisation()
        const theirs = await challengeRoutesOf(app, other.apiKey).asked({
          ...question,
          issuers: [issuer.organisationId],
        })
        const made = await answerWith(holding, theirs.context, now)
        expect(await answered(made, await ask())).to.deep.include(both('CHALLENGE_MISMATCH'))
        expect(await reasons(made)).to.deep.include(both('EXPECTATION_ORGANISATION'))
      })

      onEmbedded.it('nobody is vouched for by an issuer of whom the asker didn’t ask', async () => {
        const made = await answerWith(holding, newContext(), now)
        const own = [asker.organisationId]
        expect(await reasons(made, made.context, own)).to.deep.include(both('ISSUER_NOT_ACCEPTED'))
        const challenge = await ask({ issuers: own })
        const answer = await answerWith(holding, challenge.context, now)
        expect(await answered(answer, challenge, own)).to.deep.include(both('ISSUER_NOT_ACCEPTED'))
      })

      onEmbedded.it('what was asked for a while can’t be shown later', async () => {
        const context = newContext()
        const challenge = await ask()
        now += 300_000
        const late = await answerWith(holding, context, now)
        expect(await reasons(late)).to.deep.include(both('EXPIRED'))
        const { challenge_id: id, context: over } = challenge
        const answer = await answerWith(holding, over, now)
        expect((await routes.answer(id, answer)).body.reason).to.equal('CHALLENGE_EXPIRED')
        const offline = await verifyOffline(app, answer, {
          issuers: [issuer.organisationId],
          challenge: over,
          now,
        })
        expect(offline.reasons).to.deep.equal(['EXPIRED'])
      })

      it('what was revoked is refused here at once, and elsewhere by the next list', async () => {
        const revoked = await kind.issue('revoked')
        const challenge = await ask()
        const [made, answer] = [
          await answerWith(revoked, newContext(), now),
          await answerWith(revoked, challenge.context, now),
        ]
        // A list of now, which says nothing yet.
        expect(await reasons(made)).to.deep.include({ here: [], offline: [] })
        await revoked.revoke()
        expect(await reasons(made)).to.deep.include({ here: kind.revoked, offline: [] })
        now += 60_000
        const refused = { here: kind.revoked, offline: ['CREDENTIAL_REVOKED'] }
        expect(await reasons(made)).to.deep.include(refused)
        expect(await answered(answer, challenge)).to.deep.include({ ...refused, state: 'open' })
      })

      it('an answer counts once', async () => {
        const challenge = await ask()
        const made = await answerWith(holding, challenge.context, now)
        const first = await answered(made, challenge)
        expect(first).to.deep.include({ here: [], offline: [], state: 'verified' })
        const { body } = await routes.answer(challenge.challenge_id, made)
        expect(body.reason).to.equal('CHALLENGE_ANSWERED')
        const { context, ...bare } = made
        const again = await reasons({ ...bare, context }, context, undefined, first.uses)
        expect(again).to.deep.include(both('CHALLENGE_ANSWERED'))
      })

      it('what is spent is spent, with whatever secret it is shown again', async () => {
        const first = await kind.issue('twice')
        const challenge = await ask()
        const made = await answerWith(first, challenge.context, now)
        const { uses } = await answered(made, challenge)
        const { proof, public_signals } = made
        const spent = await postVerifyProof(app, asker.apiKey, {
          proof_id: challenge.proof_id,
          proof,
          public_signals,
          consume: true,
        })
        expect(spent.body).to.include({ verified: true, consumed: true })
        const second = await kind.again('twice', first)
        const other = await answerWith(second, newContext(), now)
        expect(await reasons(other, other.context, undefined, uses)).to.deep.include(both('DOUBLE_SPEND'))
        const { status, body } = await postVerifyProof(app, asker.apiKey, {
          ...other,
          expect: { ...expected(other.context), issuers: [issuer.organisationId] },
          consume: true,
        })
        expect([status, body.error]).to.deep.equal([409, 'double_spend'])
        const next = await ask()
        const answer = await answerWith(second, next.context, now)
        expect(await answered(answer, next, undefined, uses)).to.deep.include({
          ...both('DOUBLE_SPEND'),
          state: 'open',
        })
      })

      if (circuit === 'kyc')
        it('somebody who was not asked to be one person counts again', async () => {
          const challenge = await ask({ unique: false })
          const made = await answerWith(holding, challenge.context, now)
          const { uses } = await answered(made, challenge)
          const next = await ask({ unique: false })
          const again = await answerWith(await kind.again('anna', holding), next.context, now)
          expect(await answered(again, next, undefined, uses)).to.deep.include({
            here: [],
            offline: [],
            state: 'verified',
          })
        })

      onEmbedded.it('what has run out answers NO', async () => {
        const brief = await kind.issue('brief')
        now += LATER_MS
        const made = await answerWith(brief, newContext(), now)
        const { body, ...told } = await reasons(made)
        expect(told).to.deep.include({ here: [], offline: [] })
        expect(body.decision).to.equal(0)
        const wanted = { ...expected(made.context), decision: 1 as const }
        const issuers = [issuer.organisationId]
        const { body: refused } = await postVerifyProof(app, asker.apiKey, {
          ...made,
          expect: { ...wanted, issuers },
        })
        const asYes = { ...wanted, organisation: asker.organisationId }
        const offline = await verifyOffline(app, made, { issuers, expect: asYes, now })
        expect(both('EXPECTATION_DECISION')).to.deep.equal({
          here: refused.reason_codes,
          offline: offline.reasons,
        })
        const challenge = await ask()
        const answer = await answered(await answerWith(brief, challenge.context, now), challenge)
        expect(answer).to.deep.include({ here: [], offline: [], state: 'verified' })
        const { result } = (await routes.find(challenge.challenge_id)).body
        expect(result).to.include({ decision: 0 })
      })
    })
  }
})
