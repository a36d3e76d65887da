/** Two server processes on one PostgreSQL: an envelope is used once through both, and both know the posting mode. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { Posted, PostingState } from '../../../src/domain/chat/schemas.ts'
import { signEnvelope } from '../../../src/protocol/envelope.ts'
import type { Client } from '../../support/client.ts'
import { usingTwoServers } from '../../support/servers/cluster.ts'

const REPLAYS = 50
/** A server asks every second, but machines that run tests may be slow. */
const NOTICED_WITHIN_MS = 30_000
const seed = new Uint8Array(32).fill(5)

describe('chat envelopes on two servers', () => {
  const cluster = usingTwoServers({ BASE_URL: 'http://assay.example' })

  const both = (): readonly [Client, Client] => {
    const [one, two] = cluster().clients
    if (!one || !two) throw new Error('there are not two servers')
    return [one, two]
  }

  it(`store one message of ${REPLAYS} replays that come through both at once`, async () => {
    const servers = both()
    for (let round = 0; round < 3; round++) {
      const params = { agent_name: 'Ada', text: `Round ${round} of replays.` }
      const envelope = signEnvelope(
        { agent_id: 'ada', audience: 'assay.example', action: 'chat.post', params },
        seed,
      )
      const answers = await Promise.all(
        Array.from({ length: REPLAYS }, (_, i) =>
          (servers[i % 2] as Client).request('POST', '/api/messages', { body: { envelope } }),
        ),
      )
      const accepted = answers.filter(({ status }) => status === 201).map(({ body }) => body as Posted)
      expect(accepted.map(({ message }) => message.id)).to.deep.equal([round + 1])
      const refused = answers
        .filter(({ status }) => status === 409)
        .map(({ body }) => (body as { error: string }).error)
      expect(refused).to.deep.equal(Array(REPLAYS - 1).fill('replayed_envelope'))
    }
  })

  it('hold every post against the mode that was set last, through whichever server it came', async function () {
    this.timeout(5 * NOTICED_WITHIN_MS)
    const [one, two] = both()
    const { adminKey: key } = cluster()
    const set = (mode: string) => one.request('PUT', '/console/api/posting', { key, body: { mode } })
    const post = (text: string) => two.request('POST', '/api/messages', { body: { agent_name: 'Bob', text } })
    for (const [round, mode] of ['paused', 'open', 'paused', 'open'].entries()) {
      await set(mode)
      // From the very next post on: what the other server tells may lag behind, what it does may not.
      if (mode === 'paused') expect((await post(`Round ${round}, quick.`)).status).to.equal(503)
      const deadline = performance.now() + NOTICED_WITHIN_MS
      const told = async () =>
        ((await two.request('GET', '/console/api/posting', { key })).body as PostingState).posting
      while ((await told()) !== mode && performance.now() < deadline) await pause(20)
      expect(await told()).to.equal(mode)
      expect((await post(`Round ${round}, later.`)).status).to.equal(mode === 'open' ? 201 : 503)
    }
  })
})
