/** What the page and its thread tell one another. @module */
import type { Report } from './report.ts'

/** What somebody who checks a presentation had asked its holder for, as they say it; empty: they don't. */
export interface Asked {
  readonly audience: string
  readonly nonce: string
}

/** Something to check, as somebody gave it. */
export type Given = ({ readonly text: string } | { readonly file: File }) & {
  /** Which witnesses a checkpoint must have been shown to; empty: none. */
  readonly policy?: string
  readonly asked?: Asked
}

export type Said =
  /** Bytes of a file, so far and, where that is known, in all. */
  | { readonly read: number; readonly of: number | undefined }
  | { readonly report: Report /** Whose work the signatures were. */; readonly by: string }
  | { readonly problem: string }
  /** What is wrong with the policy of witnesses. Nothing was checked. */
  | { readonly policyProblem: string }
