/** What `npm ci` says of engines: nothing, on every Node that docs/support.md names. npm itself compares the versions. */
import { expect } from 'chai'
import { run } from '../support/packages.ts'
import { ROOT, read } from '../support/sources.ts'

/** The first of each line of versions: nobody demands less of a later one. */
const FIRST = ['20.19.0', '22.12.0', '23.0.0', '24.0.0']

interface Demanding {
  readonly name: string
  readonly engines: { readonly node: string }
  /** npm leaves it out without a word where it does not fit. */
  readonly optional?: boolean
}

/** @returns packages of package-lock.json that are not for this version of Node */
const unfitFor = async (version: string): Promise<string[]> => {
  const unfit = `:attr(engines, [node]):not(:semver(${version}, :attr(engines, [node])))`
  const found = JSON.parse(await run(ROOT, 'npm', 'query', '--package-lock-only', unfit)) as Demanding[]
  return found
    .filter(({ optional }) => !optional)
    .map(({ name, engines }) => `${name} needs Node ${engines.node}, not ${version}`)
}

describe('npm ci', () => {
  it('installs nothing that is more demanding than we are', async () => {
    const unfit = await Promise.all(FIRST.map(unfitFor))
    expect(unfit.flat()).to.deep.equal([])
  })

  it('is held to the versions that docs/support.md names, and would be told of others', async () => {
    expect(read('docs/support.md')).to.include('20.19 or newer of 20, 22.12 or newer of 22, 23 and later')
    expect(await unfitFor('20.18.0')).not.to.deep.equal([])
  })
})
