/** A witness that is killed while it decides: whatever it ever cosigned, it never cosigns a tree that does not go on from that. */
import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { leafHash } from '../../support/reference/merkle.ts'
import { onEmbedded } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { addBody, cosignedAt, createTestLog, post, show } from '../../support/tlog.ts'
import { startWitness } from '../../support/witness-process.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 8)
const LEAVES = 2_000
/** From before the first answer to some hundred of them. */
const MAX_LIFE_MS = 400

onEmbedded.describe('a witness that is killed', () => {
  const temporary = temporaryDirectories()

  it(`keeps what it cosigned, in ${ROUNDS} kills`, async () => {
    const log = createTestLog('log.example', LEAVES)
    const forkedAt = (size: number) => [
      ...log.leaves.slice(0, size - 1),
      leafHash(Buffer.of(1)),
      leafHash(Buffer.of(2)),
    ]
    const directory = await temporary()
    const logs = join(await temporary(), 'logs.txt')
    await writeFile(logs, log.keys[0])
    /** The largest tree for which there is a cosignature. */
    let cosigned = 0
    let known = 0
    let kills = 0
    for (let round = 0; round < ROUNDS; round++) {
      const witness = await startWitness('witness.example', directory, logs, '--per-minute', '100000')
      const named = Number((await show(witness.url, log, 1, Math.max(1, known))).text)
      // It remembers at least what it answered, and may have remembered more than it could say.
      known = Number.isNaN(named) ? known : named
      expect(known, 'forgot what it cosigned').to.be.at.least(cosigned)
      if (known > 1) {
        const fork = forkedAt(known)
        const same = await post(witness.url, addBody(known, [], log.note(known, { leaves: fork })))
        const next = await post(
          witness.url,
          addBody(known, log.proof(known, known + 1), log.note(known + 1, { leaves: fork })),
        )
        expect([same.status, next.status], 'cosigned a fork').to.deep.equal([422, 422])
      }
      const dies = async (): Promise<void> => {
        // The first one lives until there is something to forget, however slow the machine is.
        while (cosigned === 0) await pause(1)
        await pause(randomInt(MAX_LIFE_MS))
        await witness.kill()
      }
      const killing = dies()
      for (let alive = true; alive && known + 1 < LEAVES; ) {
        const answer = await show(witness.url, log, known, known + 1).catch(() => undefined)
        alive = answer !== undefined
        if (answer?.status !== 200) continue
        known += 1
        expect(cosignedAt(log.note(known), answer.text, witness.keys[0])).to.be.a('number')
        cosigned = known
      }
      await killing
      kills++
    }
    expect(kills).to.equal(ROUNDS)
    expect(cosigned).to.be.greaterThan(0)
  }).timeout(300_000)
})
