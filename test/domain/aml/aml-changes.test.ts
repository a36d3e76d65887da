/** What changes from one version of the watch lists to another: told entry by entry, on every server. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../../src/clock.ts'
import { entryDigest } from '../../../src/domain/aml/entry.ts'
import { textFile } from '../../../src/domain/aml/lists/files/list-file.ts'
import type { EntryChange } from '../../../src/domain/aml/lists/list-changes.ts'
import { createLists, type ListsService } from '../../../src/domain/aml/lists/lists.ts'
import type { Snapshot } from '../../../src/domain/aml/lists/snapshots.ts'
import { eventually } from '../../support/eventually.ts'
import { callerOf, openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { rejection } from '../../support/rejection.ts'

const person = (id: string, name: string): string =>
  JSON.stringify({ id, schema: 'Person', properties: { name: [name], topics: ['sanction'] } })

describe('changes of watch lists', () => {
  let ledger: TestLedger
  let lists: ListsService
  let other: ListsService
  const caller = callerOf('org_1')
  /** A server that hears nothing of the others. */
  const serve = (warnings: string[] = []): Promise<ListsService> =>
    createLists({
      database: ledger.database,
      ledger: ledger.ledger,
      bus: { publish: async () => undefined, subscribe: () => () => undefined },
      clock: systemClock,
      logger: { info: () => undefined, warn: (_, message) => void warnings.push(message) },
      organisation: 'org_00000000000000000000000000',
      source: 'none',
    })
  beforeEach(async () => {
    ledger = await openTestLedger()
    lists = await serve()
    other = await serve()
  })
  afterEach(async () => {
    await lists.close()
    await other.close()
    await ledger.close()
  })

  const upload = async (
    listId: string,
    ...people: readonly [id: string, name: string][]
  ): Promise<number> => {
    const files = [textFile('a.json', people.map((one) => person(...one)).join('\n'))]
    return (await lists.upload(caller, { listId, format: 'opensanctions', files }, true)).number
  }
  const changes = async (from: number, to?: number): Promise<EntryChange[]> => {
    const found: EntryChange[] = []
    for await (const change of lists.changes(from, to)) found.push(change)
    return found
  }
  const short = (found: readonly EntryChange[]): string[] =>
    found.map(({ listId, entryId, change }) => `${listId}/${entryId} ${change}`).sort()

  it('are what was added, changed and removed, each with the digest of its entry', async () => {
    const first = await upload('a', ['1', 'One Person'], ['2', 'Second Person'], ['3', 'Third Person'])
    expect(short(await changes(0))).to.deep.equal(['a/1 added', 'a/2 added', 'a/3 added'])
    const second = await upload('a', ['1', 'One Person'], ['2', 'Second Human'], ['4', 'Fourth Person'])
    const found = await changes(first, second)
    expect(short(found)).to.deep.equal(['a/2 changed', 'a/3 removed', 'a/4 added'])
    for (const { change, entry, digest } of found) {
      expect(digest).to.match(/^[0-9a-f]{64}$/)
      if (change === 'removed') expect(entry).to.equal(undefined)
      else expect(entry && entryDigest(entry)).to.equal(digest)
    }
    const was = (await changes(0, first)).find(({ entryId }) => entryId === '3')
    expect(found.find(({ entryId }) => entryId === '3')?.digest).to.equal(was?.digest)
    expect(await changes(second)).to.deep.equal([])
  })

  it('may be read in part, and are an error for whoever reads them where entries were cut off', async () => {
    const people = Array.from({ length: 3_000 }, (_, i): [string, string] => [`${i}`, `Person ${i * 7919}`])
    await upload('a', ...people)
    for (const most of [1, 2, 100]) {
      let seen = 0
      for await (const _ of lists.changes(0)) if (++seen === most) break
    }
    const row: { bytes: Buffer } = await ledger.database.knex('aml_contents').first('bytes')
    await ledger.database.knex('aml_contents').update({ bytes: row.bytes.subarray(0, row.bytes.length - 20) })
    expect(await changes(0).catch(({ message }: Error) => message)).to.equal('unexpected end of file')
  })

  it('cover lists that came and went, and none that stayed', async () => {
    const first = await upload('a', ['1', 'One Person'])
    await upload('b', ['1', 'Other Person'])
    expect(short(await changes(first))).to.deep.equal(['b/1 added'])
    const both = lists.current().number
    await lists.remove(caller, 'a')
    expect(short(await changes(both))).to.deep.equal(['a/1 removed'])
    expect(short(await changes(first))).to.deep.equal(['a/1 removed', 'b/1 added'])
  })

  it('leave nothing out where the entries of the earlier version are forgotten', async () => {
    const first = await upload('a', ['1', 'One Person'])
    const { lists: kept } = (await ledger.database
      .knex('aml_snapshots')
      .where({ version: first })
      .first()) as {
      lists: { content: string }[]
    }
    await upload('a', ['1', 'One Person'], ['2', 'Second Person'])
    await ledger.database.knex('aml_contents').where({ content: kept[0]?.content }).delete()
    expect(short(await changes(first))).to.deep.equal(['a/1 changed', 'a/2 changed'])
  })

  it('can be left at any entry, which ends the reading and fails nothing', async () => {
    for (const size of [10, 200, 2_000]) {
      const people = Array.from({ length: size }, (_, i): [string, string] => [`${i}`, `Person Number ${i}`])
      const number = await upload('a', ...people)
      for (const waitMs of [0, 10, 30]) {
        for await (const { listId } of lists.changes(0, number)) {
          expect(listId).to.equal('a')
          await pause(waitMs)
          break
        }
        // What is thrown behind the reader's back fails the test that is running then.
        await pause(20)
      }
    }
  })

  it('are not read from entries that are cut off', async () => {
    const number = await upload(
      'a',
      ...Array.from({ length: 200 }, (_, i): [string, string] => [`${i}`, `P ${i}`]),
    )
    await ledger.database.knex('aml_contents').update({
      bytes: ledger.database.knex.raw('substring(bytes FROM 1 FOR length(bytes) - 40)'),
    })
    expect((await rejection(changes(0, number))).message).to.equal('unexpected end of file')
  })

  it('are told on every server once it answers by them, and a listener that fails harms nobody', async () => {
    const warnings: string[] = []
    const third = await serve(warnings)
    const told: Record<string, number[]> = { own: [], other: [] }
    const hear = (who: string) => (now: Snapshot) => void told[who]?.push(now.number)
    const end = lists.onChange(hear('own'))
    other.onChange(hear('other'))
    third.onChange(() => {
      throw new Error('not followed')
    })
    try {
      const number = await upload('a', ['1', 'One Person'])
      await eventually('both are told', () => told.own?.length === 1 && told.other?.length === 1)
      expect(told).to.deep.equal({ own: [number], other: [number] })
      await eventually('a failure is logged', () => warnings.length === 1)
      end()
      const next = await upload('b', ['1', 'Other Person'])
      await eventually('the other is told', () => told.other?.at(-1) === next)
      await eventually('the one that fails answers by them, too', () => third.current().number === next)
      expect(told.own).to.deep.equal([number])
    } finally {
      await third.close()
    }
  })
})
