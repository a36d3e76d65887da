/** Pods with a domain, hermes routes, webhooks that were delivered and that wait. @module */
import { ask, createProxy, sharedTarget } from '../../domain/hermes.ts'
import { createPod, movePod } from '../../domain/pods.ts'
import { ADULT, PERSON } from '../../domain/proof-api.ts'
import { signedResult } from '../../verification.ts'
import { answer, arrivals, register, until } from '../../webhooks.ts'
import type { Story } from '../story.ts'

const DOMAIN = 'age.shop.example'

const fillPods = async ({ app, dns, ok, owner, remember }: Story): Promise<void> => {
  const { podId } = await createPod(app, owner.apiKey, { rules: [ADULT], chargePerVerification: 0.35 })
  await movePod(app, podId, 'ACTIVE')
  for (const age of [36, 16]) await ok('POST', `/pod/${podId}/verify`, { ...PERSON, age })
  dns.set(DOMAIN, 'CNAME', [app.config.customDomainCname])
  dns.set(`_verify.${DOMAIN}`, 'TXT', [`assay-pod=${podId}`])
  const { bound } = await ok<{ bound: boolean }>('POST', '/domain/verify', { domain: DOMAIN, podId })
  if (!bound) throw new Error('the domain was not bound')
  const says = { '/pod/customDomain': DOMAIN }
  remember({ what: 'a pod with its domain', method: 'GET', path: `/pod/${podId}`, says })
  remember({ what: 'what a pod did', method: 'GET', path: `/pod/${podId}/stats`, by: owner.apiKey })
  remember({ what: 'all pods', method: 'GET', path: '/console/api/pods', by: owner.apiKey })
}

const fillHermes = async ({ app, ok, owner, remember }: Story): Promise<void> => {
  const { url } = await sharedTarget()
  const route = await createProxy(app, { destinationUrl: `${url}/members` }, owner.apiKey)
  await ask(app, route.slug, { name: 'Ada' }, { bearer: owner.apiKey })
  await ask(app, route.slug, { name: 'Nobody' }, { bearer: owner.apiKey })
  const deleted = await createProxy(app, { destinationUrl: `${url}/members`, userId: 'gone' }, owner.apiKey)
  await ok('DELETE', `/proxy/${deleted.id}`, { userId: 'gone' })
  remember({ what: 'a route', method: 'GET', path: `/proxy/${route.id}`, by: owner.apiKey })
  const says = { '/status': 'deleted' }
  remember({ what: 'a deleted route', method: 'GET', path: `/proxy/${deleted.id}`, by: owner.apiKey, says })
}

/** Endpoints of a key that does little: what waits for a receiver is kept, too. */
const fillWebhooks = async ({ app, ok, receiver, remember }: Story): Promise<void> => {
  const events = ['proof.verified', 'merkle.leaf_appended']
  const { apiKey: key } = await ok<{ apiKey: string }>('POST', '/console/api/keys', { label: 'hooks' })
  receiver.on('/ok', answer(204))
  receiver.on('/down', answer(500))
  const [, down] = [
    await register(app, { key }, { url: `${receiver.url}/ok`, events }),
    await register(app, { key }, { url: `${receiver.url}/down`, events }),
  ]
  await signedResult(app, key)
  await arrivals(receiver, '/ok', 2)
  await arrivals(receiver, '/down', 2)
  const { knex } = app.services.database
  await until('deliveries that wait', async () => {
    const row = await knex('webhook_deliveries')
      .where({ endpoint: down.id })
      .where('attempts', '>', 0)
      .first()
    return row !== undefined
  })
  remember({ what: 'all endpoints', method: 'GET', path: '/api/webhooks', by: key })
}

export const fillServices = async (story: Story): Promise<void> => {
  await fillPods(story)
  await fillHermes(story)
  await fillWebhooks(story)
}
