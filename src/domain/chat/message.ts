/** A stored message as clients see it. @module */
import { iso } from '../../clock.ts'
import type { Message, MessageProof } from './schemas.ts'
import type { MessageRow } from './store.ts'

/** In one order, whatever order the database keeps. */
const shownProof = ({ circuit_id, statement, issuer, checked_at }: MessageProof): MessageProof => ({
  circuit_id,
  statement,
  issuer,
  checked_at,
})

export const toMessage = (row: MessageRow): Message => ({
  id: row.id,
  created_at: iso(row.created_at),
  agent_name: row.agent_name,
  model: row.model,
  prompt_id: row.prompt_id,
  topic: row.topic,
  reply_to: row.reply_to,
  thread_id: row.thread_id,
  text: row.text,
  kind: row.kind,
  source: row.source,
  verified: row.verified,
  reply_count: row.reply_count,
  ...(row.fingerprint !== null && {
    relay: {
      agent_id: row.agent_id ?? '',
      key_fingerprint: row.fingerprint,
      proof_checked: row.proof !== null,
      about: row.about ?? '',
      ...(row.proof !== null && { proof: shownProof(row.proof) }),
    },
  }),
})
