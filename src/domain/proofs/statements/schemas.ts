/** What the inputs and the questions of circuits are made of. @module */
import Type from 'typebox'
import { Expect } from '../../../rules/schemas.ts'

export const CLOSED = { additionalProperties: false } as const

/** That it is below the modulus is asked when it is read. */
export const Signal = Type.String({
  pattern: '^(0|[1-9][0-9]{0,76})$',
  description: 'An element of the BN254 scalar field: a decimal without leading zeros.',
})

/** The signature of an issuer, and its key where that isn't the one that signs now. */
export const signature = {
  r8x: Signal,
  r8y: Signal,
  s: Signal,
  issuerX: Type.Optional(Signal),
  issuerY: Type.Optional(Signal),
}
/** What the issuer signed of whom it was issued to; `holder` follows from secret and organisation. */
export const issuedSignals = {
  organisation: Signal,
  status: Signal,
}
export interface IssuedSignals {
  readonly secret: string
  readonly organisation: string
  readonly status: string
}
export interface SignatureSignals {
  readonly r8x: string
  readonly r8y: string
  readonly s: string
  readonly issuerX?: string
  readonly issuerY?: string
}

export const EntryIndex = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Index of one of your entries in the log.',
})

/** The raw form of a question: the signals by name. */
export const signalsForm = <S extends Type.TSchema>(inputs: S) => Type.Object({ inputs }, CLOSED)

/** A form that presents something of which more may be expected. */
export const expecting = <P extends Type.TProperties>({ properties }: Type.TObject<P>) =>
  Type.Object({ ...properties, expect: Type.Optional(Expect) }, CLOSED)

/** A thing by its name, beside which all of what its making answered may stand. */
export const withAnswer = <A extends Type.TProperties, N extends Type.TProperties>(
  answered: A,
  by: Type.TObject<N>,
) => Type.Object({ ...answered, ...by.properties }, CLOSED)
