/** The programs that a server starts with where nobody compiles. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readRecord } from '../../src/bin/circuits/circuits-files.ts'
import { ids, sourceHash } from '../../src/bin/circuits/circuits-sources.ts'
import { keptPrograms } from '../../src/bin/circuits/witness-programs.ts'
import { sha256Hex } from '../../src/circuits/artifacts/setup-record.ts'

const sources = () => new Map(ids.map((id) => [id, sourceHash(id)]))

describe('kept witness programs', () => {
  it('are those of all circuits as they are now (npm run circuits:record keeps them anew)', () => {
    const kept = keptPrograms(sources())
    expect([...kept.keys()]).to.have.members(ids)
    const { circuits } = readRecord()
    for (const [id, program] of kept) expect(sha256Hex(program), id).to.equal(circuits[id]?.sha256.wasm)
  })

  it('are what compiling gives', () => {
    for (const [id, program] of keptPrograms(sources()))
      expect(sha256Hex(program), id).to.equal(
        sha256Hex(readFileSync(new URL(`../../build/circuits/${id}.wasm`, import.meta.url))),
      )
  })

  it('are offered for no other source', () => {
    const changed = sources().set('yesno', sourceHash('kyc'))
    expect([...keptPrograms(changed).keys()]).to.have.members(ids.filter((id) => id !== 'yesno'))
    expect(keptPrograms(new Map()).size).to.equal(0)
  })
})
