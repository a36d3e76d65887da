/** Consents as of a moment: what held then, and against a slow reference that goes through the events one by one. */
import { expect } from 'chai'
import fc from 'fast-check'
import { systemCaller } from '../../../src/caller.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'

const PURPOSES = ['a', 'b', 'c'] as const
const STEP_MS = 1000
const HISTORIES = 8

type Step =
  | {
      readonly kind: 'log'
      readonly purposes: readonly string[]
      readonly refused: boolean
      readonly ttl: number
    }
  | { readonly kind: 'revoke'; readonly which: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('log' as const),
      purposes: fc.subarray([...PURPOSES], { minLength: 1 }),
      refused: fc.boolean(),
      ttl: fc.integer({ min: 0, max: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('revoke' as const), which: fc.nat({ max: 5 }) }) },
)

interface Record {
  readonly at: number
  readonly purposes: readonly string[]
  readonly refused: boolean
  readonly expiresAt: number | null
  withdrawnAt: number | null
}

/** What the newest record that names the purpose says at a moment, gone through one by one. */
const heldAt = (records: readonly Record[], purpose: string, at: number): string => {
  let held = 'no_consent'
  for (const record of records) {
    if (record.at > at || !record.purposes.includes(purpose)) continue
    if (record.withdrawnAt !== null && record.withdrawnAt <= at) held = 'withdrawn'
    else if (record.expiresAt !== null && record.expiresAt <= at) held = 'expired'
    else held = record.refused ? 'refused' : 'given'
  }
  return held
}

describe('consents as of a moment', function () {
  this.timeout(60_000)
  let now = Date.parse('2026-01-01T00:00:00.000Z')
  let app: TestApp
  let organisationId: string
  let consents: ReturnType<typeof consentRoutesOf>
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    const owner = await app.organisation()
    organisationId = owner.organisationId
    consents = consentRoutesOf(app, owner.apiKey)
  })
  after(() => app.close())
  const at = (ms: number) => new Date(ms).toISOString()

  it('expire at their millisecond and not before, in their history too', async () => {
    const recordedAt = now
    const { consentId } = await consents.logged({ expiresAt: at(now + 60_000) })
    const ask = { subjectId: 'ada', purpose: 'newsletter' }
    now += 59_999
    expect((await consents.verify(ask)).body).to.deep.include({
      valid: true,
      expiresAt: at(recordedAt + 60_000),
    })
    expect((await consents.status(consentId)).body.history).to.have.length(1)
    now += 1
    expect(await consents.reason(ask)).to.equal('expired')
    expect(await consents.reason({ ...ask, at: at(now - 1) })).to.equal(undefined)
    const { body } = await consents.status(consentId)
    expect([body.status, body.history.at(-1)]).to.deep.equal([
      'expired',
      { status: 'expired', at: at(now), purposes: ['newsletter'] },
    ])
    await consents.revoke(consentId)
    expect((await consents.status(consentId)).body.status).to.equal('withdrawn')
    expect(await consents.reason({ ...ask, at: at(now - 1) })).to.equal(undefined)
  })

  it('answer a repeated request as the first one, also once they are over', async () => {
    const headers = { 'idempotency-key': 'lasts-a-minute' }
    const body = { subjectId: 'joan', expiresAt: at(now + 60_000) }
    const entries = () =>
      app.services.database.knex('ledger_entries').where({ organisation: organisationId }).select('idx')
    const first = await consents.log(body, headers)
    const before = await entries()
    now += 61_000
    const again = await consents.log(body, headers)
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
    expect(again.body).to.deep.equal(first.body)
    expect(await entries()).to.deep.equal(before)
    expect((await consents.log(body)).status).to.equal(422)
  })

  it('answer for the past as of then, and for nothing before they were recorded', async () => {
    const subjectId = 'grace'
    const times = [now]
    const { consentId } = await consents.logged({ subjectId })
    now += STEP_MS
    times.push(now)
    await consents.revoke(consentId)
    now += STEP_MS
    times.push(now)
    await consents.logged({ subjectId, status: 'refused' })
    const ask = { subjectId, purpose: 'newsletter' }
    const [given = 0, withdrawn = 0, refused = 0] = times
    expect(await consents.reason({ ...ask, at: at(given - 1) })).to.equal('no_consent')
    expect(await consents.reason({ consentId, at: at(given - 1) })).to.equal('no_consent')
    expect(await consents.reason({ ...ask, at: at(given) })).to.equal(undefined)
    expect(await consents.reason({ ...ask, at: at(withdrawn - 1) })).to.equal(undefined)
    expect(await consents.reason({ ...ask, at: at(withdrawn) })).to.equal('withdrawn')
    expect(await consents.reason({ ...ask, at: at(refused) })).to.equal('refused')
    expect(await consents.reason(ask)).to.equal('refused')
  })

  it('are told as they are committed by a server whose clock is behind that of the one that recorded it', async () => {
    const behindMs = 3000
    const subjectId = 'hedy'
    const ask = { subjectId, purpose: 'newsletter' }
    const atFirst = await consents.logged({ subjectId })
    now -= behindMs
    expect(await consents.reason(ask)).to.equal(undefined)
    now += behindMs + STEP_MS
    await consents.logged({ subjectId, status: 'refused' })
    now -= behindMs
    expect(await consents.reason(ask)).to.equal('refused')
    expect(await consents.reason({ consentId: atFirst.consentId })).to.equal('superseded')
    now += behindMs + STEP_MS
    const { consentId } = await consents.logged({ subjectId })
    await consents.revoke(consentId)
    now -= behindMs
    for (const body of [ask, { consentId }]) expect(await consents.reason(body)).to.equal('withdrawn')
    const { body } = await consents.status(consentId)
    expect([body.status, body.history.length]).to.deep.equal(['withdrawn', 2])
    const asked = { consent: { consentId }, purpose: 'newsletter' }
    const found = await app.services.consents.forCircuit(systemCaller(organisationId, 'test'), asked)
    expect(found).to.deep.equal({ refused: 'withdrawn' })
    now += behindMs + STEP_MS
  })

  it('agree with a reference that goes through every event', async () => {
    let person = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const subjectId = `person-${person++}`
        const records: Record[] = []
        const ids: string[] = []
        const start = now
        for (const one of steps) {
          now += STEP_MS
          if (one.kind === 'log') {
            const expiresAt = one.ttl === 0 ? null : now + one.ttl * STEP_MS
            const { consentId, version } = await consents.logged({
              subjectId,
              purposes: one.purposes,
              status: one.refused ? 'refused' : 'given',
              ...(expiresAt !== null && { expiresAt: at(expiresAt) }),
            })
            ids.push(consentId)
            records.push({
              at: now,
              purposes: one.purposes,
              refused: one.refused,
              expiresAt,
              withdrawnAt: null,
            })
            expect(version).to.equal(ids.length)
          } else {
            const index = one.which % Math.max(ids.length, 1)
            const [id, record] = [ids[index], records[index]]
            if (id === undefined || record === undefined) continue
            await consents.revoke(id)
            record.withdrawnAt ??= now
          }
        }
        for (let moment = start; moment <= now; moment += STEP_MS) {
          const asked = PURPOSES.map((purpose) =>
            consents.reason({ subjectId, purpose, controller: CONTROLLER, at: at(moment) }),
          )
          const held = PURPOSES.map((purpose) => heldAt(records, purpose, moment))
          const said = (await Promise.all(asked)).map((reason) => reason ?? 'given')
          expect(said, `at ${moment - start}`).to.deep.equal(held)
        }
      }),
      { numRuns: HISTORIES },
    )
  })
})
