import { scryptSync } from 'node:crypto'
import { expect } from 'chai'
import { hashPassword, PASSWORD_COST, SECRET_COST, verifyPassword } from '../../src/keys/passwords.ts'

/** Cheap, for tests that don't look at the cost. */
const COST = { N: 1024, r: 8, p: 1 }

describe('password hashes', () => {
  it('verify the password and nothing else', async () => {
    const hash = await hashPassword('correct horse', COST)
    expect(await verifyPassword('correct horse', hash)).to.equal(true)
    for (const wrong of ['', 'correct horse ', 'Correct horse']) {
      expect(await verifyPassword(wrong, hash)).to.equal(false)
    }
  })

  it('are scrypt with the cost and salt that they name', async () => {
    const hash = await hashPassword('secret')
    const [scheme, N, r, p, salt = '', key] = hash.split('$')
    expect([scheme, N, r, p]).to.deep.equal(['scrypt', '32768', '8', '1'])
    const options = { ...PASSWORD_COST, maxmem: 2 ** 26 }
    expect(scryptSync('secret', Buffer.from(salt, 'base64url'), 32, options).toString('base64url')).to.equal(
      key,
    )
  })

  it('cost at least 16 MiB each', () => {
    for (const { N, r } of [PASSWORD_COST, SECRET_COST]) expect(128 * N * r).to.be.at.least(2 ** 24)
  })

  it('have a salt of their own', async () => {
    expect(await hashPassword('same', COST)).to.not.equal(await hashPassword('same', COST))
  })

  it('take composed and decomposed characters for the same', async () => {
    expect(await verifyPassword('caf\u0065\u0301', await hashPassword('caf\u00e9', COST))).to.equal(true)
  })

  it('of nobody are never right', async () => {
    expect(await verifyPassword('', undefined, COST)).to.equal(false)
  })

  it('are refused when too many wait, instead of filling the queue', async () => {
    const results = await Promise.allSettled(Array.from({ length: 80 }, () => hashPassword('x', COST)))
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(failures).to.have.length(16)
    for (const failure of failures) expect(failure).to.include({ code: 'unavailable', retryAfter: 2 })
    expect(await verifyPassword('x', await hashPassword('x', COST))).to.equal(true)
  })

  it('throw on a text that is no hash of ours', async () => {
    const failure = await verifyPassword('x', 'md5$abc').catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(Error)
  })
})
