/**
 * What a handler may return, derived from what its route declares. Assignability alone lets through members that no
 * schema declares wherever an object isn't written on the spot; these types find them, at any depth.
 * @module
 */
import type { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import type { EVENT_STREAM_TYPE, EventStreamReply } from './event-stream.ts'
import type { Reply } from './route.ts'

/** Status → schema of the body; null for an empty one. */
export type Responses = Readonly<Record<number, TSchema | null>>
/** One or several, the usual one first. */
export type ContentTypes = string | readonly string[]

/** The status of an answer that names none: the lowest one, which comes first in objects with numeric keys. */
type SuccessOf<R, Statuses = [200, 201, 202, 204]> = Statuses extends [infer First, ...infer Rest]
  ? First extends keyof R
    ? First
    : SuccessOf<R, Rest>
  : never

/** What is sent as it is, where a route says of which type. Text would be quoted as JSON. */
type Raw<C extends ContentTypes> = ContentTypes extends C
  ? never
  : C extends typeof EVENT_STREAM_TYPE
    ? EventStreamReply
    : Uint8Array | Readable | (C extends 'application/json' ? never : string)

/** An answer is only read, so lists and objects in it may be read-only. */
type Sent<T> = T extends object ? { readonly [K in keyof T]: Sent<T[K]> } : T

type Body<Schema, C extends ContentTypes> = Schema extends TSchema
  ? Sent<Static<Schema>> | Raw<C>
  : // biome-ignore lint/suspicious/noConfusingVoidType: what a function returns that has nothing to say
    undefined | void

/** The body of the success status, or a {@link Reply} of any declared one. */
export type Answer<R extends Responses, C extends ContentTypes> =
  | Body<R[SuccessOf<R> & keyof R], C>
  | { readonly [Status in keyof R & number]: Reply<Status, Body<R[Status], C>> }[keyof R & number]

type Whole = string | number | boolean | null | undefined | Uint8Array | Readable | EventStreamReply
type KeysOf<T> = T extends unknown ? keyof T : never
type ValueOf<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never
type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never
type Path<K extends string | number, Rest extends string> = `${K}.${Rest}`

/** The members of a union that a value fits. */
type FormsOf<Value, Union> = Union extends unknown ? (Value extends Union ? Union : never) : never
/** `true` if one of the forms declares all that a value has. */
type IsDeclared<Value, Form> = Form extends unknown
  ? [UndeclaredIn<Value, Form>] extends [never]
    ? true
    : never
  : never

type UndeclaredIn<Value, Form> = {
  [K in keyof Value & (string | number)]: K extends KeysOf<Form>
    ? Path<K, Undeclared<Value[K], ValueOf<Form, K>>>
    : `${K}`
}[keyof Value & (string | number)]

/** The paths of a value's members that its declared type doesn't have. */
type Undeclared<Value, Declared> = unknown extends Declared
  ? never
  : Value extends Whole
    ? never
    : Value extends readonly (infer Item)[]
      ? Path<'*', Undeclared<Item, ItemOf<Declared>>>
      : [FormsOf<Value, Declared>] extends [never]
        ? UndeclaredIn<Value, Declared>
        : true extends IsDeclared<Value, FormsOf<Value, Declared>>
          ? never
          : UndeclaredIn<Value, FormsOf<Value, Declared>>

interface UndeclaredMember<Where> {
  readonly 'a member that the response does not declare': Where
}

/** `unknown` if the value has no member besides the declared ones; else a type that says where they are. */
export type Exactly<Value, Declared> = [Undeclared<Value, Declared>] extends [never]
  ? unknown
  : UndeclaredMember<Undeclared<Value, Declared>>
