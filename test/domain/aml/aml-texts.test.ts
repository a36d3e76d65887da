/** Texts in lists that neither a database nor a signature could keep: NUL and half a surrogate pair. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { entryDigest, type ListEntry } from '../../../src/domain/aml/entry.ts'
import { ListFileError, textFile } from '../../../src/domain/aml/lists/files/list-file.ts'
import { type ListFormat, readSource } from '../../../src/domain/aml/lists/list-source.ts'
import type { AmlResult } from '../../../src/domain/aml/schemas.ts'
import { newId } from '../../../src/ids.ts'
import { readJws } from '../../../src/protocol/jws.ts'
import { sharedApp } from '../../support/app.ts'
import { startScreeningServer } from '../../support/domain/screening-servers.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const read = async (format: ListFormat, text: string): Promise<ListEntry[]> => {
  const files = [textFile('list.json', text)]
  const entries: ListEntry[] = []
  for await (const entry of readSource({ listId: 'list', format, files })) entries.push(entry)
  return entries
}

const person = (id: string, ...name: string[]): string =>
  JSON.stringify({ id, schema: 'Person', properties: { name, topics: ['sanction'] } })

describe('texts of watch lists', () => {
  it('half surrogate pairs in names and ids become U+FFFD, also where a long name is cut, and the entry has a hash', async () => {
    const [entry, ...more] = await read(
      'opensanctions',
      person('p-\ud800', 'Te\ud800stov', '\udc00Ivan', `${'x'.repeat(399)}😀`, '😀 Ivan'),
    )
    expect(more).to.deep.equal([])
    expect(entry?.id).to.equal('p-\uFFFD')
    expect(entry?.names.map(({ text }) => text)).to.deep.equal([
      'Te\uFFFDstov',
      '\uFFFDIvan',
      `${'x'.repeat(399)}\uFFFD`,
      '😀 Ivan',
    ])
    expect(entryDigest(entry as ListEntry)).to.match(/^[0-9a-f]{64}$/)
    const record = {
      DATA_SOURCE: 'X',
      RECORD_ID: '1',
      NAMES: [{ NAME_FULL: 'Te\ud800stov' }],
      RISKS: [{ TOPIC: 'sanction' }],
    }
    expect((await read('senzing', JSON.stringify(record)))[0]?.names[0]?.text).to.equal('Te\uFFFDstov')
  })

  it('a kind that JavaScript has a member of objects by is one that is not known', async () => {
    const row = ['1', 'Constructor Nile', 'constructor', 'SDGT', ...Array.from({ length: 8 }, () => '-0-')]
    expect((await read('ofac', `${row.join(',')}\n`)).map(({ kind }) => kind)).to.deep.equal(['unknown'])
  })

  it('what a refused file holds is quoted without NUL, control characters and half pairs', async () => {
    const refusal = await read('opensanctions', person('p\u0000\u001b\ud800')).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refusal).to.be.instanceOf(ListFileError)
    expect((refusal as ListFileError).message).to.equal(
      'list.json, line 1: the entry p\uFFFD\uFFFD\uFFFD has no name',
    )
  })

  it('a list is refused, kept as it was and told, whatever its ids hold, on the next server too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-aml-texts-'))
    const database = await openTestDatabase()
    const organisation = newId('org', Date.now())
    const start = () => startScreeningServer(database, organisation, { directory: folder })
    const file = join(folder, 'own.ftm.json')
    writeFileSync(file, person('p-1', 'Ivan Petrovich Nachgetragen'))
    const server = await start()
    const twice = 'p\u0000\ud800'
    writeFileSync(file, [person(twice, 'One Person'), person(twice, 'Other Person')].join('\n'))
    try {
      await server.lists.reload(server.caller, false)
      const told = ['own: has two entries with the id p\uFFFD\uFFFD']
      expect(server.lists.current().problems.map(({ message }) => message)).to.deep.equal(told)
      const next = await start()
      expect(next.lists.current().problems.map(({ message }) => message)).to.deep.equal(told)
      expect((await next.check('u', 'Ivan Petrovich Nachgetragen'))?.result).to.equal('review')
      await next.close()
    } finally {
      await server.close()
      await database.close()
      rmSync(folder, { recursive: true })
    }
  })

  it('an entry with NUL and half pairs in its name is found, decided about and signed', async () => {
    const database = await openTestDatabase()
    const server = await startScreeningServer(database, newId('org', Date.now()))
    try {
      await server.upload({ id: 'p\u0000-1', name: 'Ivan\u0000 Petrovich\ud800 Nachgetragen' })
      const { findings } = await server.subscribe('u', { name: 'Ivan Petrovich Nachgetragen' })
      expect(findings.map(({ entryId }) => entryId)).to.deep.equal(['p\u0000-1'])
      const decided = await server.review.decide(server.caller, findings[0]?.findingId ?? '', {
        verdict: 'confirmed',
        reason: 'It is.',
      })
      expect(readJws(decided.decision?.jws ?? '')?.payload).to.deep.include({ entry: 'p\u0000-1' })
      expect(await server.facts('u')).to.deep.include({ result: 'hit' })
    } finally {
      await server.close()
      await database.close()
    }
  })

  it('requests with such texts are refused, naming the field', async () => {
    const app = await sharedApp()
    const { apiKey: key } = await app.organisation()
    for (const [path, body, field] of [
      ['/api/aml/check', { userId: 'u', name: 'Ivan\u0000' }, '/name'],
      ['/api/aml/check', { userId: 'u\ud800', name: 'Ivan Testov' }, '/userId'],
      ['/api/aml/subscriptions', { userId: 'u', name: 'Ivan \udc00 Testov' }, '/name'],
      [
        `/api/aml/findings/${newId('fnd', Date.now())}/decision`,
        { verdict: 'confirmed', reason: '\u0000' },
        '/reason',
      ],
    ] as const) {
      const answer = await app.request<AmlResult[] | { error: string; details: { path: string }[] }>(
        'POST',
        path,
        { key, body },
      )
      expect(answer.status, path).to.equal(400)
      expect(answer.body).to.deep.include({ error: 'invalid_request' })
      expect((answer.body as { details: { path: string }[] }).details[0]?.path).to.equal(field)
    }
  })
})
