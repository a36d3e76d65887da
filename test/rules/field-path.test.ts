import { expect } from 'chai'
import fc from 'fast-check'
import { parseFieldPath, valueAt } from '../../src/rules/field-path.ts'
import { MAX_FIELD_CHARS } from '../../src/rules/rule.ts'

const find = (data: unknown, field: string): unknown => {
  const path = parseFieldPath(field)
  if (path === undefined) throw new Error(`no path: ${field}`)
  return valueAt(data, path)
}

describe('field paths', () => {
  it('reach names, names with dots and backslashes, and elements', () => {
    const data = { a: { b: [10, { c: 'deep' }] }, 'a.b': 1, 'back\\slash': 2, 'a/b~c': 3, '': { '': 4 } }
    expect(find(data, 'a.b.0')).to.equal(10)
    expect(find(data, 'a.b.1.c')).to.equal('deep')
    expect(find(data, '/a/b/1/c')).to.equal('deep')
    expect(find(data, 'a\\.b')).to.equal(1)
    expect(find(data, 'back\\\\slash')).to.equal(2)
    expect(find(data, '/a~1b~0c')).to.equal(3)
    expect(find(data, '/a.b')).to.equal(1)
    expect(find(data, 'a/b~c')).to.equal(3)
    expect(find(data, '//')).to.equal(4)
  })

  it('that lead nowhere find nothing', () => {
    const data = { a: { b: 1 }, list: [1, 2], text: 'abc', none: null }
    const nowhere = [
      'x',
      'a.x',
      'a.b.c',
      'list.2',
      'list.01',
      'list.-1',
      'list.length',
      'text.0',
      'text.length',
    ]
    for (const field of [...nowhere, 'none.x', '/a/b/', '/list/-'])
      expect(find(data, field), field).to.equal(undefined)
  })

  it('never see what a prototype holds', () => {
    for (const data of [{}, [], { a: {} }, 'text', 1, null]) {
      for (const name of [
        '__proto__',
        'constructor',
        'toString',
        'hasOwnProperty',
        'length',
        'a.__proto__',
        'a.constructor.name',
      ])
        expect(find(data, name), name).to.equal(undefined)
    }
  })

  it('that are malformed are no paths', () => {
    const long = 'a'.repeat(MAX_FIELD_CHARS)
    expect(parseFieldPath(long)).to.deep.equal([long])
    for (const text of ['', '.', 'a.', '.a', 'a..b', 'a\\', 'a\\b', '\\\\\\', '/a~', '/a~2', `${long}a`])
      expect(parseFieldPath(text), text).to.equal(undefined)
  })

  it('survive being written in either form', () => {
    const names = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(names, (path) => {
        const dotted = path.map((name) => name.replace(/[.\\]/g, '\\$&')).join('.')
        const pointer = path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
        expect(parseFieldPath(pointer)).to.deep.equal(path)
        if (!dotted.startsWith('/')) expect(parseFieldPath(dotted)).to.deep.equal(path)
      }),
    )
  })
})
