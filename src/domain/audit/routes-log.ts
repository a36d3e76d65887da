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
    level: Type.String({ pattern: '^([0-9]|[1-5][0-9]|6[0-3])$' }),
    tile: Type.String({ pattern: TILE_PATTERN }),
  }),
  produces: 'application/octet-stream',
  response: { 200: Type.String() },
  errors: ['not_found'],
  example: { params: { level: '0', tile: '000.p/1' } },
  handler: async ({ params }, { publishedLog }: Services) =>
    new Reply(200, await publishedLog.tile(Number(params.level), params.tile), IMMUTABLE),
})

export const logRoutes = [getCheckpoint, getCheckpointKeys, getTile]
