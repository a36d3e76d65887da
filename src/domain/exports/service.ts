/** Complete files of what happened in a window, streamed from this server's event log. @module */
import type { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import type { Caller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { endInTime, streamOf, type Text } from '../../http/text-stream.ts'
import type { Signers } from '../../keys/signers.ts'
import type { SignedLogs } from '../../ledger/checkpoints/signed-logs.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { Metrics } from '../../metrics.ts'
import { EVIDENCE_ENTRY, INSTRUCTIONS_ENTRY } from '../../protocol/evidence/evidence-format.ts'
import { createOneAtATime } from '../../store/limits.ts'
import type { EventLog, Reading } from '../event-log/event-log.ts'
import type { EventRow } from '../event-log/rows.ts'
import { createEvidence, type EvidenceWriter } from './evidence.ts'
import { type Beginning, type Ending, type RowFormat, SIEM } from './formats/siem.ts'
import { type ExportQuery, readQuestion } from './question.ts'
import type { EvidenceFormat, SiemFormat } from './schemas.ts'

/**
 * Hands out rows up to a limit.
 * @returns what was handed out, once all was asked for
 */
async function* limited(
  reading: Pick<Reading, 'rows'>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly EventRow[], Ending> {
  let rows = 0
  for await (const some of reading.rows()) {
    const fitting = some.slice(0, limit - rows)
    rows += fitting.length
    if (fitting.length > 0) yield fitting
    if (fitting.length < some.length) return { rows, cut: true }
  }
  return { rows, cut: false }
}

const EVIDENCE_TYPES: Readonly<Record<EvidenceFormat, string>> = {
  ndjson: 'application/x-ndjson',
  json: 'application/json; charset=utf-8',
  zip: 'application/zip',
}

const RETRY_AFTER_SECONDS = 1
/** A window that ends no later than so long from now counts as over: clocks of those who ask are ahead. */
const AHEAD_MS = 60_000
/** Evidence takes no more than so many times what the log does: each entry is two rows there, with hashes beside. */
const EVIDENCE_GROWTH = 4

interface Deps {
  readonly eventLog: Pick<EventLog, 'read'>
  readonly logs: Pick<Logs, 'of'>
  readonly signedLogs: Pick<SignedLogs, 'at' | 'covering'>
  readonly signers: Pick<Signers, 'current'>
  readonly metrics: Pick<Metrics, 'exportBytes'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Ceiling of the event log. */
  readonly eventLogBytes: number
  readonly logger: { warn(details: object, message: string): void }
  /** Longest duration of an export; default six hours. */
  readonly maxExportMs?: number
}

/** A file on its way. */
export interface Export {
  readonly contentType: string
  readonly filename: string
  readonly body: Readable
}

export type ExportsService = ReturnType<typeof createExports>

async function* siemText(
  format: RowFormat,
  reading: Reading,
  beginning: Beginning,
  limit: number | undefined,
): Text {
  yield format.begin(beginning)
  const rows = limited(reading, limit)
  let written = 0
  for (let next = await rows.next(); ; next = await rows.next()) {
    if (next.done) return yield format.end(beginning, next.value)
    yield format.rows(next.value, written, beginning)
    written += next.value.length
  }
}

interface EvidenceQuestion {
  readonly writer: EvidenceWriter
  readonly reading: Reading
  readonly beginning: Beginning
  readonly limit: number | undefined
  /** One JSON document instead of lines. */
  readonly asDocument: boolean
}

async function* evidenceText({ writer, reading, beginning, limit, asDocument }: EvidenceQuestion): Text {
  const { watermark } = reading
  const header = writer.header({ ...beginning, limit, watermark })
  yield asDocument ? `{"header":${header},"rows":[` : `${header}\n`
  let separator = '\n'
  const rows = limited(reading, limit)
  for (let next = await rows.next(); ; next = await rows.next()) {
    if (next.done) {
      const manifest = await writer.manifest(beginning, next.value)
      return yield asDocument ? `\n],"manifest":${manifest}}\n` : `${manifest}\n`
    }
    const lines = await writer.rows(next.value)
    if (!asDocument) yield `${lines.join('\n')}\n`
    else yield `${separator}${lines.join(',\n')}`
    separator = ',\n'
  }
}

/** Archives beyond 4 GiB need the larger form, which some older programs can't read. */
const ZIP64_FROM_BYTES = 2 ** 31

const INSTRUCTIONS = `${EVIDENCE_ENTRY} holds evidence in the format that docs/exports.md describes.
Check this archive, or the file in it, without a network connection:

  npx assay verify-evidence FILE --keys jwks.json --pq-keys jwks-pq.json

jwks.json and jwks-pq.json are what the service publishes at /.well-known/jwks.json and /.well-known/jwks-pq.json. Get
them from the service itself, not from whoever handed you this archive.
`

/**
 * Evidence as a ZIP archive, made while it is read.
 * @param evidence lines; it is destroyed when the archive is
 * @param atMostBytes what the lines may come to
 */
const zipEvidence = (evidence: Readable, at: Date, atMostBytes: number): Readable => {
  const archive = new ZipFile()
  const options = { mtime: at, mode: 0o100644 }
  const forceZip64Format = atMostBytes >= ZIP64_FROM_BYTES
  archive.addReadStream(evidence, EVIDENCE_ENTRY, { ...options, forceZip64Format })
  archive.addBuffer(Buffer.from(INSTRUCTIONS), INSTRUCTIONS_ENTRY, options)
  archive.end()
  const output = archive.outputStream as Readable
  archive.on('error', (error: unknown) => output.destroy(error instanceof Error ? error : undefined))
  evidence.once('error', (error) => output.destroy(error))
  output.once('close', () => evidence.destroy())
  return output
}

/** The client went away: nothing is wrong. */
const isAbandoned = (error: Error): boolean => 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

export const createExports = (deps: Deps) => {
  const { eventLog, logs, signedLogs, signers, metrics, clock, baseUrl, logger } = deps
  const begin = createOneAtATime()

  /** Runs an export from its reading to the end of its stream, whatever that end is. */
  const run = async (
    { organisation }: Caller,
    asked: Beginning['window'],
    start: (reading: Reading, beginning: Beginning) => Readable | Promise<Readable>,
  ): Promise<Readable> => {
    const end =
      begin(organisation) ??
      fail('rate_limited', {
        message: 'An export of this organisation is still running; one runs at a time.',
        retryAfter: RETRY_AFTER_SECONDS,
      })
    let reading: Reading | undefined
    const finish = async (): Promise<void> => {
      end()
      await reading?.close()
    }
    try {
      const log = await logs.of(organisation)
      const now = clock.now()
      const isOver = asked.until <= now + AHEAD_MS
      // What the file says to hold ends no later than it was made.
      const until = isOver ? Math.max(asked.since, Math.min(asked.until, now)) : asked.until
      const window = { since: asked.since, until }
      reading = await eventLog.read(organisation, window)
      const gaps = isOver ? reading.gaps : [...reading.gaps, 'NOT_OVER' as const]
      const body = endInTime(await start(reading, { organisation, log, window, gaps }), deps.maxExportMs)
      body.once('close', () => void finish())
      return body.on('error', (error) => {
        if (!isAbandoned(error)) logger.warn({ err: error, organisation }, 'an export ended early')
      })
    } catch (error) {
      await finish()
      throw error
    }
  }

  const nameOf = (kind: string, { since, until }: Beginning['window'], extension: string): string => {
    const [from, to] = [since, until].map((at) => new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, ''))
    return `assay-${kind}-${from}-${to}.${extension}`
  }

  return {
    /** Rows in a format of a SIEM. @throws AppError validation_failed, rate_limited, unavailable */
    async siem(caller: Caller, query: ExportQuery<SiemFormat>): Promise<Export> {
      const { window, limit, format: name } = readQuestion(query, 'ndjson', clock.now())
      const format = SIEM[name]
      const onBytes = (bytes: number) => metrics.exportBytes.inc({ kind: 'siem', format: name }, bytes)
      const body = await run(caller, window, (reading, beginning) =>
        streamOf(siemText(format, reading, beginning, limit), onBytes),
      )
      return { contentType: format.contentType, filename: nameOf('events', window, format.extension), body }
    },

    /** Rows that prove themselves. @throws AppError validation_failed, rate_limited, log_inconsistent, unavailable */
    async evidence(caller: Caller, query: ExportQuery<EvidenceFormat>): Promise<Export> {
      const now = clock.now()
      const { window, limit, format } = readQuestion(query, 'ndjson', now)
      const onBytes = (bytes: number) => metrics.exportBytes.inc({ kind: 'evidence', format }, bytes)
      const body = await run(caller, window, async (reading, beginning) => {
        // After the reading, so that it covers every entry of it.
        const number = await logs.of(caller.organisation)
        const [checkpoint, signer] = await Promise.all([
          signedLogs.covering(number),
          signers.current('results', 'Ed25519'),
        ])
        const log = signedLogs.at(number).tree
        const writer = createEvidence({ number, log, signer, checkpoint, issuer: baseUrl, now })
        const asDocument = format === 'json'
        const text = evidenceText({ writer, reading, beginning, limit, asDocument })
        const stream = streamOf(text, onBytes)
        if (format !== 'zip') return stream
        return zipEvidence(stream, new Date(now), deps.eventLogBytes * EVIDENCE_GROWTH)
      })
      return { contentType: EVIDENCE_TYPES[format], filename: nameOf('evidence', window, format), body }
    },
  }
}
