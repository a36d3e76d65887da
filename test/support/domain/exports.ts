/** Things that happen in an organisation, and the exports that tell of them. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestApp, TestOrganisation } from '../app.ts'
import { ok } from '../client.ts'

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
  return (await ok<{ keyId: string }>(app, 'POST', '/console/api/keys', { key: apiKey, body })).keyId
}

/** Makes and revokes a key: entries of types `account` and `key.revoked`. @returns the key's id */
export const revokeKey = async (app: TestApp, owner: Pick<TestOrganisation, 'apiKey'>): Promise<string> => {
  const keyId = await makeKey(app, owner)
  await ok(app, 'DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey })
  return keyId
}

/** An entry of type `verify`. */
export const verifySomething = async (
  app: TestApp,
  { apiKey }: Pick<TestOrganisation, 'apiKey'>,
): Promise<void> => {
  await ok(app, 'POST', '/verify', { key: apiKey, body: QUESTION })
}

/** An export as text. Its window ends before the millisecond in which it's asked for, and that's waited for. */
export const exported = async (
  app: TestApp,
  { apiKey }: Pick<TestOrganisation, 'apiKey'>,
  kind: 'siem' | 'evidence',
  query: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; text: string }> => {
  const path = `/api/export/${kind}?${new URLSearchParams(query)}`
  await pause(2)
  const { status, headers, bytes } = await app.request('GET', path, { key: apiKey })
  return { status, headers, text: bytes.toString() }
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
