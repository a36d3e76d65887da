import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { AppError, ERRORS, type ErrorCode, fail } from '../src/errors.ts'
import { asAppError, errorBody, errorCodesOf } from '../src/http/errors.ts'
import { routes } from '../src/server/routes.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]

/** Every TypeScript source file, as one text. */
const readSources = async (): Promise<string> => {
  const root = join(import.meta.dirname, '../src')
  const names = await readdir(root, { recursive: true })
  const texts = names
    .filter((name) => name.endsWith('.ts') && name !== 'errors.ts')
    .map((name) => readFile(join(root, name), 'utf8'))
  return (await Promise.all(texts)).join('\n')
}

describe('error codes', () => {
  it('are snake_case, have an error status and a meaning in a sentence', () => {
    for (const code of codes) {
      const [status, meaning] = ERRORS[code]
      expect(code).to.match(/^[a-z]+(_[a-z]+)*$/)
      expect(status, code).to.be.within(400, 599)
      expect(meaning, code).to.match(/^[A-Z].*\.$/)
    }
  })

  it('stand together by status', () => {
    const statuses = codes.map((code) => ERRORS[code][0])
    expect(statuses).to.deep.equal([...statuses].sort((a, b) => a - b))
  })

  it('are all used, so the table lists nothing that never happens', async () => {
    const sources = await readSources()
    expect(codes.filter((code) => !sources.includes(`'${code}'`))).to.deep.equal([])
  })

  it('that routes declare exist, and none is declared twice', () => {
    for (const route of routes) {
      expect(new Set(route.errors).size, route.name).to.equal(route.errors.length)
      for (const code of errorCodesOf(route)) expect(ERRORS, `${route.name}: ${code}`).to.have.property(code)
    }
  })

  it('every code makes an AppError with its status and meaning', () => {
    for (const code of codes) {
      const error = new AppError(code)
      expect([error.status, error.message]).to.deep.equal(ERRORS[code])
      expect(() => fail(code)).to.throw(AppError, ERRORS[code][1])
    }
  })

  it('whoever is told to come back is told when', () => {
    expect(new AppError('unavailable').retryAfter).to.equal(1)
    expect(new AppError('unavailable', { retryAfter: 7 }).retryAfter).to.equal(7)
    expect(new AppError('not_found').retryAfter).to.equal(undefined)
  })

  it('every 503 says when to come back, whoever throws it', () => {
    const silent = codes.filter((code) => ERRORS[code][0] === 503 && !new AppError(code).retryAfter)
    expect(silent).to.deep.equal([])
  })

  it('an unforeseen error says nothing about itself', () => {
    const body = errorBody(asAppError(new Error('password is hunter2')), 'req_1', '/v1/x')
    expect(body).to.deep.equal({ error: 'internal', message: ERRORS.internal[1], request_id: 'req_1' })
  })
})
