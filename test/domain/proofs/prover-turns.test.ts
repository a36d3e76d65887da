/** The prover's turns as organisations see them. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { DATA, verified } from '../../support/verification.ts'

const FLOOD = 12
/** More than the proof that runs and one turn, since requests may overtake each other on their way to the prover. */
const MOST_BEFORE = 6

describe('turns of organisations', function () {
  this.timeout(60_000)
  let app: TestApp
  before(async () => {
    app = await startTestApp({ env: { PROVER_THREADS: '1' } })
  })
  after(() => app.close())

  it('a flood of one delays the single result of another by a few proofs only', async () => {
    const [busy, other] = [await app.organisation(), await app.organisation()]
    const order: string[] = []
    const verify = (name: string, apiKey: string) =>
      verified(app, apiKey, { data: DATA }).then(() => order.push(name))
    const flood = Array.from({ length: FLOOD }, () => verify('busy', busy.apiKey))
    await Promise.all([...flood, verify('other', other.apiKey)])
    expect(order.indexOf('other')).to.be.below(MOST_BEFORE)
  })
})
