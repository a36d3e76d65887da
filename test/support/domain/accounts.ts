/** Accounts of the console: opening one, signing in. */
import { randomBytes } from 'node:crypto'
import type { TestApp } from '../app.ts'
import { type Client, ok } from '../client.ts'
import { sealingOf } from '../sealing.ts'

export const newAccount = () => ({
  email: `${randomBytes(6).toString('hex')}@Shop.example`,
  password: 'correct horse battery',
  organisation: 'Corner shop',
})

/** Opens an account. */
export const signUp = async (client: Client) => {
  const account = newAccount()
  const made = await ok<{ accountId: string; organisationId: string; merchantId: string }>(
    client,
    'POST',
    '/console/api/accounts',
    { body: account },
  )
  return { ...account, ...made }
}

/** Signs in and returns what a browser would send from then on. */
export const signIn = async (client: Client, { email, password }: { email: string; password: string }) => {
  const { status, headers, body } = await client.request<{ csrfToken: string }>(
    'POST',
    '/console/api/session',
    { body: { email, password } },
  )
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

/** What the entries of an organisation say, oldest first. */
export const eventsOf = async (
  { services }: Pick<TestApp, 'services'>,
  organisation: string,
): Promise<Record<string, unknown>[]> => {
  const rows = await services.database.knex('ledger_entries').where({ organisation }).orderBy('idx')
  return rows.map(({ entry }: { entry: string }) => JSON.parse(entry).data)
}

/** Writes that some attempts were made in the window that has just begun. */
export const spendBudget = async (
  app: Pick<TestApp, 'services' | 'config'>,
  bucket: string,
  attempts: number,
): Promise<void> => {
  const key = (await sealingOf(app)).mac('credential-attempts', Buffer.from(bucket))
  await app.services.database
    .knex('credential_attempts')
    .insert({ bucket: key, attempts, ends_at: Date.now() + 15 * 60_000 })
}
