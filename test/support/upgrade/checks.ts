/** Requests whose answers must stay what they are, and how an answer is compared with one of before. @module */
import { createHash } from 'node:crypto'
import type { Client, TestResponse } from '../client.ts'

/** Headers that prove who asks. */
export type Credential = Readonly<Record<string, string>>

export interface Question {
  /** What must stay true, in words. */
  readonly what: string
  readonly method: string
  readonly path: string
  /** Name of who asks; absent: nobody in particular. */
  readonly as?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type Scalar = string | number | boolean | null

/** JSON Pointer → value. */
type Values = Readonly<Record<string, Scalar>>

/** A question with what was answered. */
export interface Check extends Question {
  /** Unix ms by the service's clock at which it was asked, and is asked again: some answers hold for two minutes only. */
  readonly at: number
  readonly status: number
  readonly values: Values
}

/** Words for people may be rewritten at any time; machines read the codes beside them. */
const FOR_PEOPLE = /\/(message|explanations\/\d+\/detail)$/

/** What goes on in the background: deliveries to receivers that are gone, and alerts that are counted now and then. */
const BACKGROUND = /\/(failureCount|lastDeliveryAt|lastStatus|alerts\/\d+\/(count|lastSeen))$/

const valuesIn = (value: unknown, at = ''): [string, Scalar][] => {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => valuesIn(member, `${at}/${name}`))
  if (FOR_PEOPLE.test(at) || BACKGROUND.test(at)) return []
  return [[at, value as Scalar]]
}

const SHA256_FROM_CHARACTERS = 4096

/** All that an answer says. Long texts by their hash; pictures are drawn anew by every version. */
const read = ({ headers, body }: TestResponse<unknown>): Values => {
  if (/^(image|text\/html|application\/vnd)/.test(headers.get('content-type') ?? '')) return {}
  const values = valuesIn(body ?? null).map(([at, value]): [string, Scalar] => {
    const isLong = typeof value === 'string' && value.length > SHA256_FROM_CHARACTERS
    return [at, isLong ? `sha256:${createHash('sha256').update(value).digest('hex')}` : value]
  })
  return Object.fromEntries(values)
}

export type Credentials = Readonly<Record<string, Credential>>

/** Asks. @throws Error for a credential that nobody has */
export const ask = async (app: Client, credentials: Credentials, question: Question) => {
  const { method, path, body, as } = question
  if (as !== undefined && !(as in credentials)) throw new Error(`no credential is called ${as}`)
  const headers = { ...(as !== undefined && credentials[as]), ...question.headers }
  const answer = await app.request(method, path, { body, headers })
  return { status: answer.status, values: read(answer) }
}

/** What two answers to the same question have in common. @param at when the second was given @throws Error when their status differs */
export const stableCheck = (
  question: Question,
  at: number,
  [first, second]: readonly [Awaited<ReturnType<typeof ask>>, Awaited<ReturnType<typeof ask>>],
): Check => {
  if (first.status !== second.status)
    throw new Error(`${question.what}: answered ${first.status}, then ${second.status}`)
  const values = Object.entries(first.values).filter(([at, value]) => second.values[at] === value)
  return { ...question, at, status: first.status, values: Object.fromEntries(values) }
}

/** Values with the keys of a JWK set under their ids: a version that has more of them lists them first. */
const byKeyId = (values: Values): Values => {
  const named = Object.entries(values).map(([at, value]): [string, Scalar] => {
    const [place = '', index] = /^\/keys\/(\d+)\//.exec(at) ?? []
    const isJwk = index !== undefined && values[`/keys/${index}/use`] === 'sig'
    return [isJwk ? at.replace(place, `/keys/${values[`/keys/${index}/kid`]}/`) : at, value]
  })
  return Object.fromEntries(named)
}

/** Where an answer differs from what was answered before, as `question, place: what instead of what`; empty where it says the same. */
export const differences = (
  { what, status, values }: Check,
  answer: Awaited<ReturnType<typeof ask>>,
): string[] => {
  const answered = byKeyId(answer.values)
  const pairs = Object.entries(byKeyId(values)).map(([at, value]) => [at, value, answered[at]] as const)
  return [['status', status, answer.status] as const, ...pairs]
    .filter(([, before, now]) => before !== now)
    .map(([at, before, now]) => `${what}, ${at}: ${JSON.stringify(now)} instead of ${JSON.stringify(before)}`)
}
