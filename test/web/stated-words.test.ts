/** What the console says was asked of a proof: of those made elsewhere, in their makers' words. */
import { expect } from 'chai'
import { statedWords } from '../../src/web/console/proofs/stated.ts'

describe('what was asked of a proof', () => {
  it('has words for what circuits state', () => {
    const stated = { op: 'gte', minLevel: '1', countries: ['0', '0'], attested_at: 1_780_000_000 }
    expect(statedWords(stated)).to.deep.equal([
      ['Comparison', 'is at least'],
      ['Level, at least', 'basic'],
      ['Countries', 'any'],
      ['Attested at', '2026-05-28T20:26:40.000Z'],
    ])
  })

  it('is told as it is where it is none of that, whatever it is called', () => {
    const no = { toString: 1 }
    for (const name of [...Object.getOwnPropertyNames(Object.prototype), 'attested_at', 'op', 'minLevel']) {
      const [[, text] = []] = statedWords({ [name]: 'constructor' })
      expect(text, name).to.equal('constructor')
    }
    expect(statedWords({ valueOf: 1, countries: [no] })).to.deep.equal([
      ['valueOf', '1'],
      ['Countries, as numbers', '[{"toString":1}]'],
    ])
  })
})
