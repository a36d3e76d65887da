/** Lists of the console whose pages may be empty before their end. */
import { expect } from 'chai'
import { readRows } from '../../src/web/console/parts/read-rows.ts'

/** A list of pages, whose cursors are their numbers. */
const listOf = (pages: readonly (readonly string[])[]) => {
  const asked: string[] = []
  const ask = async (path: string) => {
    asked.push(path)
    const number = Number(new URL(path, 'http://here').searchParams.get('cursor') ?? 0)
    return { rows: pages[number] ?? [], nextCursor: number + 1 < pages.length ? String(number + 1) : null }
  }
  return { asked, read: (path: string, cursor?: string) => readRows(ask, path, ({ rows }) => rows, cursor) }
}

describe('lists of the console', () => {
  it('are read on until there are rows', async () => {
    const { read, asked } = listOf([[], [], ['a', 'b'], ['c']])
    expect(await read('/list?status=spent')).to.deep.equal({ rows: ['a', 'b'], next: '3', complete: true })
    expect(asked).to.deep.equal([
      '/list?status=spent',
      '/list?status=spent&cursor=1',
      '/list?status=spent&cursor=2',
    ])
    expect(await read('/list', '3')).to.deep.equal({ rows: ['c'], next: null, complete: true })
  })

  it('are empty only at their end', async () => {
    expect(await listOf([[]]).read('/list')).to.deep.equal({ rows: [], next: null, complete: true })
    expect(await listOf([[], []]).read('/list')).to.deep.equal({ rows: [], next: null, complete: true })
    const { read, asked } = listOf(Array.from({ length: 30 }, () => []))
    expect(await read('/list')).to.deep.equal({ rows: [], next: '10', complete: true })
    expect(asked).to.have.length(10)
  })

  it('go on also where the route names its cursor as agents do', async () => {
    const ask = async (path: string) =>
      path.includes('cursor=1') ? { rows: ['b'], next_cursor: null } : { rows: ['a'], next_cursor: '1' }
    const rowsOf = ({ rows }: { rows: string[] }) => rows
    expect(await readRows(ask, '/history', rowsOf)).to.deep.equal({ rows: ['a'], next: '1', complete: true })
    expect(await readRows(ask, '/history', rowsOf, '1')).to.deep.equal({
      rows: ['b'],
      next: null,
      complete: true,
    })
  })
})
