/** How many proofs of an upload are judged at a time, and what becomes of the rest when one can't be. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Examined } from '../../../src/domain/proofs/checking.ts'
import { JUDGED_AT_ONCE, planSync, type SyncDeps } from '../../../src/domain/proofs/sync.ts'
import { AppError } from '../../../src/errors.ts'
import type { Tx } from '../../../src/ledger/decision.ts'
import { callerOf } from '../../support/ledger.ts'
import { rejection } from '../../support/rejection.ts'

const PROOFS = 50

/** A judge that is asked for proofs by number, and refuses each with a reason of that number when the test says so. */
const heldJudge = () => {
  const waiting: { readonly number: string; readonly end: (error?: Error) => void }[] = []
  let most = 0
  const refused = (number: string): Examined => ({
    valid: false,
    verified: false,
    decision: null,
    digest: null,
    circuitId: null,
    proofId: number,
    context: null,
    reasonCodes: ['PROOF_INVALID'],
  })
  const deps: SyncDeps = {
    check: () => undefined,
    recordOf: async () => undefined,
    isOnRecord: async () => false,
    others: {
      watch: () => undefined,
      look: async () => undefined,
      has: () => false,
      spentAt: () => undefined,
      isSuperseded: () => false,
    },
    examine: (_, { proofId = '' }) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(refused(proofId)))
        waiting.push({ number: proofId, end })
        most = Math.max(most, waiting.length)
      }),
  }
  return { deps, waiting, most: () => most }
}

const upload = {
  proofs: Array.from({ length: PROOFS }, (_, i) => ({ proofId: `prf_${i}`, proof: 'zk1.x' })),
}
// Nothing of what is refused reads or writes.
const NO_TX = {} as Tx

describe('the proofs of an upload', () => {
  it('are judged several at a time, and told of in their places, whichever is done first', async () => {
    const { deps, waiting, most } = heldJudge()
    const planning = planSync(deps, callerOf('org_1'), upload, 0)
    for (let ended = 0; ended < PROOFS; ) {
      await turn()
      if (waiting.length < Math.min(JUDGED_AT_ONCE, PROOFS - ended)) continue
      waiting.splice(-1, 1)[0]?.end()
      ended++
    }
    const { errors } = (await planning)(NO_TX)
    expect(errors.map(({ index, proofId }) => [index, proofId])).to.deep.equal(
      upload.proofs.map(({ proofId }, index) => [index, proofId]),
    )
    expect(most()).to.equal(JUDGED_AT_ONCE)
  })

  it('are not begun any more when one could not be judged', async () => {
    const { deps, waiting } = heldJudge()
    const planning = rejection(planSync(deps, callerOf('org_1'), upload, 0))
    while (waiting.length < JUDGED_AT_ONCE) await turn()
    waiting[0]?.end(new AppError('proof_service_unavailable'))
    expect(await planning).to.include({ code: 'proof_service_unavailable' })
    for (const { end } of waiting.slice(1)) end()
    for (let i = 0; i < 20; i++) await turn()
    // One may have taken the place of the first before that was known.
    expect(waiting.length).to.be.at.most(JUDGED_AT_ONCE + 1)
  })
})
