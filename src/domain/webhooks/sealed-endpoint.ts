/** What is kept sealed of an endpoint: its secret, and its URL, which may hold a token of the receiver's. @module */
import { randomBytes } from 'node:crypto'
import { type Sealing, SealingError } from '../../keys/sealing.ts'
import type { EndpointRow } from './store.ts'

const SECRET_BYTES = 24
const SHOWN_CHARACTERS = 4
const PURPOSE = 'webhook'

type Column = 'sealed_url' | 'sealed_secret'

/** `whsec_` and 48 hexadecimal digits. */
export const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('hex')}`

/** `whsec_****` and the last four characters, of a secret that opens. */
export const masked = (secret = ''): string => `whsec_****${secret.slice(-SHOWN_CHARACTERS)}`

/** An endpoint as a delivery needs it; without a URL or a secret that does not open. */
export type OpenedEndpoint = Pick<
  EndpointRow,
  'id' | 'organisation' | 'active' | 'announces_from' | 'private_egress'
> & { readonly url?: string; readonly secret?: string }

export const createSealedEndpoints = (sealing: Sealing) => {
  const place = (row: string, column: Column) => ({ table: 'webhook_endpoints', column, row })
  const seal = (id: string, column: Column, text: string): Uint8Array =>
    sealing.seal(PURPOSE, place(id, column), Buffer.from(text))
  /** @returns undefined when the row was altered or sealed under another master key: that is the trouble of this endpoint alone */
  const open = (row: EndpointRow, column: Column): string | undefined => {
    try {
      return Buffer.from(sealing.open(PURPOSE, place(row.id, column), row[column])).toString()
    } catch (error) {
      if (error instanceof SealingError) return undefined
      throw error
    }
  }

  return {
    sealUrl: (id: string, url: string): Uint8Array => seal(id, 'sealed_url', url),
    sealSecret: (id: string, secret: string): Uint8Array => seal(id, 'sealed_secret', secret),
    /** @throws AppError unavailable when it was sealed under a key that another server has just added */
    open: (row: EndpointRow): OpenedEndpoint => ({
      id: row.id,
      organisation: row.organisation,
      active: row.active,
      announces_from: row.announces_from,
      private_egress: row.private_egress,
      url: open(row, 'sealed_url'),
      secret: open(row, 'sealed_secret'),
    }),
  }
}

export type SealedEndpoints = ReturnType<typeof createSealedEndpoints>
