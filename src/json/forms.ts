/** Bodies in one of several forms, each a closed object; the schema is their union. @module */

type KeysOf<Forms> = Forms extends unknown ? keyof Forms : never
type ValueOf<Forms, Key> = Forms extends unknown ? (Key extends keyof Forms ? Forms[Key] : never) : never

/** What may be read of a value without asking in which form it is: members of all forms, and optionally those of some. */
export type AnyForm<Forms> = Pick<Forms, keyof Forms> & {
  readonly [Key in Exclude<KeysOf<Forms>, keyof Forms>]?: ValueOf<Forms, Key>
}
