/**
 * Schemas that all domains share, and what a schema of an input says beyond JSON Schema: objects are closed unless their
 * schema says `additionalProperties` or is a record; marks say the rest.
 * @module
 */
import Type, { type Static, type TOptional, type TSchema, type TSchemaOptions, type TUnsafe } from 'typebox'
import type { IdPrefix } from '../ids.ts'

/** A time (RFC 3339). */
export const DateTime = Type.String({ format: 'date-time' })
export const dateTime = (description: string) => Type.String({ ...DateTime, description })

/** A member that is always there, with null for none. Of inputs see {@link Nullable}. */
export const orNull = <S extends TSchema>(schema: S, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options)

/** An id as the service answers it. */
export const idOf = (prefix: IdPrefix) => Type.String({ description: `\`${prefix}_…\`` })
/** An id as it is asked for. */
export const askedId = (prefix: IdPrefix, options: TSchemaOptions = {}) =>
  Type.String({ pattern: `^${prefix}_[0-9a-z]{26}$`, ...options })

/** Entries of a page at most, in its query. */
export const pageLimit = (maximum: number, usual: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, default: usual }))
/** Beside an index: which log of the service has it. Answers leave out log 0; in what comes back from callers it may be named. */
export const OfLog = Type.Optional(
  Type.Integer({ minimum: 0, description: 'Which log of the service; absent: log 0, the first.' }),
)

/** What the next page is asked with, in the answer. */
export const NextCursor = orNull(Type.String(), { description: 'Null on the last page.' })

/** What a list that is narrowed by more than its indexes know says of its pages. */
export const SearchedCursor = orNull(Type.String(), {
  description: 'Null on the last page. Others may have fewer entries than their limit, even none.',
})

/** What a list that can be narrowed to a subject says of those that earlier versions issued. */
export const Complete = Type.Boolean({
  description:
    'False in a list of one subject while, after an upgrade, what earlier versions issued is still being read in the background: some of this subject may be missing.',
})

/** The parameters of a list that is narrowed to a window; `readWindow` reads them. */
export const windowParameters = {
  from: Type.Optional(
    Type.String({
      description: 'Start of the window, included: a UTC day (2026-01-31) or a time (RFC 3339).',
    }),
  ),
  to: Type.Optional(
    Type.String({ description: 'End of the window: a UTC day, which is included, or a time, which is not.' }),
  ),
}

/** Members that no schema names may stand in the object, and are ignored. */
export const OPEN = { additionalProperties: true } as const

/** An object that has all of these members; for `not`. */
export const together = (...names: string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  required: names,
})

/**
 * The keyword of a schema that leaves something to whatever reads the value, which refuses more in words and codes of its
 * own. It holds the schema that the OpenAPI document shows: all that is taken. There a node names itself by `Type.Ref`.
 */
export const SHOWN_AS = 'shownAs'

/** The keyword of {@link Nullable}. */
export const NULL_IS_ABSENT = 'nullIsAbsent'

/** An optional member whose null counts as absent. Only where leaving it out grants, lifts and extends nothing. */
export const Nullable = <S extends TSchema>(schema: S): TOptional<TUnsafe<Static<S>>> =>
  Type.Optional(Type.Unsafe<Static<S>>({ ...schema, [NULL_IS_ABSENT]: true }))
