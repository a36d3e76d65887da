/** Whether the public signals of a proof are those of the statement that was asked. */
import { expect } from 'chai'
import { mismatch } from '../../../src/domain/proofs/statements/signed.ts'

describe('statements and signals', () => {
  const reasons = (asked: Readonly<Record<string, unknown>>) =>
    mismatch(asked, { required_bits: 128n, countries: [276n, 0n] }, 'CRITERIA_MISMATCH')

  it('are the same where every signal has the text of its member, and others are nobody’s business', () => {
    for (const asked of [
      { required_bits: '128', countries: ['276', '0'] },
      { required_bits: 128, countries: [276, 0] },
      { required_bits: '128', countries: ['276', '0'], purpose: 'age' },
    ])
      expect(reasons(asked), JSON.stringify(asked)).to.deep.equal([])
  })

  it('differ where a number is another, or none, or written in another way', () => {
    for (const required_bits of [
      '129',
      '0128',
      '128.0',
      ' 128',
      '',
      128.5,
      true,
      null,
      undefined,
      {},
      { toString: () => '128' },
      [128, 128],
      [[128]],
      [{}],
    ])
      expect(
        reasons({ required_bits, countries: ['276', '0'] }),
        JSON.stringify(required_bits),
      ).to.deep.equal(['CRITERIA_MISMATCH'])
  })

  it('differ where a list is shorter, longer, in another order, or holds other lists and objects', () => {
    for (const countries of [
      ['276'],
      ['276', '0', '0'],
      ['0', '276'],
      ['276', null],
      ['276', {}],
      [['276', '0']],
      [],
      '276 0',
      null,
      undefined,
    ])
      expect(reasons({ required_bits: '128', countries }), JSON.stringify(countries)).to.deep.equal([
        'CRITERIA_MISMATCH',
      ])
  })
})
