/** Tables of documents that say what the program says elsewhere: scopes, alerts, limits and metrics. */
import { expect } from 'chai'
import { DEFAULT_SCOPES, SCOPES } from '../../src/caller.ts'
import { SEVERITY } from '../../src/domain/security/service.ts'
import { createMetrics } from '../../src/metrics.ts'
import { routes } from '../../src/server/routes.ts'
import { read } from '../support/sources.ts'

/** Rows of the part of a document below a heading that begin with a name: the names of the first cell, and the other cells. */
const rowsBelow = (document: string, heading: string) => {
  const [, below = ''] = read(document).split(`\n${heading}\n`)
  const [part = ''] = below.split(/^#{2,3} /m)
  return part
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const [first = '', ...cells] = line.slice(2, -2).split(' | ')
      return { names: [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name), cells }
    })
}

describe('documents have in their tables', () => {
  it('every scope, and those that new keys lack at the end', () => {
    const named = rowsBelow('docs/accounts.md', '## Scopes').flatMap(({ names }) => names)
    expect(named).to.deep.equal([...SCOPES])
    const lacking = SCOPES.filter((scope) => !DEFAULT_SCOPES.includes(scope))
    expect(named.slice(-3)).to.deep.equal(lacking)
  })

  it('every type of alert, with how grave it is', () => {
    const rows = rowsBelow('docs/accounts.md', '## Security alerts').filter(({ cells }) => cells.length === 3)
    const said = rows.flatMap(({ names, cells: [severities = ''] }) =>
      severities.split(', ').map((severity, i) => [names[i], severity]),
    )
    expect(Object.fromEntries(said.filter(([name]) => name !== 'type'))).to.deep.equal(SEVERITY)
  })

  it('every route that counts as none, or as more than one request, and each limit of a route', () => {
    const [, part = ''] = read('docs/interface.md').split('\n## How much may be asked\n')
    const rowsFrom = (begin: string) => part.split('\n').filter((line) => line.startsWith(`| ${begin} |`))
    const limited: string[] = []
    for (const { cost = 1, path, addressLimit, method } of routes) {
      if (cost !== 1) expect(rowsFrom(`${cost}`).join(), path).to.include(path)
      // Those that are counted together are told by what they are for.
      if (addressLimit === undefined || addressLimit.bucket !== undefined) continue
      const { requests, windowSeconds } = addressLimit
      const limit = `${requests.toLocaleString('en')} ${windowSeconds === 60 ? 'a minute' : 'an hour'}`
      limited.push(`| \`${method} ${path}\` | ${limit} |`)
    }
    expect(limited.length).to.be.greaterThan(3)
    expect(part.split('\n')).to.include.members(limited)
  })

  it('every metric of the service', async () => {
    const text = await createMetrics().text()
    const own = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
    const named = rowsBelow('docs/telemetry.md', '## Metrics')
      .flatMap(({ names }) => names)
      .map((name) => name.replace(/\{.*\}$/, ''))
    expect(named.filter((name) => !name.endsWith('…'))).to.have.members(
      own.filter((name) => !/^(process|nodejs)_/.test(name)),
    )
  })
})
