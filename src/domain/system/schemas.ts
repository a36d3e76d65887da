/** What the service says of itself. @module */
import { type Static, Type } from 'typebox'
import { DateTime, dateTime, orNull } from '../../json/schemas.ts'

const EngineFields = { name: Type.String(), version: Type.String() }

export const ServiceInfo = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    engine: Type.Object(EngineFields),
    documentation: Type.String({ format: 'uri' }),
    endpoints: Type.Object(
      {
        health: Type.String(),
        verify: Type.String(),
        pod: Type.String(),
        domain: Type.String(),
        hermes: Type.String(),
      },
      { description: 'Path templates.' },
    ),
    customDomains: Type.Object({
      supported: Type.Boolean(),
      cname: Type.String({ description: 'Host name to use as CNAME target of a custom domain.' }),
    }),
    timestamp: DateTime,
  },
  { title: 'ServiceInfo' },
)
export type ServiceInfo = Static<typeof ServiceInfo>

const Connection = Type.Union([Type.Literal('connected'), Type.Literal('disconnected')])

export const Health = Type.Object(
  {
    status: Type.Union([Type.Literal('healthy'), Type.Literal('degraded'), Type.Literal('unhealthy')], {
      description:
        'degraded: Redis is not available, and every server counts limits on its own; or a watch list could not be loaded; or witnesses of the log are late. unhealthy: the database is not available.',
    }),
    timestamp: dateTime('When the components were last checked.'),
    uptime: Type.Number({ description: 'Seconds since the start.' }),
    version: Type.String(),
    engine: Type.Object({ ...EngineFields, status: Type.Literal('operational') }),
    database: Type.Object({ status: Connection }),
    services: Type.Object({
      postgres: Connection,
      redis: Type.Union([Connection, Type.Literal('not_configured')], {
        description: 'not_configured: this server does not use it.',
      }),
    }),
    watchLists: Type.Object(
      {
        status: Type.Enum(['current', 'outdated', 'unavailable'], {
          description:
            'outdated: the last good state of a list is used, since its files cannot be loaded. unavailable: a list was never loaded, and its check types return 503.',
        }),
        failed: Type.Array(Type.String(), {
          description:
            'Ids of the lists that could not be loaded; `AML_LISTS` or `lists.json` where it cannot be told which lists the directory holds, `lists[0]` for one of `lists.json` that has no id.',
        }),
      },
      { title: 'WatchListHealth' },
    ),
    witnesses: Type.Object(
      {
        status: Type.Enum(['current', 'pending', 'late', 'not_configured'], {
          description:
            'pending: no checkpoint of the log was cosigned yet. late: the newest that was is older than it may be. not_configured: the service has no policy of witnesses.',
        }),
        treeSize: orNull(Type.Integer(), {
          description: 'Entries under the newest checkpoint that the policy accepts.',
        }),
      },
      { title: 'WitnessHealth' },
    ),
    responseTime: Type.Number({ description: 'Response time of the database in milliseconds.' }),
  },
  { title: 'Health' },
)
export type Health = Static<typeof Health>

export const Liveness = Type.Object({ live: Type.Boolean() }, { title: 'Liveness' })
export const Readiness = Type.Object(
  {
    ready: Type.Boolean(),
    reason: Type.Optional(
      Type.Enum(['disk_full', 'disk_unwritable', 'read_only', 'database_unavailable'], {
        description:
          'Why the server is not ready, unless it is starting or draining: nothing can be written. disk_unwritable: the disk of the service is read only, or fails to write. read_only: the database is a standby, or set to take no writes. database_unavailable: the database does not answer.',
      }),
    ),
  },
  { title: 'Readiness' },
)
export type Readiness = Static<typeof Readiness>

export const MetricsDocument = Type.Object(
  {
    metrics: Type.Array(
      Type.Object({
        name: Type.String(),
        help: Type.String(),
        type: Type.String({ description: 'counter, gauge, histogram or summary.' }),
        values: Type.Array(
          Type.Object({
            name: Type.String({ description: 'For a histogram: _bucket, _sum, _count.' }),
            labels: Type.Record(Type.String(), Type.String()),
            value: orNull(Type.Number()),
          }),
        ),
      }),
    ),
  },
  { title: 'Metrics' },
)
