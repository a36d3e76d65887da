import { expect } from 'chai'
import { describeCoverage, readCoverage, writtenCoverage } from '../../src/bin/docs/api-coverage.ts'
import { routes } from '../../src/server/routes.ts'

describe('coverage of the specified interface', () => {
  const coverage = readCoverage(routes)

  it('serves every route that the specifications name', () => {
    expect(coverage.filter(({ name }) => name === undefined)).to.deep.equal([])
  })

  it('has a test of its own for every one of them', () => {
    expect(coverage.filter(({ tests }) => tests.length === 0)).to.deep.equal([])
  })

  it('is told as it is (npm run docs:coverage writes it)', () => {
    expect(writtenCoverage()).to.equal(describeCoverage(coverage))
  })
})
