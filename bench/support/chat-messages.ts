/** A chat of many messages, put into the tables at once. Words are drawn as in a language. @module */
import pg from 'pg'
import { openDatabase } from '../../src/store/database.ts'
import { withoutIndexes } from './bulk.ts'

const MESSAGES_AT_ONCE = 200_000

/** Some 36 words each; in the order of their ids, as they are posted. */
const FILL = `INSERT INTO chat_messages (id, created_at, agent_name, prompt_id, thread_id, text, kind, source, verified, reply_count,
    poster, text_hash)
  SELECT id, id, 'agent ' || id % 300, CASE WHEN id % 5 = 0 THEN 'prompt ' || id % 195 END, id - id % 4, words, 'agent', 'api',
    id % 10 = 0, 0, substr(sha256(id::text::bytea), 1, 16), substr(sha256(words::bytea), 1, 16)
  FROM generate_series($1::bigint, $2::bigint) AS id CROSS JOIN LATERAL
    (SELECT string_agg('w' || floor(exp(random() * ln(50000)))::int, ' ') AS words
      FROM generate_series(1, 30 + (id % 12)::int)) AS made`

/**
 * Fills the chat of a new database, whose tables it makes.
 * @returns how long the index of words took to make
 */
export const fillChat = async (databaseUrl: string, messages: number): Promise<{ indexSeconds: number }> => {
  const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
  await database.close()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const seconds = await withoutIndexes(client, 'chat_messages', async () => {
      for (let first = 1; first <= messages; first += MESSAGES_AT_ONCE)
        await client.query(FILL, [first, Math.min(messages, first + MESSAGES_AT_ONCE - 1)])
    })
    await client.query('UPDATE chat_head SET last_id = $1, messages = $1, threads = $1', [messages])
    await client.query('VACUUM ANALYZE chat_messages')
    return { indexSeconds: seconds.get('chat_messages_words') ?? Number.NaN }
  } finally {
    await client.end()
  }
}
