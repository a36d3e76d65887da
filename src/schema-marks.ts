/**
 * What a schema of an input says beyond JSON Schema. Objects are closed unless their schema says
 * `additionalProperties` or is a record; these marks say the rest.
 * @module
 */
import Type, { type Static, type TOptional, type TSchema, type TUnsafe } from 'typebox'

/** Members that no schema names may stand in the object, and are ignored. */
export const OPEN = { additionalProperties: true } as const

/** An object that has all of these members; for `not`. */
export const together = (...names: string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  required: names,
})

/** The keyword of {@link Nullable}. */
export const NULL_IS_ABSENT = 'nullIsAbsent'

/** An optional member whose null counts as absent. Only where leaving it out grants, lifts and extends nothing. */
export const Nullable = <S extends TSchema>(schema: S): TOptional<TUnsafe<Static<S>>> =>
  Type.Optional(Type.Unsafe<Static<S>>({ ...schema, [NULL_IS_ABSENT]: true }))
