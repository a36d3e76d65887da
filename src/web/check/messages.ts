/** What the page and its thread tell one another. @module */
import type { Report } from './report.ts'

/** Something to check, as somebody gave it. */
export type Given = { readonly text: string } | { readonly file: File }

export type Said =
  /** Bytes of a file, so far and, where that is known, in all. */
  | { readonly read: number; readonly of: number | undefined }
  | { readonly report: Report /** Whose work the signatures were. */; readonly by: string }
  | { readonly problem: string }
