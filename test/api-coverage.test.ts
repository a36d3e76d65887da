import { expect } from 'chai'
import { describeCoverage, readCoverage, writtenCoverage } from '../src/bin/api-coverage.ts'
import { routes } from '../src/routes.ts'

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
