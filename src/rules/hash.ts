/** The name of a set of rules. @module */

import { createCore } from '../core/index.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'

const core = createCore()

/** Rules as they were asked, unread. */
export interface AskedRules {
  readonly rules?: unknown
  readonly logic?: unknown
}

/**
 * SHA-256 of the canonical JSON (RFC 8785) of `{rules, logic}`, so that a proof answers these rules and no others.
 * @returns 64 lower-case hex digits; null without rules
 */
export const hashRules = ({ rules, logic }: AskedRules): string | null => {
  if (rules === undefined && logic === undefined) return null
  const hash = core.sha256(canonicalJson({ rules, logic }))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
