/** What a monitor asks of a log over HTTP: its public files, and with a key the entries of an organisation. @module */
import { setTimeout as pause } from 'node:timers/promises'
import { type AuditEntry, type AuditPage, MAX_PAGE_ENTRIES } from '../../domain/audit/schemas.ts'
import { readWithin } from '../../net/body.ts'
import { EgressError } from '../../net/egress-error.ts'
import { isObject } from '../../protocol/json-object.ts'
import { logOf } from '../../protocol/log-heads.ts'

const DEADLINE_MS = 20_000
const MAX_TEXT_BYTES = 256 * 1024
const HASH_BYTES = 32
const TILE_BYTES = 256 * HASH_BYTES
const MAX_PAGE_BYTES = 64 * 1024 * 1024
const OK = 200
export const NOT_FOUND = 404
const TOO_MANY = 429
const MAX_TRIES = 5
const MAX_PAUSE_SECONDS = 90

/** The log gave no usable answer. */
export class UnreachableLog extends Error {
  override readonly name = 'UnreachableLog'
  /** Of its answer, if there was one. */
  readonly status: number | undefined
  /** What it had signed before, and now, where it answers too little to tell whether they go together. */
  readonly checkpoints: readonly string[]
  constructor(
    message: string,
    {
      status,
      checkpoints = [],
      cause,
    }: { status?: number | undefined; checkpoints?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.status = status
    this.checkpoints = checkpoints
  }
}

/** How long the clients of a service go on asking: whoever looks sets it anew for each look. */
export interface Patience {
  /** Once it is aborted, nothing is asked or waited for any more. */
  until?: AbortSignal
}

export interface LogClient {
  /** Of the service, without a slash at the end. */
  readonly url: string
  /** Which of its logs, from 0. */
  readonly number: number
  readonly patience: Patience
  checkpoint(): Promise<string>
  keys(): Promise<string>
  /** @param path such as `0/x001/234.p/17` */
  tile(path: string): Promise<Uint8Array<ArrayBuffer>>
  /** How log 0 holds the newest head of this log; undefined where it holds none. */
  head(): Promise<HeadAnswer | undefined>
  /** A page of the organisation's entries, the newest first. */
  entries(apiKey: string, cursor: string | undefined): Promise<AuditPage>
}

/** As `GET /log/{log}/head` answers it. */
export interface HeadAnswer {
  readonly entry: string
  readonly index: number
  /** Lower-case hex. */
  readonly hashes: readonly string[]
  readonly checkpoint: string
}

const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

const isHead = (value: unknown): value is HeadAnswer =>
  isObject(value) &&
  typeof value.entry === 'string' &&
  typeof value.index === 'number' &&
  typeof value.checkpoint === 'string' &&
  Array.isArray(value.hashes) &&
  value.hashes.every(isHash)

const isEntry = (value: unknown): value is AuditEntry =>
  isObject(value) &&
  Number.isSafeInteger(value.index) &&
  (value.entry === null || typeof value.entry === 'string') &&
  isHash(value.leafHash)

const isCursor = (value: unknown): value is string => typeof value === 'string' && /^[0-9]{1,15}$/.test(value)

const isPage = (value: unknown): value is AuditPage =>
  isObject(value) &&
  Array.isArray(value.entries) &&
  value.entries.length <= MAX_PAGE_ENTRIES &&
  value.entries.every(isEntry) &&
  (value.nextCursor === null || isCursor(value.nextCursor)) &&
  typeof value.checkpoint === 'string' &&
  logOf(value.log) !== undefined

/** @throws UnreachableLog for what is no JSON */
const readJson = (path: string, bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw new UnreachableLog(`${path} answered something else.`, { cause: error })
  }
}

/**
 * All of its functions throw UnreachableLog.
 * @param url of the service @param number which of its logs, from 0 @param patience shared by the clients of one look
 */
export const createLogClient = (url: string, number = 0, patience: Patience = {}): LogClient => {
  const base = url.replace(/\/$/, '')
  const own = number === 0 ? '' : `/log/${number}`

  const askOnce = async (path: string, headers: Record<string, string>): Promise<Response> => {
    const deadline = AbortSignal.timeout(DEADLINE_MS)
    const { until } = patience
    const signal = until === undefined ? deadline : AbortSignal.any([deadline, until])
    try {
      return await fetch(base + path, { headers, redirect: 'error', signal })
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error
      throw new UnreachableLog(`${path} can't be asked: ${String(cause)}`, { cause: error })
    }
  }

  const bytesOf = async (path: string, { body, status }: Response, maxBytes: number): Promise<Buffer> => {
    try {
      return body === null
        ? Buffer.alloc(0)
        : await readWithin(body as AsyncIterable<Uint8Array>, maxBytes, status)
    } catch (error) {
      const why = error instanceof EgressError ? error.message : String(error)
      throw new UnreachableLog(`${path} can't be read: ${why}`, { cause: error })
    }
  }

  /** @param seconds that the log asks for */
  const wait = async (path: string, seconds: number): Promise<void> => {
    const { until } = patience
    const ms = 1000 * Math.min(MAX_PAUSE_SECONDS, Number.isFinite(seconds) ? Math.max(0, seconds) : 1)
    try {
      await pause(ms, undefined, until === undefined ? {} : { signal: until })
    } catch (error) {
      throw new UnreachableLog(`${path} was not answered in time: the log says that it is asked too often.`, {
        status: TOO_MANY,
        cause: error,
      })
    }
  }

  /** Waits where the log says that it was asked too often. */
  const ask = async (
    path: string,
    maxBytes: number,
    headers: Record<string, string> = {},
  ): Promise<Buffer> => {
    for (let tries = 1; ; tries++) {
      const response = await askOnce(path, headers)
      const bytes = await bytesOf(path, response, maxBytes)
      if (response.status === OK) return bytes
      if (response.status !== TOO_MANY || tries === MAX_TRIES)
        throw new UnreachableLog(`${path} answered ${response.status}.`, { status: response.status })
      await wait(path, Number(response.headers.get('retry-after') ?? 1))
    }
  }

  return {
    url: base,
    number,
    patience,
    checkpoint: async () => (await ask(`${own}/checkpoint`, MAX_TEXT_BYTES)).toString(),
    keys: async () => (await ask(`${own}/checkpoint/keys`, MAX_TEXT_BYTES)).toString(),
    async tile(path) {
      const bytes = await ask(`${own}/tile/${path}`, TILE_BYTES)
      const width = /[.]p[/](\d+)$/.exec(path)?.[1]
      if (bytes.length !== (width === undefined ? TILE_BYTES : Number(width) * HASH_BYTES))
        throw new UnreachableLog(`${own}/tile/${path} answered ${bytes.length} bytes.`)
      return new Uint8Array(bytes)
    },
    async head() {
      const path = `${own}/head`
      try {
        const value = readJson(path, await ask(path, MAX_TEXT_BYTES))
        if (isHead(value)) return value
      } catch (error) {
        if (error instanceof UnreachableLog && error.status === NOT_FOUND) return undefined
        throw error
      }
      throw new UnreachableLog(`${path} answered something else.`)
    },
    async entries(apiKey, cursor) {
      const path = `/api/audit?limit=${MAX_PAGE_ENTRIES}${cursor === undefined ? '' : `&cursor=${cursor}`}`
      const body = await ask(path, MAX_PAGE_BYTES, { authorization: `Bearer ${apiKey}` })
      const page = readJson('/api/audit', body)
      if (!isPage(page)) throw new UnreachableLog('/api/audit answered something else.')
      return page
    },
  }
}
