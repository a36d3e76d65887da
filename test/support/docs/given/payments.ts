/** docs/payments.md: a till takes a payment. */
import { expect } from 'chai'
import type { PaymentResult, Terminal } from '../../../../src/terminal/index.ts'
import { createTerminal, service } from '../reader.ts'

export const baseUrl = service
export const { apiKey, merchantId, terminalId, terminalSecret } = await createTerminal()

export const checks = [
  async ({ terminal, paid }: { terminal: Terminal; paid: PaymentResult }) => {
    const { transactionId, ...said } = paid
    expect(transactionId).to.match(/^txn_/)
    expect(said).to.deep.equal({ accepted: true, proofBytes: 49, synced: true, queued: false })
    await terminal.close()
  },
] as const
