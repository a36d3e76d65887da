/** The program that recomputes why the subgroup check suffices. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'

const ROOT = join(import.meta.dirname, '../..')

describe('circuits:subgroup', function () {
  this.timeout(30_000)

  it('finds that what the Miller loop compares tells the subgroup', () => {
    const program = join(ROOT, 'src/bin/circuits/circuits-subgroup.ts')
    const { status, stdout } = spawnSync(process.execPath, ['--import=tsx', program], { encoding: 'utf8' })
    expect(stdout).to.include('gcd(norm of α, 2p − r): 1\n')
    expect(stdout).to.include('gcd(2p − r, r): 1\n')
    expect(stdout).to.include('norm of α modulo r: 0\n')
    expect(status).to.equal(0)
  })
})
