/** Routes of the published log; anybody may read them. @module */
import Type from 'typebox'
import { Reply, route } from '../../http/route.ts'
import type { PublishedLog } from './published-log.ts'

interface Services {
  readonly publishedLog: PublishedLog
}

/** A tile never changes: what it hashes is appended to, not altered. */
const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable' }
const PLAIN_TEXT = 'text/plain; charset=utf-8'
const shared = { method: 'GET', auth: 'none', tag: 'Audit' } as const

const getCheckpoint = route({
  ...shared,
  name: 'getCheckpoint',
  path: '/checkpoint',
  summary: 'Get the signed checkpoint of the log',
  description:
    'A signed note (C2SP tlog-checkpoint): origin, size and root of the log, an Ed25519 signature and an ML-DSA-44 ' +
    'cosignature. No checkpoint that contradicts an earlier one is ever signed. Where the service has a policy of witnesses, it is the newest one that they have cosigned, unless that is too old.',
  produces: PLAIN_TEXT,
  response: { 200: Type.String() },
  queued: false,
  errors: ['log_inconsistent'],
  example: {},
  handler: (_, { publishedLog }: Services) => publishedLog.checkpoint(),
})

const getCheckpointKeys = route({
  ...shared,
  name: 'getCheckpointKeys',
  path: '/checkpoint/keys',
  summary: 'Get the keys that verify the checkpoint',
  description:
    'Verifier keys (C2SP signed-note), one per line: Ed25519, ML-DSA-44. The same keys are in the JWK set.',
  produces: PLAIN_TEXT,
  response: { 200: Type.String() },
  errors: [],
  example: {},
  handler: (_, { publishedLog }: Services) => publishedLog.keys(),
})

const LEVEL = Type.String({ pattern: '^([0-9]|[1-5][0-9]|6[0-3])$' })
/** `000`, `x001/234`, `x001/x234/067`; the first group is not zero where others follow it. */
const TILE_PATTERN =
  '^(x([1-9][0-9]{2}|0[1-9][0-9]|00[1-9])/(x[0-9]{3}/){0,3})?[0-9]{3}([.]p/[1-9][0-9]{0,2})?$'

const getTile = route({
  ...shared,
  name: 'getTile',
  path: '/tile/{level}/{tile}',
  takesRest: true,
  summary: 'Get a tile of the hashes of the log',
  description:
    'A tile of up to 256 hashes (C2SP tlog-tiles). `tile` is its number in groups of three digits, all but the last with an x: ' +
    '`x001/234` is tile 1,234; `x001/234.p/17` its first 17 hashes.',
  params: Type.Object({
    level: LEVEL,
    tile: Type.String({ pattern: TILE_PATTERN }),
  }),
  produces: 'application/octet-stream',
  response: { 200: Type.String() },
  errors: ['not_found'],
  example: { params: { level: '0', tile: '000.p/1' } },
  handler: async ({ params }, { publishedLog }: Services) =>
    new Reply(200, await publishedLog.tile(Number(params.level), params.tile), IMMUTABLE),
})

const LogNumber = Type.String({
  pattern: '^(0|[1-9]|[1-5][0-9]|6[0-3])$',
  description: 'Which log, from 0.',
})
const LOG_0 = { params: { log: '0' } }

const getLogCheckpoint = route({
  ...shared,
  name: 'getLogCheckpoint',
  path: '/log/{log}/checkpoint',
  summary: 'Get the signed checkpoint of one of several logs',
  description:
    'As /checkpoint, which is that of log 0. The origin of log n is that of log 0 and `/log/n`; witnesses cosign log 0 alone, which holds the heads of the others.',
  params: Type.Object({ log: LogNumber }),
  produces: PLAIN_TEXT,
  response: { 200: Type.String() },
  queued: false,
  errors: ['log_inconsistent', 'not_found'],
  example: LOG_0,
  handler: ({ params }, { publishedLog }: Services) => publishedLog.checkpoint(Number(params.log)),
})

const getLogCheckpointKeys = route({
  ...shared,
  name: 'getLogCheckpointKeys',
  path: '/log/{log}/checkpoint/keys',
  summary: 'Get the keys that verify the checkpoint of one of several logs',
  description: 'As /checkpoint/keys, under the name of that log: the same keys.',
  params: Type.Object({ log: LogNumber }),
  produces: PLAIN_TEXT,
  response: { 200: Type.String() },
  errors: ['not_found'],
  example: LOG_0,
  handler: ({ params }, { publishedLog }: Services) => publishedLog.keys(Number(params.log)),
})

const getLogTile = route({
  ...shared,
  name: 'getLogTile',
  path: '/log/{log}/tile/{level}/{tile}',
  takesRest: true,
  summary: 'Get a tile of the hashes of one of several logs',
  description: 'As /tile/{level}/{tile}, which is that of log 0.',
  params: Type.Object({ log: LogNumber, level: LEVEL, tile: Type.String({ pattern: TILE_PATTERN }) }),
  produces: 'application/octet-stream',
  response: { 200: Type.String() },
  errors: ['not_found'],
  example: { params: { log: '0', level: '0', tile: '000.p/1' } },
  handler: async ({ params: { log, level, tile } }, { publishedLog }: Services) =>
    new Reply(200, await publishedLog.tile(Number(level), tile, Number(log)), IMMUTABLE),
})

const HeadInLog0 = Type.Object(
  {
    entry: Type.String({
      description:
        'Canonical JSON of the entry of type `ledger.head` whose `data` are `log`, `size` and `root`, exactly the bytes that were hashed.',
    }),
    index: Type.Integer({ minimum: 0, description: 'Index of the entry in log 0.' }),
    treeSize: Type.Integer({ minimum: 1, description: 'Entries of log 0 under `checkpoint`.' }),
    hashes: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), {
      description: 'Audit path of RFC 6962 §2.1.1, from the leaf upwards.',
    }),
    checkpoint: Type.String({
      description:
        'Signed note of log 0 (C2SP tlog-checkpoint), with the cosignatures of witnesses where they have seen it already.',
    }),
  },
  { title: 'HeadInLog0' },
)

const getLogHead = route({
  ...shared,
  name: 'getLogHead',
  path: '/log/{log}/head',
  summary: 'Get the head of one of several logs as log 0 holds it',
  description:
    'Size and root of a log other than 0, as an entry of log 0 says them, with its inclusion there. Without `covers` the newest, which witnesses have seldom seen yet; with it the first that covers that entry of the log, under a witnessed checkpoint where one covers it, and appended within a second or two where there is none yet.',
  params: Type.Object({ log: LogNumber }),
  query: Type.Object({
    covers: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Index of an entry of the log.',
      }),
    ),
  }),
  response: { 200: HeadInLog0 },
  queued: false,
  errors: ['log_inconsistent', 'not_found'],
  example: { params: { log: '1' } },
  handler: async ({ params, query }, { publishedLog }: Services) => {
    const { hashes, ...head } = await publishedLog.head(Number(params.log), query.covers)
    return { ...head, hashes: [...hashes] }
  },
})

export const logRoutes = [
  getCheckpoint,
  getCheckpointKeys,
  getTile,
  getLogCheckpoint,
  getLogCheckpointKeys,
  getLogTile,
  getLogHead,
]
