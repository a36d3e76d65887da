/** Objects among JSON values, and values as text. */
import { expect } from 'chai'
import { isObject, plainText } from '../../src/protocol/json-object.ts'

describe('JSON values', () => {
  it('are objects or something else', () => {
    for (const value of [{}, { a: 1 }, Object.create(null)]) expect(isObject(value)).to.equal(true)
    for (const value of [null, undefined, [], [{}], 'a', 1, true]) expect(isObject(value)).to.equal(false)
  })

  it('have a text, lists that of their values, unless they hold what has no text of its own', () => {
    for (const [value, text] of [
      ['a', 'a'],
      ['', ''],
      [1, '1'],
      [1.5, '1.5'],
      [true, 'true'],
      [null, ''],
      [undefined, ''],
      [[], ''],
      [['1', 2, false], '1,2,false'],
      [['a', null], 'a,'],
      [{}, undefined],
      [{ toString: () => '1' }, undefined],
      [['1', {}], undefined],
      [[['1']], undefined],
      [[[]], undefined],
    ] as const)
      expect(plainText(value), JSON.stringify(value)).to.equal(text)
  })
})
