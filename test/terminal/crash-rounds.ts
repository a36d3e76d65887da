/** Rounds of killing a terminal, shared by the quick and the slow test of it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { journalStorage } from '../../src/terminal/node.ts'
import { startProgram } from '../support/programs.ts'

export const PAYER = fileURLToPath(new URL('./programs/pay-until-killed.ts', import.meta.url))

/** Payments after which a round's process is killed: anywhere from the first one on. */
const MAX_PAYMENTS_BEFORE_KILL = 400
/** Coprime to it, so that rounds come to all of them, early and late ones in turn. */
const KILL_STEP = 149

/**
 * Kills a paying terminal with SIGKILL again and again, on one journal, and checks after each time that every payment
 * it acknowledged is recorded, and none twice.
 */
export const killTerminals = async (rounds: number): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-crash-'))
  const acknowledged: string[] = []
  let waitedFor = 0
  try {
    for (let round = 0; round < rounds; round++) {
      const payer = startProgram(PAYER, [directory, `round${round}`])
      const killAfter = 1 + ((round * KILL_STEP) % MAX_PAYMENTS_BEFORE_KILL)
      waitedFor += killAfter
      let seen = 0
      await new Promise<void>((resolve) => {
        payer.child.stdout?.on('data', (chunk: Buffer) => {
          seen += chunk.toString().split('\n').length - 1
          if (seen >= killAfter) resolve()
        })
        payer.child.on('close', () => resolve())
      })
      await payer.kill()
      expect(payer.errors()).to.equal('')
      // The last line may have been cut by the kill.
      acknowledged.push(...payer.lines.filter((line) => /^txn_[0-9a-z]{26}$/.test(line)))
      expect(payer.lines.filter((line) => line.startsWith('refused'))).to.deep.equal([])

      const storage = await journalStorage(directory).open()
      await storage.close()
      const recorded = storage.contents.records.flatMap((record) =>
        record.kind === 'payment' ? [record.transactionId] : [],
      )
      expect(new Set(recorded).size, 'recorded twice').to.equal(recorded.length)
      const known = new Set(recorded)
      expect(
        acknowledged.filter((id) => !known.has(id)),
        'acknowledged and lost',
      ).to.deep.equal([])
    }
    expect(acknowledged.length).to.be.at.least(waitedFor)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
