/**
 * Where agents publish their keys: the key directory of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol §5.5), a JWK set at
 * a well-known path, which only who runs the host can write.
 * @module
 */
import type { Clock } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import { type PublicKey, readPublicKey } from '../../../keys/public-key.ts'
import { EgressError } from '../../../net/egress-error.ts'
import type { SafeFetch, SafeFetchResponse } from '../../../net/safe-fetch.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { createSomeAtATime } from '../../../store/limits.ts'
import type { OpenRecent } from '../../../store/recent.ts'
import { isDirectorySound } from './directory-signature.ts'
import type { TrustLevel } from './states.ts'
import type { AgentRow } from './store.ts'

const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'
const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'
const MAX_DIRECTORY_BYTES = 64 * 1024
const MAX_DIRECTORY_KEYS = 64
const DEADLINE_MS = 5000
const HEADERS = { accept: `${DIRECTORY_TYPE}, application/json`, 'user-agent': 'Assay-Agents/1.0' }
const STATUS_OK = 200
const MS_PER_SECOND = 1000
/** How long it is remembered that a directory gave no usable answer, for requests that name it. */
const FAILURE_REMEMBERED_MS = 5000
/** How long what it answered is, at most. */
const ANSWER_REMEMBERED_MS = 60_000
/** Of 64 KiB each, at most. */
const MAX_REMEMBERED = 200
/**
 * Directories that are asked at the same time for one organisation, on this server: those of its agents, and as many that requests of
 * strangers name, who must not take the places of the former.
 */
const MAX_FETCHES = 8
const RETRY_AFTER_SECONDS = 5

/** What is known of an agent's key, and why not more. */
export interface Trust {
  readonly level: TrustLevel
  readonly reasons: readonly string[]
}

const refuse = (field: string, code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path: `/${field}`, code, message }] })
}

/**
 * Reads a URL of an agent.
 * @returns the URL as parsers write it, without a fragment
 * @throws AppError validation_failed unless it is https, without a user
 */
export const readUrl = (field: string, text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : refuse(field, 'url', `${field} must be an absolute URL`)
  if (url.protocol !== 'https:') refuse(field, 'url', `${field} must begin with https:`)
  if (url.username !== '' || url.password !== '')
    refuse(field, 'url', `${field} must not contain a user or password`)
  url.hash = ''
  return url.href
}

/**
 * Reads the URL of a key directory. On any other path whoever may put a file on the host would speak for it.
 * @throws AppError validation_failed
 */
export const readDirectoryUrl = (text: string): string => {
  const url = new URL(readUrl('key_directory_url', text))
  if (url.pathname === '/') url.pathname = DIRECTORY_PATH
  if (url.pathname !== DIRECTORY_PATH || url.search !== '')
    refuse('key_directory_url', 'url', `key_directory_url must have the path ${DIRECTORY_PATH} or none`)
  return url.href
}

/**
 * The URL that a Signature-Agent names, as an identifier (§5.5): without its query, and for a bare origin, as drafts before
 * the working group's second had it, that of the directory there.
 */
export const agentIdentifier = (text: string): string => {
  const url = new URL(text)
  url.search = ''
  url.hash = ''
  if (url.pathname === '/') url.pathname = DIRECTORY_PATH
  return url.href
}

/** The directory that speaks for an agent: its own, or that of the host of its card. */
export const directoryUrlOf = ({
  key_directory_url: own,
  agent_card_url: card,
}: Pick<AgentRow, 'key_directory_url' | 'agent_card_url'>): string | undefined =>
  own ?? (card === null ? undefined : readDirectoryUrl(new URL(card).origin))

const keysIn = (body: Buffer): readonly unknown[] | undefined => {
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    return undefined
  }
  const keys = isObject(value) ? value.keys : undefined
  return Array.isArray(keys) ? keys : undefined
}

interface Directory {
  readonly answer: SafeFetchResponse
  readonly keys: readonly unknown[]
}

/** A directory's answer: its keys, or why there are none. */
type Answered = Directory | string

/** A memory keeps no errors, so what is thrown here is remembered only by who catches it. */
class NoDirectory extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.name = 'NoDirectory'
    this.reason = reason
  }
}

const BUSY = 'directory_busy'

/** It says nothing of the directory, and so nothing of an agent. */
const failBusy = (): never =>
  fail('rate_limited', {
    message: `${MAX_FETCHES} key directories are being asked for your organisation, which is the most at a time.`,
    retryAfter: RETRY_AFTER_SECONDS,
  })

const reasonOf = (error: unknown): string => {
  if (error instanceof NoDirectory) return error.reason
  throw error
}

/**
 * Whether an answer is a directory by its type. A host that stores or reflects JSON can be made to answer a JWK set at many paths,
 * but hardly of this type; at the well-known path only who runs the host can answer.
 */
const isOfDirectory = (url: string, { headers }: SafeFetchResponse): boolean =>
  new URL(url).pathname === DIRECTORY_PATH ||
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === DIRECTORY_TYPE

/** Whether an entry says that its key is used no more; an end that is no number is over. @param now Unix seconds */
const isOver = (entry: unknown, now: number): boolean =>
  isObject(entry) && entry.exp !== undefined && !(typeof entry.exp === 'number' && entry.exp > now)

/** The key of this thumbprint, whatever the directory calls it. @returns why there is none */
const findKey = async (answered: Answered, kid: string, now: number): Promise<PublicKey | string> => {
  if (typeof answered === 'string') return answered
  const { answer, keys } = answered
  for (const entry of keys) {
    const key = readPublicKey(entry)
    if (key?.kid !== kid || isOver(entry, now)) continue
    return (await isDirectorySound(answer, key, now)) ? key : 'directory_signature_invalid'
  }
  return 'key_not_in_directory'
}

export type KeyDirectories = ReturnType<typeof createKeyDirectories>

/** @param deps.openToAll whether everybody's directories may be at what the operator opened */
export const createKeyDirectories = (deps: {
  readonly safeFetch: SafeFetch
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly openToAll: boolean
}) => {
  const { safeFetch, clock, openRecent, openToAll } = deps

  const ask = async (url: string, allowListed: boolean, tier: 'paying' | 'open'): Promise<Answered> => {
    const answer = await safeFetch(url, {
      method: 'GET',
      headers: HEADERS,
      isIdentity: true,
      maxBytes: MAX_DIRECTORY_BYTES,
      deadlineMs: DEADLINE_MS,
      // Another host's word would not be this one's.
      redirects: 0,
      allowListed,
      tier,
    }).catch((error: unknown) => {
      if (error instanceof EgressError) return error
      throw error
    })
    if (answer instanceof EgressError) return `directory_${answer.kind}`
    if (answer.status !== STATUS_OK) return 'directory_status'
    if (!isOfDirectory(url, answer)) return 'directory_type'
    const keys = keysIn(answer.body)
    if (keys === undefined) return 'directory_invalid'
    return keys.length > MAX_DIRECTORY_KEYS ? 'directory_too_large' : { answer, keys }
  }

  const beginAsking = createSomeAtATime(MAX_FETCHES)
  const beginPublished = createSomeAtATime(MAX_FETCHES)

  /**
   * Asks what a stranger named: never at what the operator opened, whatever the caller may reach.
   * @param place organisation and URL
   * @throws NoDirectory
   */
  const askPublished = async (place: string): Promise<Directory> => {
    const [organisation = '', url = ''] = place.split(' ')
    const end = beginPublished(organisation)
    if (end === undefined) throw new NoDirectory(BUSY)
    try {
      const answered = await ask(url, false, 'open')
      if (typeof answered === 'string') throw new NoDirectory(answered)
      return answered
    } finally {
      end()
    }
  }
  // Two memories, so that failures are soon forgotten and keep no place of a directory that answered.
  const directories = openRecent<Directory>({
    name: 'agent-directory',
    ttlMs: ANSWER_REMEMBERED_MS - FAILURE_REMEMBERED_MS,
    maxEntries: MAX_REMEMBERED,
    load: askPublished,
  })
  const answers = openRecent<Answered>({
    name: 'agent-directory-answer',
    ttlMs: FAILURE_REMEMBERED_MS,
    maxEntries: MAX_REMEMBERED,
    load: async (place) => {
      try {
        return await directories.get(place)
      } catch (error) {
        const reason = reasonOf(error)
        // Which says nothing of the directory.
        if (reason === BUSY) throw error
        return reason
      }
    },
  })
  const nowSeconds = () => Math.floor(clock.now() / MS_PER_SECOND)

  return {
    /**
     * What can be said of a key whose possession was shown: a directory that gives no usable answer is a reason, never an error.
     * @param privateEgress whether the ranges of EGRESS_ALLOW_CIDRS are open to the caller
     * @throws AppError rate_limited while as many directories are asked for the organisation
     */
    async trust(agent: AgentRow, privateEgress: boolean): Promise<Trust> {
      const url = directoryUrlOf(agent)
      if (url === undefined) return { level: 'key_verified', reasons: ['no_domain'] }
      const end = beginAsking(agent.organisation) ?? failBusy()
      const answered = await ask(url, privateEgress || openToAll, 'paying').finally(end)
      const found = await findKey(answered, agent.kid, nowSeconds())
      return typeof found === 'string'
        ? { level: 'key_verified', reasons: [found] }
        : { level: 'domain_verified', reasons: [] }
    },

    /**
     * The key of this thumbprint that is published where a signed request says. The ranges of EGRESS_ALLOW_CIDRS stay closed,
     * whoever asks: an anonymous request wrote the URL, and must not borrow the rights of who verifies it.
     * @param organisation for which it is looked up, and remembered
     * @param url https, from the request's Signature-Agent: somebody else's word until the key is found there
     * @returns why there is none
     */
    async published(organisation: string, url: string, kid: string): Promise<PublicKey | string> {
      // A query is for whoever sends the request to choose, and many hosts answer what it says.
      if (/[?#]/.test(url)) return 'directory_url'
      const place = `${organisation} ${agentIdentifier(url)}`
      return findKey(await answers.get(place).catch(reasonOf), kid, nowSeconds())
    },
  }
}
