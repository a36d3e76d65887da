/** Accounts of the console: opening one, signing in. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { TestApp } from '../app.ts'

export const newAccount = () => ({
  email: `${randomBytes(6).toString('hex')}@Shop.example`,
  password: 'correct horse battery',
  organisation: 'Corner shop',
})

/** Opens an account. */
export const signUp = async (app: TestApp) => {
  const account = newAccount()
  const { status, body } = await app.request<{
    accountId: string
    organisationId: string
    merchantId: string
  }>('POST', '/console/api/accounts', { body: account })
  expect(status).to.equal(201)
  return { ...account, ...body }
}

/** Signs in and returns what a browser would send from then on. */
export const signIn = async (app: TestApp, { email, password }: { email: string; password: string }) => {
  const { status, headers, body } = await app.request<{ csrfToken: string }>('POST', '/console/api/session', {
    body: { email, password },
  })
  const setCookie = headers.get('set-cookie') ?? ''
  const cookie = setCookie.split(';', 1)[0] ?? ''
  return {
    status,
    setCookie,
    cookie,
    csrf: body.csrfToken,
    headers: { cookie, 'x-csrf-token': body.csrfToken },
  }
}
