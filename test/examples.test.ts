import { join } from 'node:path'
import { expect } from 'chai'
import { startProgram } from './support/programs.ts'

describe('examples', () => {
  it('offline-payments loses no payment and stores none twice', async function () {
    this.timeout(120_000)
    const example = startProgram(join(import.meta.dirname, '../examples/offline-payments.ts'))
    const status = await example.ended()
    const said = `${example.lines.join('\n')}\n${example.errors()}`
    expect(status, said).to.equal(0)
    expect(said).to.include('all 11 accepted payments are on the server')
    expect(example.lines.at(-1)).to.equal('No payment was lost, none was stored twice.')
  })
})
