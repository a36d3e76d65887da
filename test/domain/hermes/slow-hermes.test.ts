/** Hermes under strain: targets that take their time, and strangers that take all of ours. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ask, createProxy, sharedTarget } from '../../support/domain/hermes.ts'
import { onEmbedded } from '../../support/servers/database.ts'
import {
  startTargetServer,
  type TargetScript,
  type TargetServer,
} from '../../support/servers/target-server.ts'

const DEADLINE_MS = 8000
/** For everything around the target. */
const MARGIN_MS = 4000
/** Far more than the tiers of strangers hold. */
const CROWD = 100

describe('hermes under strain', () => {
  let app: TestApp
  let target: TargetServer
  before(async () => {
    app = await startTestApp({ env: { PROVER_THREADS: '1' } })
    target = await startTargetServer()
  })
  after(async () => {
    await target.close()
    await app.close()
  })

  const drip: TargetScript = (_, response) => {
    response.write('[')
    const timer = setInterval(() => response.write(' '), 500)
    response.on('close', () => clearInterval(timer))
  }

  onEmbedded.it('gives a target up after eight seconds, whether it is silent or drips', async () => {
    target.on('/silent', () => undefined)
    target.on('/drip', drip)
    const startedAt = Date.now()
    const answers = await Promise.all(
      ['/silent', '/drip'].map(async (path) => {
        const { slug } = await createProxy(app, { destinationUrl: target.url + path }, app.adminKey)
        const { status, body } = await ask(app, slug, { name: 'Ada' })
        return { status, error: body.error }
      }),
    )
    const late = { status: 504, error: 'upstream_timeout' }
    expect(answers).to.deep.equal([late, late])
    expect(Date.now() - startedAt).to.be.within(DEADLINE_MS - 100, DEADLINE_MS + MARGIN_MS)
  })

  it('makes the proofs of those that pay while strangers fill their own tier', async () => {
    const { url } = await sharedTarget()
    const { slug } = await createProxy(app, { destinationUrl: `${url}/members` }, app.adminKey)
    const refused = new Set<string>()
    let firstRefusal: () => void
    const isFull = new Promise<void>((resolve) => {
      firstRefusal = resolve
    })
    const strangers = Array.from({ length: CROWD }, async () => {
      const { status, body, headers } = await ask(app, slug, { name: 'Ada' })
      if (status === 503) {
        refused.add(body.error)
        expect(Number(headers.get('retry-after'))).to.be.at.least(1)
        firstRefusal()
      }
      return status
    })
    await isFull
    const mine = await Promise.all(
      Array.from({ length: 3 }, () => ask(app, slug, { name: 'Ada' }, { bearer: app.adminKey })),
    )
    expect(mine.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(new Set(await Promise.all(strangers))).to.deep.equal(new Set([200, 503]))
    // Either their targets are asked by too many of them, or their proofs wait in too long a queue.
    for (const error of refused) expect(error).to.be.oneOf(['unavailable', 'prover_overloaded'])
  })
})
