import { expect } from 'chai'
import { journalStorage } from '../../src/terminal/node.ts'
import { startCommand } from '../support/programs.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'
import { killTerminals, PAYER } from './crash-rounds.ts'

describe('a terminal that is killed while it pays', () => {
  it('has recorded every payment it acknowledged, and none twice', async function () {
    this.timeout(60_000)
    await killTerminals(2)
  })
})

describe('a terminal that can write no more', () => {
  const directory = temporaryDirectories()

  it('refuses payments, and has recorded exactly those it accepted', async function () {
    this.timeout(60_000)
    const folder = await directory()
    // Files may grow to 64 blocks of 512 bytes (1024 in some shells); then a write fails, part of it done.
    const limited = 'trap "" XFSZ; ulimit -f 64; exec "$0" "$@"'
    const payer = startCommand(
      'sh',
      ['-c', limited, process.execPath, '--import=tsx', PAYER, folder, 'full'],
      {
        env: { TSX_DISABLE_CACHE: '1' },
      },
    )
    expect(await payer.ended(), payer.errors()).to.equal(0)
    expect(payer.lines.at(-1)).to.match(/^refused storage_failed: /)
    const storage = await journalStorage(folder).open()
    await storage.close()
    const recorded = storage.contents.records.flatMap((record) =>
      record.kind === 'payment' ? [record.transactionId] : [],
    )
    const accepted = payer.lines.filter((line) => line.startsWith('txn_'))
    expect(accepted.length).to.be.greaterThan(20)
    expect(recorded.sort()).to.deep.equal(accepted.sort())
  })
})
