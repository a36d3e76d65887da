/**
 * Pays with one card after another, eight at a time, until it is killed or every payment is refused. Prints the
 * transaction id of each payment once it is accepted. Arguments: directory of the journal, prefix of the cards.
 */
import { writeSync } from 'node:fs'
import { createTerminal, journalStorage } from '../../../src/terminal/node.ts'

const TILLS = 8
const REFUSALS_TO_END = 50
const [directory = '', prefix = ''] = process.argv.slice(2)
const terminal = await createTerminal({
  baseUrl: 'http://127.0.0.1:9',
  apiKey: 'vk_test_0123456789abcdef',
  merchantId: 'mer_1',
  storage: journalStorage(directory),
  limits: { storedSumLimit: 'none' },
})

const payOn = async (till: number): Promise<void> => {
  let refusedInARow = 0
  for (let i = 0; refusedInARow < REFUSALS_TO_END; i++) {
    const { accepted, transactionId, error } = await terminal.pay({
      cardToken: `${prefix}-${till}-${i}`,
      amount: 1,
    })
    refusedInARow = accepted ? 0 : refusedInARow + 1
    // Synchronous, so that what was acknowledged is out before the next thing happens.
    writeSync(1, accepted ? `${transactionId}\n` : `refused ${error}\n`)
  }
}
await Promise.all(Array.from({ length: TILLS }, (_, till) => payOn(till)))
