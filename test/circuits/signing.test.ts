import { expect } from 'chai'
import { inTurn } from '../../src/circuits/threads/in-turn.ts'
import { createWorkerPool } from '../../src/circuits/threads/worker-pool.ts'
import { mlDsa, type SignatureAsked } from '../../src/keys/ml-dsa.ts'
import { sharedApp } from '../support/app.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { rejection } from '../support/rejection.ts'

const message = Buffer.from('what was signed')

describe('signatures on threads', () => {
  it('hold under the key and the context that were given, which the caller keeps', async function () {
    this.timeout(30_000)
    const pool = createWorkerPool({ threads: 1, artifacts })
    const sign = inTurn(pool, pool.sign)
    try {
      const made = (['ML-DSA-44', 'ML-DSA-65'] as const).map(async (alg) => {
        const scheme = mlDsa(alg)
        const { publicKey, secretKey } = scheme.keygen(new Uint8Array(32).fill(7))
        const asked: SignatureAsked = { alg, secretKey, message, context: Buffer.from('here') }
        const signatures = [await sign(asked), await sign({ ...asked, context: new Uint8Array(0) })]
        const holds = signatures.map((signature) =>
          scheme.verify(signature, message, publicKey, { context: Buffer.from('here') }),
        )
        expect(holds, alg).to.deep.equal([true, false])
        const tooLong = { ...asked, context: new Uint8Array(256) }
        expect(await rejection(sign(tooLong))).to.be.instanceOf(RangeError)
      })
      await Promise.all(made)
    } finally {
      await pool.close()
    }
  })

  it('are what a server makes, while its own thread goes on', async () => {
    const { signers, workerPool } = (await sharedApp()).services
    const { sign } = await signers.postQuantum('tokens', 'ML-DSA-65')
    const before = workerPool.running()
    const signature = sign(message)
    expect(workerPool.running()).to.equal(Math.min(before + 1, workerPool.threads))
    expect(await signature).to.have.length(3309)
  })
})
