/** What `assay doctor` says of a thing that it looked at. @module */

export type State = 'ok' | 'warning' | 'error'

export type Examined = readonly [state: State, text: string]

/** Looks at a thing, and says what it found. */
export type Run = (what: string, examine: () => Promise<Examined>) => Promise<void>

export const ok = (text: string) => ['ok', text] as const
export const warning = (text: string) => ['warning', text] as const
export const error = (text: string) => ['error', text] as const
