/** Requests about people who are screened again. */
import { expect } from 'chai'
import type {
  Decide,
  Finding,
  FindingPage,
  ScreeningProgress,
  Subscribe,
  Subscription,
} from '../../../src/domain/aml/schemas-subscriptions.ts'
import type { Client } from '../client.ts'
import { eventually } from '../eventually.ts'

/** Somebody on a list. */
export interface Listed {
  readonly id: string
  readonly name: string
  readonly birthDate?: string
  readonly country?: string
  /** What for; default: sanctions. */
  readonly topics?: readonly string[]
}

const line = ({ id, name, birthDate, country, topics = ['sanction'] }: Listed): string =>
  JSON.stringify({
    id,
    schema: 'Person',
    properties: {
      name: [name],
      topics,
      ...(birthDate !== undefined && { birthDate: [birthDate] }),
      ...(country !== undefined && { country: [country] }),
    },
  })

/** A list of them, in the form of OpenSanctions. */
export const listedText = (listed: readonly Listed[]): string => listed.map(line).join('\n')

type Asked = Omit<Subscribe, 'checkTypes'> & { readonly checkTypes?: string[] }

/** @param adminKey for changes of the lists */
export const screeningRoutesOf = (app: Client & { readonly adminKey: string }, key: string) => {
  const subscribe = (body: Asked, headers: Readonly<Record<string, string>> = {}) =>
    app.request<Subscription>('POST', '/api/aml/subscriptions', {
      key,
      headers,
      body: { checkTypes: ['sanctions'], ...body },
    })
  const decide = (findingId: string, body: Decide, headers: Readonly<Record<string, string>> = {}) =>
    app.request<Finding>('POST', `/api/aml/findings/${findingId}/decision`, { key, headers, body })
  const progress = async () => {
    const answer = await app.request<ScreeningProgress>('GET', '/console/api/screening', { key })
    expect(answer.status).to.equal(200)
    return answer.body
  }
  return {
    subscribe,
    async subscribed(body: Asked): Promise<Subscription> {
      const answer = await subscribe(body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
      return answer.body
    },
    get: (userId: string) => app.request<Subscription>('GET', `/api/aml/subscriptions/${userId}`, { key }),
    end: (userId: string) => app.request('DELETE', `/api/aml/subscriptions/${userId}`, { key }),
    async findings(query: Readonly<Record<string, string>>): Promise<FindingPage> {
      const answer = await app.request<FindingPage>(
        'GET',
        `/api/aml/findings?${new URLSearchParams(query)}`,
        { key },
      )
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    },
    decide,
    async decided(findingId: string, body: Decide): Promise<Finding> {
      const answer = await decide(findingId, body)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body
    },
    progress,
    /** Replaces the list `own`. */
    async upload(listed: readonly Listed[]): Promise<void> {
      const files = [{ name: 'own.ftm.json', content: listedText(listed) }]
      const body = { action: 'upload', listId: 'own', format: 'opensanctions', files, acceptLoss: true }
      const answer = await app.request('POST', '/console/api/lists', { key: app.adminKey, body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    },
    /** Once everybody was screened against the newest lists. */
    settled: (patienceMs = 20_000) =>
      eventually('everybody is screened again', async () => (await progress()).behind === 0, {
        pauseMs: 20,
        patienceMs,
      }),
  }
}
