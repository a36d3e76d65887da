/** Things that happen in an organisation, and the exports that tell of them. */
import { randomUUID } from 'node:crypto'
import type { TestApp, TestOrganisation } from '../app.ts'

const QUESTION = {
  data: { age: 36 },
  options: { circuit_id: 'simple_yesno', rules: [{ field: 'age', op: 'gte', value: 18 }] },
}

/** A row of an export, as the formats of JSON lines have it. */
export type ExportedRow = Readonly<Record<string, string | number | null>> & { readonly type: string }

/** Makes an entry of type `account`. @returns the key's id */
export const makeKey = async (
  app: TestApp,
  { apiKey }: Pick<TestOrganisation, 'apiKey'>,
): Promise<string> => {
  const body = { label: `spare ${randomUUID()}` }
  const made = await app.request<{ keyId: string }>('POST', '/console/api/keys', { key: apiKey, body })
  if (made.status !== 201) throw new Error(`no key: ${made.status}`)
  return made.body.keyId
}

/** Makes and revokes a key: entries of types `account` and `key.revoked`. @returns the key's id */
export const revokeKey = async (app: TestApp, owner: Pick<TestOrganisation, 'apiKey'>): Promise<string> => {
  const keyId = await makeKey(app, owner)
  const { status } = await app.request('DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey })
  if (status >= 300) throw new Error(`not revoked: ${status}`)
  return keyId
}

/** An entry of type `verify`. */
export const verifySomething = async (
  app: TestApp,
  { apiKey }: Pick<TestOrganisation, 'apiKey'>,
): Promise<void> => {
  const { status, body } = await app.request('POST', '/verify', { key: apiKey, body: QUESTION })
  if (status !== 200) throw new Error(`no verification: ${status} ${JSON.stringify(body)}`)
}

/** An export as text. */
export const exported = async (
  app: TestApp,
  { apiKey }: Pick<TestOrganisation, 'apiKey'>,
  kind: 'siem' | 'evidence',
  query: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; text: string }> => {
  const url = `${app.url}/api/export/${kind}?${new URLSearchParams(query)}`
  const response = await fetch(url, { headers: { 'x-api-key': apiKey } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

export const linesOf = (text: string): ExportedRow[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ExportedRow)

/** The rows of an organisation's last day. */
export const exportedRows = async (
  app: TestApp,
  owner: Pick<TestOrganisation, 'apiKey'>,
  query: Readonly<Record<string, string>> = {},
): Promise<ExportedRow[]> => {
  const { status, text } = await exported(app, owner, 'siem', query)
  if (status !== 200) throw new Error(`no export: ${status} ${text}`)
  return linesOf(text)
}
