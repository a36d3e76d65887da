/** What the scenarios of a fixture have in common: the app, an organisation, and the notebook of what must stay true. @module */
import { hash } from 'node:crypto'
import type { TestApp, TestOrganisation } from '../app.ts'
import { ok } from '../client.ts'
import type { DnsServer } from '../servers/dns-server.ts'
import type { TargetServer } from '../servers/target-server.ts'
import type { Credential, Question } from './checks.ts'

export interface Surroundings {
  readonly dns: DnsServer
  /** Receives webhooks, over TLS. */
  readonly receiver: TargetServer
}

/** JSON Pointer → value. */
type Says = Readonly<Record<string, string | number | boolean | null>>

/** A question, and members that its answer must have when it is recorded. */
interface Claim extends Omit<Question, 'as'> {
  /** API key, or headers; absent: nobody in particular. */
  readonly by?: string | Credential
  /** Status of the answer when it is recorded; default 200. */
  readonly status?: number
  readonly says?: Says
  /** That it is asked when the fixture is opened and not before, since it can be done once. */
  readonly once?: boolean
}

export interface Recorded extends Question {
  readonly expected: { readonly status: number; readonly says: Says }
  readonly once: boolean
}

export interface Story extends Surroundings {
  readonly app: TestApp
  readonly owner: TestOrganisation
  /** Notes a question, whose answer is recorded once everything has happened. */
  remember(claim: Claim): void
  /** Notes a compact JWS that the service signed. */
  signed(what: string, jws: string): void
  /** Sends a request. @throws Error unless it is answered with 2xx */
  ok<T>(method: string, path: string, body?: object, by?: string | Credential): Promise<T>
  readonly questions: readonly Recorded[]
  readonly credentials: Readonly<Record<string, Credential>>
  readonly signatures: Readonly<Record<string, string>>
}

const headersOf = (by: string | Credential): Credential => (typeof by === 'string' ? { 'x-api-key': by } : by)

export const createStory = async (app: TestApp, surroundings: Surroundings): Promise<Story> => {
  const owner = await app.organisation()
  const questions: Recorded[] = []
  const credentials: Record<string, Credential> = {}
  const signatures: Record<string, string> = {}
  /** A name for whoever asks, the same for the same headers. */
  const nameOf = (by: string | Credential): string => {
    const headers = headersOf(by)
    const name =
      by === app.adminKey
        ? 'admin'
        : by === owner.apiKey
          ? 'owner'
          : `caller-${hash('sha256', JSON.stringify(headers)).slice(0, 8)}`
    credentials[name] = headers
    return name
  }
  return {
    ...surroundings,
    app,
    owner,
    questions,
    credentials,
    signatures,
    remember({ by, status = 200, says = {}, once = false, ...question }) {
      const as = by === undefined ? undefined : nameOf(by)
      questions.push({ ...question, ...(as !== undefined && { as }), expected: { status, says }, once })
    },
    signed(what, jws) {
      signatures[what] = jws
    },
    ok: (method, path, body, by = owner.apiKey) => ok(app, method, path, { body, headers: headersOf(by) }),
  }
}
