/** Tickets through the app. */
import type { BatchOutcomes, TicketIssued } from '../../../src/domain/tickets/schemas.ts'
import type { RequestOptions, TestResponse } from '../app.ts'
import type { Failure } from './tokens.ts'

/** Whatever sends requests: an app of this process, or one of several servers. */
export interface Requester {
  request(method: string, path: string, options?: RequestOptions): Promise<{ status: number; body: unknown }>
}

type Answer<T> = Promise<Pick<TestResponse<T & Failure & { digest?: string }>, 'status' | 'body'>>

/** The ticket routes as one organisation calls them. */
export const ticketRoutesOf = (app: Requester, key: string) => {
  const post = <T>(path: string, body: object, headers: RequestOptions['headers'] = {}): Answer<T> =>
    app.request('POST', path, { key, body, headers }) as Answer<T>
  return {
    issue: (body: object) => post<TicketIssued>('/v1/qr/tickets', body),
    handIn: (proofs: readonly unknown[], headers?: RequestOptions['headers']) =>
      post<BatchOutcomes>('/v1/qr/proofs/batch', { proofs }, headers),
    /** @throws Error unless it answers 201 */
    async issued(body: object = {}): Promise<TicketIssued> {
      const answer = await post<TicketIssued>('/v1/qr/tickets', body)
      if (answer.status !== 201) throw new Error(`no ticket: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body
    },
  }
}
