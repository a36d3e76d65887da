/** What readers of every document have: a service, a key for it, and means to ask. */
import { randomUUID } from 'node:crypto'
import type { Credential } from '../../../src/circuits/credential.ts'
import type { Holder } from '../../../src/circuits/holder.ts'
import { clientOf, ok } from '../client.ts'

/** `service`: the address; `operatorKey`: of whoever runs it. */
export const {
  ASSAY_URL: service = '',
  KEY: key = '',
  ORGANISATION: organisationId = '',
  OPERATOR_KEY: operatorKey = '',
} = process.env

export const client = clientOf(service)

export const get = <T>(path: string): Promise<T> => ok(client, 'GET', path, { key })

export const post = <T>(path: string, body: object): Promise<T> => ok(client, 'POST', path, { key, body })

/** Of a person who was born in 1990. */
export const PERSON = {
  givenName: 'Ada',
  familyName: 'Byron',
  dateOfBirth: '1990-12-10',
  document: { type: 'passport', number: 'X1234567', country: 'GB', expiresAt: '2099-01-01' },
} as const

/** What the reader, as an issuer, gives to a holder. */
export const issuedTo = async ({ holder }: Holder): Promise<Credential<'kyc'>> => {
  const body = { userId: randomUUID(), data: PERSON, holder }
  return (await post<{ credential: Credential<'kyc'> }>('/api/kyc/verify', body)).credential
}

type Told = 'apiKey' | 'merchantId' | 'terminalId' | 'terminalSecret'
/** A terminal of the reader's merchant, as it is told once. */
export const createTerminal = (): Promise<Readonly<Record<Told, string>>> =>
  post('/console/api/terminals', { label: 'till 1' })
