/** API keys: one that was revoked is refused everywhere a second later, whatever became of Redis. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Area, Context } from '../area.ts'

/** A look-up is used for a second at most. What is asked after it was begun later than the revocation was acknowledged. */
const LOOK_UP_MS = 1_100

export const keys = ({ model, ask, random, shop }: Context): Area => ({
  name: 'keys',
  clients: 1,
  pauseMs: 700,
  async step() {
    const label = `spare ${random.name()}`
    const operation = model.begin('keys', label)
    const made = await ask<{ apiKey: string; keyId: string }>(operation, 'POST', '/console/api/keys', {
      key: shop.apiKey,
      headers: { 'idempotency-key': random.name() },
      body: { label, scopes: ['verify'] },
      answers: [201],
    })
    const { apiKey, keyId } = made.body
    await ask(operation, 'GET', '/console/api/me', { key: apiKey, answers: [200] })
    await ask(operation, 'DELETE', `/console/api/keys/${keyId}`, {
      key: shop.apiKey,
      answers: [200, 204, 409],
    })
    await pause(LOOK_UP_MS)
    const { status } = await ask(operation, 'GET', '/console/api/me', { key: apiKey, answers: [200, 401] })
    if (status !== 401)
      model.broken('revoked is revoked', `key ${keyId} is taken a second after its revocation`, operation)
  },
})
