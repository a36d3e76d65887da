/** Verification on the threads of the pool, which run the built bundle: batches, turns, limits and ends. */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { CircuitId } from '../../src/circuits/catalogue.ts'
import type { ProofVerdict } from '../../src/circuits/proof-form.ts'
import type { Proved } from '../../src/circuits/proving/groth16.ts'
import { createProver } from '../../src/circuits/proving/prover.ts'
import { createWorkerPool, type WorkerPool } from '../../src/circuits/threads/worker-pool.ts'
import {
  createVerifier,
  type Verifier,
  type VerifierOptions,
} from '../../src/circuits/verifying/verifier-queue.ts'
import { AppError } from '../../src/errors.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { GOOD_INPUTS, goodProof } from '../support/domain/proofs.ts'
import { g1, g1Json } from '../support/reference/groth16.ts'
import { rejection } from '../support/rejection.ts'

const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise)
  return error instanceof AppError ? error.code : error.message
}

/** A pool that keeps what it is asked for until it is let go on; its threads are real. */
const recorded = (pool: WorkerPool) => {
  const batches: { circuitId: CircuitId; size: number }[] = []
  return {
    batches,
    pool: {
      ...pool,
      verify: async (circuitId: CircuitId, proofs: readonly Uint8Array[]) => {
        batches.push({ circuitId, size: proofs.length })
        return pool.verify(circuitId, proofs)
      },
    },
  }
}

describe('verifier on threads', function () {
  this.timeout(60_000)
  const closers: (() => Promise<void>)[] = []
  let yesno: Proved
  let simple: Proved
  let bad: Proved
  before(async () => {
    yesno = await goodProof('yesno')
    simple = await goodProof('simple_yesno')
    // Good points of another proof: what only the pairing tells.
    bad = { ...yesno, proof: { ...yesno.proof, pi_c: g1Json(g1(yesno.proof.pi_c).double()) } }
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })
  const start = (options: Partial<VerifierOptions> = {}, threads = 1, program?: string) => {
    const pool = createWorkerPool({ threads, artifacts, program })
    const record = recorded(pool)
    const verifier = createVerifier({ pool: record.pool, artifacts, ...options })
    closers.push(
      () => pool.close(),
      () => verifier.close(),
    )
    return { verifier, pool, batches: record.batches }
  }
  const verify = (verifier: Verifier, proved: Proved, owner = 'org_1', circuit = 'yesno') =>
    verifier.verify(circuit, proved.proof, proved.publicSignals, owner)
  /** Asks at once, and waits until the thread is free again. */
  const many = async (count: number, ask: (i: number) => Promise<ProofVerdict>) => {
    const verdicts = await Promise.all(Array.from({ length: count }, (_, i) => ask(i)))
    await setImmediate()
    return verdicts
  }

  it('begins at once when a thread is free, and verifies together what came meanwhile', async () => {
    const { verifier, batches } = start()
    const verdicts = await many(150, () => verify(verifier, yesno))
    expect(verdicts.every(({ valid }) => valid)).to.equal(true)
    expect(batches.map(({ size }) => size)).to.deep.equal([1, 64, 64, 21])
  })

  it('verifies proofs of one circuit together, those of the oldest first, and tells every verdict to whom it belongs', async () => {
    const { verifier, batches } = start()
    const asked = [yesno, simple, bad, yesno, simple, yesno]
    const verdicts = await many(6, (i) => {
      const proved = asked[i] ?? yesno
      return verify(verifier, proved, `org_${i}`, proved === simple ? 'simple_yesno' : 'yesno')
    })
    expect(verdicts.map(({ valid }) => valid)).to.deep.equal(asked.map((proved) => proved !== bad))
    expect(verdicts[2]).to.deep.equal({ valid: false, reason: 'PROOF_INVALID' })
    expect(batches).to.deep.equal([
      { circuitId: 'yesno', size: 1 },
      { circuitId: 'simple_yesno', size: 2 },
      { circuitId: 'yesno', size: 3 },
    ])
  })

  it('lets an owner who asks for little wait for one batch of the flood of another', async () => {
    const { verifier } = start()
    const order: string[] = []
    const ask = (owner: string) => verify(verifier, yesno, owner).then(() => order.push(owner))
    const flood = Array.from({ length: 200 }, () => ask('org_1'))
    await Promise.all([...flood, ask('org_2'), ask('org_3')])
    expect(Math.max(order.indexOf('org_2'), order.indexOf('org_3'))).to.be.at.most(1 + 64)
  })

  it('verifies the proofs of an owner who spoilt a batch alone for ten seconds, and those of others together', async () => {
    let now = 0
    const { verifier, batches } = start({ now: () => now })
    const round = async (spoilt: Proved) => {
      batches.length = 0
      const verdicts = await many(9, (i) =>
        verify(verifier, i === 4 ? spoilt : yesno, i > 0 && i < 5 ? 'org_bad' : 'org_good'),
      )
      expect(verdicts.map(({ valid }) => valid)).to.deep.equal(
        verdicts.map((_, i) => i !== 4 || spoilt !== bad),
      )
      return batches.map(({ size }) => size).sort((a, b) => a - b)
    }
    expect(await round(bad)).to.deep.equal([1, 8])
    expect(await round(bad)).to.deep.equal([1, 1, 1, 1, 1, 4])
    now = 9_999
    expect(await round(yesno)).to.deep.equal([1, 1, 1, 1, 1, 4])
    now = 10_000
    expect(await round(yesno)).to.deep.equal([1, 8])
  })

  it('does not hold it against an owner that a proof was none at first sight, nor a bad one that was alone', async () => {
    const { verifier, batches } = start()
    await many(1, () => verify(verifier, bad))
    const [x = '', y = ''] = yesno.proof.pi_a
    const off = { ...yesno, proof: { ...yesno.proof, pi_a: [x, String(BigInt(y) + 1n), '1'] } }
    const verdicts = await many(5, (i) => verify(verifier, i === 2 ? off : yesno))
    expect(verdicts[2]).to.deep.equal({ valid: false, reason: 'POINT_NOT_ON_CURVE' })
    await many(5, () => verify(verifier, yesno))
    expect(batches.map(({ size }) => size)).to.deep.equal([1, 1, 4, 1, 4])
  })

  it('refuses without a thread what can be no proof, and circuits that there are not', async () => {
    const { verifier, batches } = start()
    for (const circuit of ['', 'nothing', 'toString', '__proto__'])
      expect(await verify(verifier, yesno, 'org_1', circuit)).to.deep.equal({
        valid: false,
        reason: 'CIRCUIT_UNKNOWN',
      })
    expect(await verify(verifier, { ...yesno, publicSignals: [] })).to.deep.equal({
      valid: false,
      reason: 'SIGNAL_COUNT',
    })
    expect(batches).to.deep.equal([])
  })

  it('refuses what is too much of one owner or of all with 503, and takes more once it emptied', async () => {
    const { verifier } = start({ limits: { total: 3, perOwner: 2 } })
    const taken = [verify(verifier, yesno), verify(verifier, yesno), verify(verifier, yesno)]
    const overloaded = await rejection(verify(verifier, yesno))
    expect(overloaded).to.be.instanceOf(AppError).with.property('code', 'proof_service_unavailable')
    expect(overloaded).to.include({ status: 503, retryAfter: 1 })
    taken.push(verify(verifier, yesno, 'org_2'))
    expect(await codeOf(verify(verifier, yesno, 'org_3'))).to.equal('proof_service_unavailable')
    expect((await Promise.all(taken)).every(({ valid }) => valid)).to.equal(true)
    expect((await verify(verifier, yesno)).valid).to.equal(true)
  })

  it('takes turns with the prover, whichever has more to do', async () => {
    const { verifier, pool } = start()
    const prover = createProver({ pool })
    closers.push(() => prover.close())
    await pool.warm()
    const order: string[] = []
    const proofs = Array.from({ length: 3 }, () =>
      prover
        .prove('simple_yesno', GOOD_INPUTS.simple_yesno, 'paying', 'org_1')
        .then(() => order.push('made')),
    )
    const first = verify(verifier, yesno).then(() => order.push('verified'))
    const other = verify(verifier, simple, 'org_2', 'simple_yesno').then(() => order.push('verified'))
    await Promise.all([...proofs, first, other])
    expect(order).to.deep.equal(['made', 'verified', 'made', 'verified', 'made'])
  })

  it('fails what waits for threads that cannot start, and goes on refusing', async () => {
    const program = join(import.meta.dirname, '../support/programs/fails-to-load.js')
    const { verifier } = start({}, 2, program)
    expect(await Promise.all([verify(verifier, yesno), verify(verifier, yesno)].map(codeOf))).to.deep.equal([
      'unavailable',
      'unavailable',
    ])
  })

  it('finishes what runs when it closes, and refuses what waits and what comes', async () => {
    const { verifier } = start()
    const running = verify(verifier, yesno)
    const waiting = [
      codeOf(verify(verifier, yesno)),
      codeOf(verify(verifier, simple, 'org_2', 'simple_yesno')),
    ]
    const closed = verifier.close()
    expect(await codeOf(verify(verifier, yesno))).to.equal('unavailable')
    expect(await Promise.all(waiting)).to.deep.equal(['unavailable', 'unavailable'])
    expect(await running).to.deep.equal({ valid: true })
    await closed
    await verifier.close()
  })
})
