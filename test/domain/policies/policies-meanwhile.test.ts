/** Policies that are replaced between a decision and its commit: what is recorded and signed is by the one in force. */
import { expect } from 'chai'
import type { PolicyRule } from '../../../src/domain/policies/schemas.ts'
import {
  type DecisionAnswer,
  DecisionRequest,
  type EvaluationsAnswer,
} from '../../../src/domain/policies/schemas-decisions.ts'
import { createPolicies } from '../../../src/domain/policies/service.ts'
import { bodyCheck } from '../../../src/http/input/validation.ts'
import { createRecent } from '../../../src/store/recent.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { putPolicy } from '../../support/domain/eligibility.ts'
import { callerOf } from '../../support/ledger.ts'
import { precede } from '../../support/precede.ts'
import type { Failure } from '../../support/verification.ts'

const PERMIT: PolicyRule = {
  effect: 'permit',
  rules: [{ field: 'context.amount', op: 'lte', value: 100 }],
}
const asks = (type: string) => ({
  subject: { type: 'user', id: 'ada' },
  action: { name: 'pay' },
  resource: { type, id: 'A-1' },
  context: { amount: 5 },
})

describe('policies that are replaced while they decide', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    await put('default', [PERMIT])
  })
  const put = (id: string, rules: readonly PolicyRule[]) => putPolicy(app, owner.apiKey, id, rules)
  /** What the log says of policies and their decisions, in its order. */
  const logged = async (): Promise<string[]> => {
    const entries: string[] = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .orderBy('idx')
      .pluck('entry')
    return entries
      .map((entry) => JSON.parse(entry).data)
      .filter(({ event }) => event.startsWith('policy.'))
      .map(({ event, policy, version, decision }) =>
        [event, policy, version, ...(decision === undefined ? [] : [decision])].join(' '),
      )
  }
  const post = async <T>(path: string, body: object): Promise<T> => {
    const { status, body: answer } = await app.request<T & Failure>('POST', path, { key: owner.apiKey, body })
    expect(status, JSON.stringify(answer)).to.equal(200)
    return answer
  }
  const said = ({ decision, context }: DecisionAnswer) => [decision, context.policy, context.policy_version]
  /** What is written on the way to the ledger, what is decided then, and what the log has of it. */
  const changes = [
    ['default', [], [false, 'default', 2]],
    ['order', [PERMIT], [true, 'order', 1]],
    ['order', [], [false, 'order', 2]],
  ] as const

  it('judge a question again', async () => {
    const expected = ['policy.replaced default 1']
    for (const [id, rules, [decision, policy, version]] of changes) {
      precede(app.services.ledger, 'append', () => put(id, rules))
      const answer = await post<DecisionAnswer>('/access/v1/evaluation', asks('order'))
      expect(said(answer)).to.deep.equal([decision, policy, version])
      expected.push(`policy.replaced ${policy} ${version}`, `policy.decided ${policy} ${version} ${decision}`)
    }
    expect(await logged()).to.deep.equal(expected)
  })

  it('judge several again, of which none was recorded', async () => {
    await put('refund', [PERMIT])
    await put('yesno', [PERMIT])
    for (const [id, rules, expected] of changes) {
      const before = (await logged()).length
      precede(app.services.ledger, 'append', () => put(id, rules))
      const evaluations = ['refund', 'order/1', 'yesno', 'order'].map(asks)
      const answer = await post<EvaluationsAnswer>('/access/v1/evaluations', { evaluations })
      const decided = answer.evaluations as DecisionAnswer[]
      expect(decided.map(({ decision }) => decision)).to.deep.equal([true, false, true, expected[0]])
      expect(said(decided[3] as DecisionAnswer)).to.deep.equal(expected)
      expect((await logged()).slice(before)).to.have.length(1 + evaluations.length)
    }
  })

  it('are recorded once under an Idempotency-Key, with the answer of the one in force', async () => {
    const ask = () =>
      app.request<DecisionAnswer>('POST', '/access/v1/evaluation', {
        key: owner.apiKey,
        headers: { 'idempotency-key': 'once' },
        body: asks('order'),
      })
    precede(app.services.ledger, 'append', () => put('default', []))
    const [first, second] = [await ask(), await ask()]
    expect(said(first.body)).to.deep.equal([false, 'default', 2])
    expect([second.body, second.headers.get('idempotency-replayed')]).to.deep.equal([first.body, 'true'])
    expect((await logged()).slice(1)).to.deep.equal([
      'policy.replaced default 2',
      'policy.decided default 2 false',
    ])
  })

  it('decide no more on a server that has not heard of it', async () => {
    const { clock } = app.services
    const elsewhere = createPolicies({
      ...app.services,
      baseUrl: app.url,
      checkEvaluation: bodyCheck(DecisionRequest),
      openRecent: ({ ttlMs, maxEntries, load }) => createRecent({ ttlMs, maxEntries, load, clock }),
    })
    const decide = async () => said(await elsewhere.decide(callerOf(owner.organisationId), asks('order')))
    expect(await decide()).to.deep.equal([true, 'default', 1])
    await put('default', [])
    expect(await decide()).to.deep.equal([false, 'default', 2])
    await put('order', [PERMIT])
    expect(await decide()).to.deep.equal([true, 'order', 1])
    await put('order', [])
    await put('order', [PERMIT])
    await put('order', [])
    expect(await decide()).to.deep.equal([false, 'order', 4])
  })

  it('are given up where they are replaced again and again', async () => {
    const { ledger } = app.services
    const { append } = ledger
    let written = 0
    const replacing: typeof append = async (caller, decide) => {
      ledger.append = append
      await put('default', written++ % 2 === 0 ? [] : [PERMIT])
      ledger.append = replacing
      return append(caller, decide)
    }
    ledger.append = replacing
    try {
      const { status, body } = await app.request<Failure>('POST', '/access/v1/evaluation', {
        key: owner.apiKey,
        body: asks('order'),
      })
      expect([status, body.error]).to.deep.equal([503, 'unavailable'])
    } finally {
      ledger.append = append
    }
    expect((await logged()).filter((line) => line.startsWith('policy.decided'))).to.deep.equal([])
  })
})
