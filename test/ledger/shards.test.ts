import { expect } from 'chai'
import type { Knex } from 'knex'
import { type HashesAsked, hashAsked } from '../../src/circuits/threads/hashing.ts'
import { createField, FIELD_MODULUS } from '../../src/core/field.ts'
import type { Entry, Receipt } from '../../src/ledger/decision.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { createPoseidonLog, type PoseidonLog } from '../../src/ledger/tree/shards.ts'
import { createBus } from '../../src/store/bus.ts'
import type { Database } from '../../src/store/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  callerOf,
  claiming,
  emptyLog,
  ledgerOn,
  openTestLedger,
  type TestLedger,
  together,
} from '../support/ledger.ts'
import {
  createPoseidonReference,
  type PoseidonReference,
  SHARD_LEAVES,
} from '../support/reference/poseidon-tree.ts'

const BATCH = 512
const field = createField()
/** What was hashed elsewhere. */
const elsewhere: HashesAsked[] = []
const hashMany = async (asked: HashesAsked): Promise<Uint8Array> => {
  elsewhere.push(asked)
  return hashAsked(field, asked)
}
const logger = { warn: (details: object) => expect.fail(JSON.stringify(details)) }
/** Of all servers. */
const bus = createBus()
const hex = (element: bigint): string => element.toString(16).padStart(64, '0')

let serial = 0
const append = async (ledger: Ledger, count: number, more: { entry?: Entry } = {}): Promise<Receipt[]> => {
  const receipts: Receipt[] = []
  for (let done = 0; done < count; done += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, count - done) }, () =>
      claiming(`key ${serial++}`, more),
    )
    receipts.push(...(await ledger.append(callerOf('org_1'), together(items))))
  }
  return receipts
}

const lastOf = (receipts: readonly Receipt[]): number => receipts.at(-1)?.index ?? -1

interface RootEntry {
  shard: number
  size: number
  root: string
}

/** What tree 1 says of tree 2: each logged root with the index of its entry. */
const loggedRoots = async ({ knex }: Database): Promise<(RootEntry & { index: number })[]> => {
  const rows: { idx: number; entry: string }[] = await knex('ledger_entries')
    .where({ type: 'ledger.poseidon_root' })
    .orderBy('idx')
  return rows.map(({ idx, entry }) => ({ ...(JSON.parse(entry) as { data: RootEntry }).data, index: idx }))
}

/** Has a server stand still ahead of a query of leaves, as a process that gets no time. */
const holdable = (knex: Knex) => {
  let [isHeld, isHolding] = [false, false]
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const holding = new Proxy(knex, {
    apply(target, self, args) {
      const query = Reflect.apply(target, self, args)
      if (!isHeld || args[0] !== 'poseidon_leaves') return query
      const first = query.first.bind(query)
      query.first = async (...columns: string[]) => {
        isHolding = true
        await released
        return first(...columns)
      }
      return query
    },
  })
  const hold = (): void => {
    isHeld = true
  }
  return { knex: holding, hold, isHolding: () => isHolding, release }
}

describe('tree 2', () => {
  let store: TestLedger
  let poseidon: PoseidonLog
  let reference: PoseidonReference
  before(async () => {
    reference = await createPoseidonReference()
    store = await openTestLedger()
  })
  after(() => store.close())
  beforeEach(async () => {
    await emptyLog(store.database)
    poseidon = createPoseidonLog({ ...store, field, hashMany, logger, bus, pollMs: 20 })
  })
  afterEach(async () => {
    await poseidon.close()
  })

  const storedLeaves = async (): Promise<number> => (await store.database.knex('poseidon_leaves')).length
  const texts = (): Promise<string[]> => store.database.knex('ledger_entries').orderBy('idx').pluck('entry')

  it('leads from every entry to the root that an auditor computes from the entries', async () => {
    const commitment = hex(FIELD_MODULUS - 1n)
    await append(store.ledger, 20)
    await append(store.ledger, 3, { entry: { type: 'attest', commitment, data: {} } })
    const leaves = reference.leaves(await texts())
    // Until tree 2 has the last one, the shard is smaller.
    await poseidon.shardPath(leaves.length - 1)
    for (const [index, leaf] of leaves.entries()) {
      const path = await poseidon.shardPath(index)
      expect(path).to.deep.include({
        shard: 0,
        position: index,
        size: 23,
        leaf,
        root: reference.root(leaves),
      })
      expect(reference.fold(leaf, index, path?.path ?? [])).to.equal(path?.root)
    }
  })

  it('logs the root of a full shard once, and goes on in the next one', async () => {
    const receipts = await append(store.ledger, SHARD_LEAVES + 20)
    await poseidon.shardPath(lastOf(receipts))
    const [logged, ...more] = await loggedRoots(store.database)
    expect(more).to.deep.equal([])
    const leaves = reference.leaves(await texts())
    const full = leaves.slice(0, SHARD_LEAVES)
    expect(logged).to.deep.include({ shard: 0, size: SHARD_LEAVES, root: hex(reference.root(full)) })

    // The root's entry is no leaf, so places in tree 2 lag behind from there.
    expect(await poseidon.shardPath(logged?.index ?? -1)).to.equal(undefined)
    const [next] = await append(store.ledger, 1)
    const path = await poseidon.shardPath(next?.index ?? -1)
    expect(path).to.include({ shard: 1, position: 20, size: 21 })
    expect(path?.root).to.equal(reference.root(reference.leaves(await texts()).slice(SHARD_LEAVES)))
    const old = await poseidon.shardPath(77)
    expect(reference.fold(full[77] ?? 0n, 77, old?.path ?? [])).to.equal(reference.root(full))
    expect(await poseidon.logRoot(77)).to.deep.equal({
      log: 0,
      shard: 0,
      size: SHARD_LEAVES,
      root: reference.root(full),
      entryIndex: logged?.index,
    })
  })

  it('logs the growing shard on demand, once a size, and still gives paths to that root later', async () => {
    const index = lastOf(await append(store.ledger, 5))
    const [first, again] = await Promise.all([poseidon.logRoot(index), poseidon.logRoot(index)])
    expect(again).to.deep.equal(first)
    expect(first).to.include({ shard: 0, size: 5 })
    const [entry, ...more] = await loggedRoots(store.database)
    expect(more).to.deep.equal([])
    expect(entry).to.deep.equal({ shard: 0, size: 5, root: hex(first?.root ?? 0n), index: first?.entryIndex })

    const later = lastOf(await append(store.ledger, 4))
    expect(await poseidon.logRoot(later)).to.include({ shard: 0, size: 9 })
    const path = await poseidon.shardPath(2, 5)
    const leaves = reference.leaves(await texts())
    expect(path?.root).to.equal(first?.root)
    expect(reference.fold(leaves[2] ?? 0n, 2, path?.path ?? [])).to.equal(first?.root)
    const beyond = await poseidon.shardPath(later, 5).catch((error: Error) => error.name)
    expect(beyond).to.equal('RangeError')
  })

  it('hashes elsewhere while nobody waits: leaves, and the root of a shard that becomes full', async () => {
    elsewhere.length = 0
    const commitment = hex(5n)
    await append(store.ledger, SHARD_LEAVES - 40)
    await append(store.ledger, 60, { entry: { type: 'attest', commitment, data: { commitment: 'none' } } })
    const { size } = await store.ledger.head()
    await eventually('all leaves', async () => (await storedLeaves()) >= size)
    expect(elsewhere.some(({ width }) => width === 3)).to.equal(true)
    expect(elsewhere.filter(({ levels }) => levels === 12)).to.have.length(1)
    const leaves = reference.leaves(await texts())
    const stored = await store.database.knex('poseidon_leaves').orderBy('position').pluck('leaf')
    expect(stored.map((leaf) => BigInt(`0x${Buffer.from(leaf).toString('hex')}`))).to.deep.equal(leaves)
    const [logged] = await loggedRoots(store.database)
    expect(logged?.root).to.equal(hex(reference.root(leaves.slice(0, SHARD_LEAVES))))
  })

  it('knows no leaf beyond the log', async () => {
    const index = lastOf(await append(store.ledger, 1))
    expect(await poseidon.shardPath(index + 1)).to.equal(undefined)
    expect(await poseidon.logRoot(index + 1)).to.equal(undefined)
  })

  it('is the same when it is rebuilt from the entries, and logs nothing twice', async () => {
    const index = lastOf(await append(store.ledger, SHARD_LEAVES + 3))
    const before = await poseidon.shardPath(index)
    await poseidon.close()
    await store.database.knex('poseidon_leaves').delete()
    await store.database.knex('ledger_followers').delete()
    poseidon = createPoseidonLog({ ...store, field, hashMany, logger, bus, pollMs: 20 })
    expect(await poseidon.shardPath(index)).to.deep.equal(before)
    expect(await loggedRoots(store.database)).to.have.length(1)
  })

  it('is built by one of two servers, and both can use it', async () => {
    const ledger = await ledgerOn(store.database)
    const other = createPoseidonLog({
      ...store,
      ledger,
      field: createField(),
      hashMany,
      logger,
      bus,
      pollMs: 20,
    })
    const index = lastOf(await append(ledger, SHARD_LEAVES + 2))
    const [mine, theirs] = await Promise.all([poseidon.shardPath(index), other.shardPath(index)])
    expect(mine?.root).to.equal(theirs?.root)
    expect(await loggedRoots(store.database)).to.have.length(1)
    await other.close()
    await ledger.close()
  })

  it('is built at once for whoever waits at a server that does not build it', async () => {
    await poseidon.close()
    const rare = { ...store, field, hashMany, logger, bus, pollMs: 3_600_000 }
    poseidon = createPoseidonLog(rare)
    await poseidon.shardPath(lastOf(await append(store.ledger, 1)))
    const other = createPoseidonLog(rare)
    try {
      elsewhere.length = 0
      const index = lastOf(await append(store.ledger, 100))
      expect(await other.shardPath(index)).to.include({ position: 100, size: 101 })
      // A proof that is being made there could keep it waiting.
      expect(elsewhere).to.deep.equal([])
    } finally {
      await other.close()
    }
  })

  it('has no wrong root logged by a server that was held up while another took its lease and its entries', async () => {
    await poseidon.close()
    const { knex, hold, isHolding, release } = holdable(store.database.knex)
    const database = { ...store.database, knex }
    poseidon = createPoseidonLog({ ...store, database, field, hashMany, logger, bus, pollMs: 20 })
    await append(store.ledger, SHARD_LEAVES - 196)
    await eventually('the leaves before', async () => (await storedLeaves()) === SHARD_LEAVES - 196)
    hold()
    // Once more as many would make the shard full.
    await append(store.ledger, 150)
    await eventually('entries that are read', isHolding)
    const other = createPoseidonLog({ ...store, field, hashMany, logger, bus, pollMs: 20 })
    try {
      await store.database.knex('ledger_followers').update({ held_until: 0 })
      await eventually('leaves of the other one', async () => (await storedLeaves()) === SHARD_LEAVES - 46)
      release()
      await poseidon.close()
      await other.shardPath(lastOf(await append(store.ledger, 100)))
    } finally {
      release()
      await other.close()
    }
    const logged = await loggedRoots(store.database)
    const leaves = reference.leaves(await texts()).slice(0, SHARD_LEAVES)
    expect(logged.map(({ shard, size, root }) => [shard, size, root])).to.deep.equal([
      [0, SHARD_LEAVES, hex(reference.root(leaves))],
    ])
  })

  it('hashes little by little, and once for all who ask, what came to a shard since it was asked for', async () => {
    await poseidon.close()
    const pairs: number[] = []
    const watched: typeof field = {
      ...field,
      poseidonPairs(tag, elements) {
        pairs.push(elements.length / 64)
        return field.poseidonPairs(tag, elements)
      },
    }
    poseidon = createPoseidonLog({ ...store, field: watched, hashMany, logger, bus, pollMs: 20 })
    await poseidon.shardPath(lastOf(await append(store.ledger, 5)))
    await append(store.ledger, 3_000)
    await eventually('their leaves', async () => (await storedLeaves()) === 3_005)
    pairs.length = 0
    const paths = await Promise.all([7, 0, 3_004].map((index) => poseidon.shardPath(index)))
    expect(Math.max(...pairs)).to.be.at.most(32)
    expect(pairs.reduce((sum, count) => sum + count)).to.be.below(6_000)
    const leaves = reference.leaves(await texts())
    for (const path of paths) {
      expect(path).to.include({ size: 3_005, root: reference.root(leaves) })
      const { leaf = 0n, position = 0, path: siblings = [] } = path ?? {}
      expect(reference.fold(leaf, position, siblings)).to.equal(path?.root)
    }
  })

  it('takes only canonical commitments', async () => {
    for (const commitment of [hex(FIELD_MODULUS), '1', hex(1n).toUpperCase().replace('1', 'A'), '']) {
      const entry = { type: 'attest', commitment, data: {} } as const
      const refused = append(store.ledger, 1, { entry }).catch((error: Error) => error.name)
      expect(await refused, commitment).to.equal('TypeError')
    }
  })
})
