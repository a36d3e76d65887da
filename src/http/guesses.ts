/**
 * Guesses of credentials. Those that are refused count against the address they come from; beyond its limit no credential from there is
 * looked up, so that guesses cost no queries and find nothing. Those that have worked on this server before still do, and those that it
 * handed out itself, so that whoever shares the address with somebody who guesses is not shut out. Tokens of terminals, which are new each
 * day and may be another server's, are looked up within a small limit of their own.
 * @module
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Authenticated, Credentials } from './auth.ts'
import { addressBlock } from './connections/client-address.ts'

/** Beyond it the one that guessed longest ago is forgotten, until its next guess. */
const STOPPED_MAX_ADDRESSES = 10_000
/** Beyond it the one that was used longest ago is forgotten, until it works again. */
const PROVEN_MAX_CREDENTIALS = 20_000

export interface Guesses {
  /**
   * Whether credentials are not to be looked up.
   * @param ip of the client; an IPv6 address stands for its /64
   */
  isStopped(ip: string, credentials: Credentials): boolean
  /** Its refused credentials are more than its limit. */
  stop(ip: string): void
  /** They no longer are. */
  allow(ip: string): void
  /** Remembers credentials that work, unless anybody can have such. */
  remember(credentials: Credentials, authenticated: Authenticated): void
  /** Remembers a credential that was just handed out. */
  vouch(text: string): void
}

/** The one that would be looked up. */
const textOf = ({ apiKey, podKey, cookie }: Credentials): string | undefined => apiKey ?? podKey ?? cookie

const digestOf = (text: string): string => hash('sha256', text, 'base64')

/** Makes a memory in which no address is stopped, and no credential has worked. */
export const createGuesses = (): Guesses => {
  const stopped = new LRUCache<string, true>({ max: STOPPED_MAX_ADDRESSES })
  const proven = new LRUCache<string, true>({ max: PROVEN_MAX_CREDENTIALS })
  /** API keys have the same object for a second, so that they need no digest at each request. */
  const noted = new WeakSet<Authenticated>()
  return {
    isStopped(ip, credentials) {
      if (stopped.size === 0) return false
      const text = textOf(credentials)
      return text !== undefined && stopped.has(addressBlock(ip)) && !proven.has(digestOf(text))
    },
    stop(ip) {
      stopped.set(addressBlock(ip), true)
    },
    allow(ip) {
      stopped.delete(addressBlock(ip))
    },
    remember(credentials, authenticated) {
      if (authenticated.isOfAnybody || noted.has(authenticated)) return
      const text = textOf(credentials)
      if (text === undefined) return
      proven.set(digestOf(text), true)
      noted.add(authenticated)
    },
    vouch(text) {
      proven.set(digestOf(text), true)
    },
  }
}
