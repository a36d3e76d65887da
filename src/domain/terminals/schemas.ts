/** Wire forms of terminals. @module */
import Type, { type Static } from 'typebox'
import { DateTime, idOf, orNull } from '../../json/schemas.ts'
import { Limits } from '../accounts/schemas.ts'

const NullableNumber = orNull(Type.Number())
const TerminalId = idOf('ter')
const MerchantId = idOf('mer')

export const NewTerminal = Type.Object(
  {
    label: Type.String({ minLength: 1, maxLength: 100 }),
    merchantId: Type.Optional(
      Type.String({ maxLength: 64, description: 'Default: the default merchant of the organisation.' }),
    ),
    limits: Type.Optional(Limits),
  },
  { title: 'NewTerminal' },
)
export type NewTerminal = Static<typeof NewTerminal>

export const TerminalCreated = Type.Object(
  {
    terminalId: TerminalId,
    terminalSecret: Type.String({ description: 'Shown once.' }),
    merchantId: MerchantId,
    apiKey: Type.String({ description: 'API key of scope merchant, for this merchant only. Shown once.' }),
    keyId: Type.String(),
    limits: Limits,
  },
  { title: 'TerminalCreated' },
)
export type TerminalCreated = Static<typeof TerminalCreated>

export const Terminal = Type.Object(
  {
    terminalId: TerminalId,
    label: Type.String(),
    merchantId: MerchantId,
    limits: Limits,
    status: Type.Enum(['active', 'revoked']),
    createdAt: DateTime,
    revokedAt: orNull(DateTime),
  },
  { title: 'Terminal' },
)
export type Terminal = Static<typeof Terminal>

export const TerminalList = Type.Object({ terminals: Type.Array(Terminal) }, { title: 'TerminalList' })
export type TerminalList = Static<typeof TerminalList>

export const TerminalParams = Type.Object({ terminalId: TerminalId })

export const TerminalCredentials = Type.Object(
  {
    terminalId: Type.String({ minLength: 1, maxLength: 128 }),
    terminalSecret: Type.String({ minLength: 1, maxLength: 256 }),
  },
  { title: 'TerminalCredentials' },
)
export type TerminalCredentials = Static<typeof TerminalCredentials>

export const TerminalToken = Type.Object(
  {
    token: Type.String({ description: 'Bearer credential for /api/merchant/* routes.' }),
    expiresAt: DateTime,
    terminalId: TerminalId,
    merchantId: MerchantId,
    organisationId: Type.String({ description: '`org_…`; proofs of the terminal are bound to it.' }),
    config: Type.Object({
      floorLimit: NullableNumber,
      storedSumLimit: NullableNumber,
      maxOfflineAgeMs: Type.Integer(),
      minAssurance: Type.Enum(['structural', 'mac']),
    }),
  },
  { title: 'TerminalToken' },
)
export type TerminalToken = Static<typeof TerminalToken>
