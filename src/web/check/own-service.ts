/**
 * What the service that this page came from publishes: keys, its log, its status lists. Whatever somebody wants checked may name
 * other addresses; none of them is asked.
 * @module
 */
import type { PublishedIssuerKey } from '../../circuits/offline-verification.ts'
import type { WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { PageCrypto } from '../crypto/page-crypto.ts'
import { askFile, askJson, textOf, UnreachableError } from '../http.ts'
import type { PublishedLog } from '../result/inclusion.ts'
import { published } from '../result/published.ts'
import type { Asked } from './messages.ts'

const OK = 200
const NOT_FOUND = 404

/** A key of a JWK set, nothing of which was looked at. */
export type PublishedKey = Readonly<Record<string, unknown>>

/** @throws UnreachableError unless it is there */
const ask = async (path: string): Promise<unknown> => {
  const { status, body } = await askJson(path)
  if (status !== OK) throw new UnreachableError(`${path} answered ${status}.`)
  return body
}

const keysAt = async (path: string): Promise<readonly PublishedKey[]> => {
  const body = await ask(path)
  const keys = isObject(body) && Array.isArray(body.keys) ? body.keys.filter(isObject) : []
  if (keys.length === 0) throw new UnreachableError(`${path} names no keys.`)
  return keys
}

/** Asks for each thing once. */
const once = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load()
    return loaded
  }
}

/** Of each log the checkpoint is asked for once: it is the same wherever something is compared with it. */
const eachOnce = (open: (log: number) => PublishedLog): ((log: number) => PublishedLog) => {
  const opened = new Map<number, PublishedLog>()
  return (log) => {
    const known = opened.get(log)
    if (known !== undefined) return known
    const published = open(log)
    const own = { ...published, checkpoint: once(published.checkpoint) }
    opened.set(log, own)
    return own
  }
}

export type OwnService = ReturnType<typeof openService>

/**
 * @param crypto whatever checks signatures here
 * @param policy which witnesses its log must have been shown to
 * @param asked what presentations must answer
 */
export const openService = (crypto: PageCrypto, policy?: WitnessPolicy, asked?: Asked) => ({
  crypto,
  policy,
  asked,
  published: { ...published, logAt: eachOnce(published.logAt) },
  /** What the service calls itself in what it signs. */
  issuer: once(async () => {
    const issuer = textOf(await ask('/verify'), 'issuer')
    if (issuer === undefined || !URL.canParse(issuer))
      throw new UnreachableError('/verify does not say what the service calls itself.')
    return issuer
  }),
  /** Ed25519 and P-256. */
  keys: once(() => keysAt('/.well-known/jwks.json')),
  /** ML-DSA. */
  pqKeys: once(() => keysAt('/.well-known/jwks-pq.json')),
  /** Under which circuits verify what was issued. */
  issuerKeys: once(async () => {
    const keys = await keysAt('/.well-known/issuer-keys')
    return keys as unknown as readonly PublishedIssuerKey[]
  }),
  statusList: async (list: number): Promise<string> => (await askFile(`/status/${list}`, 'no-cache')).text(),
  /** What anybody may ask of one thing. @returns undefined where the service knows no such thing */
  async lookUp(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { status, body } = await askJson(path)
    if (status === NOT_FOUND) return undefined
    if (status !== OK || !isObject(body)) throw new UnreachableError(`${path} answered ${status}.`)
    return body
  },
})
