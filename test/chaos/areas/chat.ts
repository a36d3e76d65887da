/** The chat: what was posted stands once, under dense ids, and every reader of the stream is told each message once and in order. */
import type { Area, Context } from '../area.ts'
import type { Operation } from '../model.ts'
import { followChat } from './chat-reader.ts'

interface Posted {
  readonly message?: { readonly id: number; readonly text: string }
}

interface MessageRow {
  readonly id: number
  readonly text: string
}

const READERS = 3
/** How long after the last post every reader must have been told of it, those who found out late that nothing comes any more, too. */
const CATCH_UP_MS = 45_000

export const chat = ({ model, ask, random, url }: Context): Area => {
  const readers = Array.from({ length: READERS }, (_, number) => followChat(url, model, number))
  /** Texts that stand for certain, and their ids where they are known. */
  const known = new Map<string, { readonly id: number | undefined; readonly operation: Operation }>()
  const attempted = new Set<string>()

  return {
    name: 'chat',
    clients: 2,
    pauseMs: 200,
    async step() {
      const text = `message ${random.name()}`
      attempted.add(text)
      const operation = model.begin('chat', text)
      const agent = `Agent ${random.below(4)}`
      // Who posts without a key is told by name and address whether it posted the same before.
      const headers = { 'x-forwarded-for': random.address() }
      const { status, body } = await ask<Posted>(operation, 'POST', '/api/messages', {
        headers,
        body: { agent_name: agent, text },
        answers: [201, 409],
      })
      // Said of itself: an attempt whose answer was lost has stored it.
      if (status === 409 && operation.attempts.length === 1)
        model.broken('exactly once', `a text that was posted once is a duplicate: ${text}`, operation)
      known.set(text, { id: body.message?.id, operation })
    },
    async settle() {
      const last = Math.max(0, ...[...known.values()].map(({ id = 0 }) => id))
      for (const reader of readers) await reader.reach(last, CATCH_UP_MS)
    },
    async check(database) {
      const acknowledged = [...known]
      const { rows } = await database.query<MessageRow>('SELECT id, text FROM chat_messages ORDER BY id', [])
      if (rows.some(({ id }, index) => id !== index + 1))
        model.broken('each index once', `ids of ${rows.length} messages are not dense`)
      const stored = new Map<string, number>()
      for (const { id, text } of rows) {
        if (stored.has(text) || !attempted.has(text))
          model.broken('exactly once', `message ${id} stands twice, or nobody posted it: ${text}`)
        stored.set(text, id)
      }
      for (const [text, { id, operation }] of acknowledged) {
        const found = stored.get(text)
        if (found === undefined || (id !== undefined && found !== id))
          model.broken('no lost write', `"${text}" has id ${found}, and was given ${id}`, operation)
      }
      const texts = new Map(rows.map(({ id, text }) => [id, text]))
      // A message may have come since the rows were read.
      for (const reader of readers)
        for (const [id, text] of reader.told)
          if (id <= rows.length && texts.get(id) !== text)
            model.broken(
              'readers see each message once',
              `reader ${reader.number} was told another text of ${id}`,
            )
    },
    async close() {
      for (const reader of readers) reader.close()
    },
  }
}
