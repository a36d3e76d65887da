import { join } from 'node:path'
import { expect } from 'chai'
import { createSigning } from '../../src/circuits/threads/signing.ts'
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
    const sign = createSigning(pool)
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

  it('are made on the thread that asks where no other can start', async () => {
    const failures: unknown[] = []
    const pool = createWorkerPool({
      threads: 1,
      artifacts,
      program: join(import.meta.dirname, '../support/programs/fails-to-load.js'),
      onFailure: (error) => failures.push(error),
    })
    const scheme = mlDsa('ML-DSA-44')
    const { publicKey, secretKey } = scheme.keygen(new Uint8Array(32).fill(7))
    const asked: SignatureAsked = { alg: 'ML-DSA-44', secretKey, message, context: new Uint8Array(0) }
    try {
      expect(scheme.verify(await createSigning(pool)(asked), message, publicKey)).to.equal(true)
      expect(failures).to.have.length(1)
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
