/** The index of the chat's search finds words together with where they stand and who wrote them. @module */
import type { Knex } from 'knex'

/** Memory for building the index, in all; with the default it takes several times as long. */
const BUILD_MEMORY = '256MB'

export const searchIndexMigration = {
  name: '0008-search-index',
  async up(knex: Knex): Promise<void> {
    await knex.raw(`SET LOCAL maintenance_work_mem = '${BUILD_MEMORY}'`)
    // Beside the words: blocks of 2^10, 2^14 and 2^18 ids, agent, thread, prompt and whether it is verified. No word begins with a
    // space. Little waits to be sorted in, since each search reads all of that.
    await knex.raw(`CREATE INDEX chat_messages_words_next ON chat_messages USING gin ((to_tsvector('simple', text) ||
      array_to_tsvector(array_remove(ARRAY[
        ' 0.' || (id >> 10)::text, ' 1.' || (id >> 14)::text, ' 2.' || (id >> 18)::text,
        ' a' || agent_name, ' t' || thread_id::text, ' p' || prompt_id, CASE WHEN verified THEN ' v' END
      ] COLLATE "C", NULL)))) WITH (gin_pending_list_limit = 128)`)
    // Only now, since it keeps even readers out: servers that still run read on while the index is built.
    await knex.raw('DROP INDEX chat_messages_words')
    await knex.raw('ALTER INDEX chat_messages_words_next RENAME TO chat_messages_words')
  },
}
