/** What the service checks natively of what it signed, attested or holds: each check fails alone. */
import { expect } from 'chai'
import { type Caller, systemCaller } from '../../../src/caller.ts'
import { terminalCommitment } from '../../../src/circuits/mappers/terminal-secret.ts'
import type { ProofRecord, ReasonCode, Stated, Statement } from '../../../src/domain/proofs/statement.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  consentSignals,
  foreignIssuer,
  kycSignals,
  tokenSignals,
} from '../../support/circuits/signed-signals.ts'
import { ADULT_INPUTS, generated } from '../../support/domain/proof-api.ts'
import { type Till, terminalTill } from '../../support/domain/tills.ts'
import { rejection } from '../../support/rejection.ts'
import { rotateIssuer } from '../../support/rotation.ts'

const BINDING = { ctx: 11n, scope: 12n, salt: 2n ** 200n }
const KEY_ENDS_MS = 600_000

describe('native checks', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let caller: Caller
  before(async () => {
    app = await startTestApp()
    owner = await app.organisation()
    caller = systemCaller(owner.organisationId, 'test')
  })
  after(() => app.close())

  const now = (): number => app.services.clock.now()

  interface Case {
    readonly publicSignals: readonly string[]
    readonly statement: Stated
  }

  /** What a proof of these inputs shows, and the statement that is kept with it. */
  const caseOf = async (statement: Statement, inputs: unknown): Promise<Case> => {
    const prepared = await statement.prepare(caller, inputs, now())
    const { publicSignals } = prepared.signals({ ...BINDING, now: BigInt(Math.floor(now() / 1000)) })
    return { publicSignals, statement: prepared.statement }
  }
  const check = (statement: Statement, given: Case, at = now()): Promise<readonly ReasonCode[]> =>
    Promise.resolve(statement.check({ caller, record: {} as ProofRecord, now: at, ...given }))
  /** The same with other public signals. */
  const showing = (statement: Statement, given: Case, changes: Readonly<Record<string, bigint>>): Case => ({
    ...given,
    publicSignals: given.publicSignals.map((signal, i) =>
      String(changes[statement.circuit.publicNames[i] ?? ''] ?? signal),
    ),
  })
  const asking = (given: Case, changes: Stated): Case => ({
    ...given,
    statement: { ...given.statement, ...changes },
  })

  /** Once its key has been replaced, what is signed counts to the key's end. */
  const endsWithItsKey = async (statement: Statement, given: Case, code: ReasonCode) => {
    expect(await check(statement, given)).to.deep.equal([])
    await rotateIssuer(app, KEY_ENDS_MS)
    expect(await check(statement, given)).to.deep.equal([])
    expect(await check(statement, given, now() + 2 * KEY_ENDS_MS)).to.deep.equal([code])
  }

  describe('of kyc', () => {
    let statement: Statement
    let good: Case
    before(async () => {
      statement = app.services.proofs.statement('kyc')
      good = await caseOf(statement, await kycSignals(app, caller.organisation))
    })

    it('the issuer’s key counts now', () => endsWithItsKey(statement, good, 'ISSUER_UNKNOWN'))

    it('the issuer’s key is this service’s', async () => {
      const { x, y } = foreignIssuer().point
      expect(await check(statement, showing(statement, good, { issuerX: x, issuerY: y }))).to.deep.equal([
        'ISSUER_UNKNOWN',
      ])
    })

    it('level, birth date and countries are those that were asked', async () => {
      const changes: readonly Stated[] = [
        { minLevel: '2' },
        { latestBirthDate: '20080101' },
        { countries: Array<string>(8).fill('1') },
      ]
      for (const change of changes)
        expect(await check(statement, asking(good, change))).to.deep.equal(['CRITERIA_MISMATCH'])
    })
  })

  describe('of token_validation', () => {
    let statement: Statement
    let good: Case
    before(async () => {
      statement = app.services.proofs.statement('token_validation')
      const inputs = await tokenSignals(app, caller.organisation, { audience: 5n })
      good = await caseOf(statement, { ...inputs, audience: '5' })
    })

    it('the issuer’s key counts now', () => endsWithItsKey(statement, good, 'ISSUER_UNKNOWN'))

    it('the audience is who asked', async () => {
      expect(await check(statement, asking(good, { audience: '6' }))).to.deep.equal(['AUDIENCE_MISMATCH'])
    })
  })

  describe('of consent_verification', () => {
    let statement: Statement
    let good: Case
    before(async () => {
      statement = app.services.proofs.statement('consent_verification')
      good = await caseOf(statement, await consentSignals(app, caller.organisation))
    })

    it('the issuer’s key counts now', () => endsWithItsKey(statement, good, 'ISSUER_UNKNOWN'))

    it('controller and purpose are those that were asked', async () => {
      expect(await check(statement, showing(statement, good, { controller: 1n }))).to.deep.equal([
        'CONTROLLER_MISMATCH',
      ])
      expect(await check(statement, showing(statement, good, { purpose: 1n }))).to.deep.equal([
        'PURPOSE_MISMATCH',
      ])
    })
  })

  describe('of proof_aggregation', () => {
    let statement: Statement
    let good: Case
    before(async () => {
      statement = app.services.proofs.statement('proof_aggregation')
      const proofs = [
        await generated(app, owner.apiKey),
        await generated(app, owner.apiKey, {
          circuit_id: 'yesno',
          inputs: { ...ADULT_INPUTS, data: { age: 12 } },
        }),
      ]
      good = await caseOf(statement, { proofIds: proofs.map(({ proof_id }) => proof_id) })
    })

    it('the attestor’s key counts now', () => endsWithItsKey(statement, good, 'ATTESTOR_UNKNOWN'))

    it('chain and count are those of the members, which are distinct', async () => {
      const [first = null, second = null] = good.statement.members as never[]
      const mismatched: ReasonCode[] = ['MEMBERS_MISMATCH']
      expect(await check(statement, asking(good, { members: [second, first] }))).to.deep.equal(mismatched)
      expect(await check(statement, asking(good, { members: [first] }))).to.deep.equal(mismatched)
      expect(await check(statement, asking(good, { members: [] }))).to.deep.equal(mismatched)
      const twice = { ...good, statement: { members: [first, first] } }
      expect(await check(statement, twice)).to.include('MEMBERS_NOT_DISTINCT')
    })
  })

  describe('of offline_validation', () => {
    let statement: Statement
    let good: Case
    let till: Till
    before(async () => {
      statement = app.services.proofs.statement('offline_validation')
      till = await terminalTill(app, owner)
      const { transactionId: _, ...payment } = till.payment()
      await till.sync([payment])
      good = await caseOf(statement, payment)
    })

    it('hold of what was proved', async () => {
      expect(await check(statement, good)).to.deep.equal([])
    })

    it('the terminal is registered', async () => {
      const commitment = { terminalCommitment: terminalCommitment(5n) }
      expect(await check(statement, showing(statement, good, commitment))).to.deep.equal(['TERMINAL_UNKNOWN'])
    })

    it('the payment is held, in this currency and for this merchant', async () => {
      for (const cardNullifier of [2n ** 247n, 2n ** 250n])
        expect(await check(statement, showing(statement, good, { cardNullifier }))).to.deep.equal([
          'PAYMENT_UNKNOWN',
        ])
      const changes: readonly Stated[] = [{ currency: 'EUR' }, { merchantId: 'mer_other' }]
      for (const change of changes)
        expect(await check(statement, asking(good, change))).to.deep.equal(['PAYMENT_MISMATCH'])
    })

    it('a nullifier that only begins like the held one is another', async () => {
      const at = statement.circuit.publicNames.indexOf('cardNullifier')
      const cardNullifier = BigInt(good.publicSignals[at] ?? '') ^ 1n
      expect(await check(statement, showing(statement, good, { cardNullifier }))).to.deep.equal([
        'PAYMENT_UNKNOWN',
      ])
    })

    it('the payment is within the bounds, and they are those that were asked', async () => {
      const { limit, ...unbound } = good.statement
      const low = showing(statement, { ...good, statement: unbound }, { limit: 1249n })
      expect(await check(statement, low)).to.deep.equal(['PAYMENT_OUT_OF_BOUNDS'])
      expect(await check(statement, asking(low, { limit: String(limit) }))).to.deep.equal([
        'PAYMENT_OUT_OF_BOUNDS',
        'BOUNDS_MISMATCH',
      ])
      expect(await check(statement, showing(statement, good, { to: 2n ** 39n }))).to.deep.equal([
        'BOUNDS_MISMATCH',
      ])
    })
  })

  it('refuse to prove of what another organisation issued, though the service signed it', async () => {
    for (const [statement, inputs] of [
      [app.services.proofs.statement('kyc'), await kycSignals(app, 'org_other')],
      [app.services.proofs.statement('token_validation'), await tokenSignals(app, 'org_other')],
      [app.services.proofs.statement('consent_verification'), await consentSignals(app, 'org_other')],
    ] as const) {
      const error = await rejection(Promise.resolve(statement.prepare(caller, inputs, now())))
      expect(error).to.include({ code: 'not_provable', reason: 'STATEMENT_FALSE' })
      expect(error)
        .to.have.property('message')
        .that.matches(/^Another organisation issued this/)
    }
  })

  it('refuse to prove under a key of another service, whatever is signed', async () => {
    const foreign = foreignIssuer()
    for (const [statement, inputs] of [
      [app.services.proofs.statement('kyc'), await kycSignals(app, caller.organisation, {}, foreign)],
      [
        app.services.proofs.statement('token_validation'),
        await tokenSignals(app, caller.organisation, {}, foreign),
      ],
      [
        app.services.proofs.statement('consent_verification'),
        await consentSignals(app, caller.organisation, {}, foreign),
      ],
    ] as const) {
      const error = await rejection(Promise.resolve(statement.prepare(caller, inputs, now())))
      expect(error).to.include({ code: 'not_provable', reason: 'STATEMENT_FALSE' })
    }
  })
})
