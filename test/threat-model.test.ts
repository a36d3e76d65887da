/** docs/threat-model.md names the tests that show what holds: each is there, under that title. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT, read } from './support/sources.ts'

const NAMED = /`(test\/[\w./-]+\.test\.ts)` “([^”]+)”/g
const ROW = /^\| (?!Threat |Asset |---)/

describe('the threat model', () => {
  const [, boundaries = ''] = read('docs/threat-model.md').split('\n## Boundaries\n')
  const rows = boundaries.split('\n').filter((line) => ROW.test(line))

  it('names tests that exist, by their titles', () => {
    const named = [...boundaries.matchAll(NAMED)]
    expect(named.length).to.be.above(40)
    const missing = named.filter(
      ([, file = '', title = '']) => !existsSync(join(ROOT, file)) || !read(file).includes(title),
    )
    expect(missing.map(([text]) => text)).to.deep.equal([])
  })

  it('says of each threat what holds, and which test shows it', () => {
    expect(rows.length).to.be.above(30)
    expect(rows.filter((row) => row.split(' | ').length !== 3 || !row.match(NAMED))).to.deep.equal([])
  })
})
