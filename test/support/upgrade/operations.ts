/** Every operation of the service, called once by its example; those that read are remembered. @module */
import type { Route } from '../../../src/http/route.ts'
import { routes } from '../../../src/server/routes.ts'
import { createFixtures, fill, WITHOUT_SUCCESS } from '../fixtures.ts'
import type { Story } from './story.ts'

/** What a version says of itself or of the moment, not of what it keeps. */
const OF_THE_VERSION: ReadonlySet<string> = new Set([
  ...['getServiceInfo', 'getHealth', 'getLiveness', 'getReadiness', 'getHealthV1', 'getVerification'],
  ...['getMetricsText', 'getMetrics', 'getOpenApi', 'getAsset', 'getChatPage', 'getAgentsTxt'],
  ...['getSecurityTxt', 'getRobotsTxt', 'getFavicon'],
  ...['listPrompts', 'getDailyPrompt', 'getRandomPrompt', 'getPrompt', 'streamMessages'],
  ...['listCircuits', 'getProvingKey', 'getWitnessProgram', 'tokenPass', 'getCheckpoint'],
])

/** Calls whose answers depend on what else is written while the fixture is filled, or on other servers. */
const OF_EVERYBODY: ReadonlySet<string> = new Set([
  ...['exportSiem', 'exportEvidence', 'listMessages', 'getChatStats', 'getTile', 'getConsistencyProof'],
  ...['askHermesByQuery', 'getPseudonymisedAudit', 'getDomainStatus'],
])

const isRemembered = ({ method, name }: Route): boolean =>
  method === 'GET' && !OF_THE_VERSION.has(name) && !OF_EVERYBODY.has(name)

/** Each example, in an organisation of its own. @throws Error when one is not answered as it should be */
export const callEveryOperation = async ({ app, remember }: Story): Promise<void> => {
  for (const route of routes) {
    const { key, headers, values } = await createFixtures(app, route)
    const { url, body } = fill(route, values)
    const { status, body: answered } = await app.request(route.method, url, { body, key, headers })
    // Some can be had here: there are certificates, and for one of the two databases a backup.
    if ((status < 200 || status > 299) && status !== WITHOUT_SUCCESS[route.name])
      throw new Error(`the example of ${route.name}: ${status} ${JSON.stringify(answered)}`)
    if (!isRemembered(route)) continue
    const by = headers ?? (key === undefined ? undefined : { 'x-api-key': key })
    remember({ what: `the example of ${route.name}`, method: 'GET', path: url, by, status })
  }
}
