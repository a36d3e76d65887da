/** Tickets through the app. */
import type { BatchOutcomes, TicketIssued } from '../../../src/domain/tickets/schemas.ts'
import { type Client, demandSuccess, type RequestOptions, type TestResponse } from '../client.ts'
import type { Failure } from './tokens.ts'

type Answer<T> = Promise<TestResponse<T & Failure & { digest?: string }>>

/** The ticket routes as one organisation calls them. */
export const ticketRoutesOf = (app: Client, key: string) => {
  const post = <T>(path: string, body: object, headers: RequestOptions['headers'] = {}): Answer<T> =>
    app.request('POST', path, { key, body, headers })
  return {
    issue: (body: object) => post<TicketIssued>('/v1/qr/tickets', body),
    handIn: (proofs: readonly unknown[], headers?: RequestOptions['headers']) =>
      post<BatchOutcomes>('/v1/qr/proofs/batch', { proofs }, headers),
    /** @throws Error unless it answers 201 */
    async issued(body: object = {}): Promise<TicketIssued> {
      return demandSuccess(await post<TicketIssued>('/v1/qr/tickets', body))
    },
  }
}
