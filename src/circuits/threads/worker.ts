/**
 * One thread that makes and verifies proofs, hashes and signs: the files of a circuit arrive with the tasks, in shared memory; what it needs is
 * prepared when it is first asked for. A program of its own, build/circuit-worker.js.
 * @module
 */
import { workerData } from 'node:worker_threads'
import { createField, type Field } from '../../core/field.ts'
import { type SignatureAsked, signMlDsa } from '../../keys/ml-dsa.ts'
import type { CircuitId } from '../catalogue.ts'
import { type CircuitProver, createCircuitProver, type Proved } from '../proving/groth16.ts'
import { ProofStopped } from '../proving/proving-core.ts'
import { isStopped } from '../proving/stop-sign.ts'
import { createTableMaker, type SharedTables, type TableMaker } from '../proving/tables.ts'
import { WitnessError } from '../proving/witness.ts'
import { createKeyVerifier, type KeyVerifier } from '../verifying/key-verifier.ts'
import { hashAsked } from './hashing.ts'
import { askHelpers, type HelpAsked, sendSum } from './helpers.ts'
import type { ThreadAnswer, ThreadData } from './threads.ts'
import type {
  CircuitGiven,
  ProvingTask,
  TablesAsked,
  WorkerAnswer,
  WorkerData,
  WorkerTask,
} from './worker-pool.ts'

const { port, answered, verificationKeys, tableBytes } = workerData as ThreadData & WorkerData
const provers = new Map<CircuitId, Promise<CircuitProver>>()
/** The numbers of the tables that were copied. */
const copied = new Map<CircuitId, number>()
/** What the slices of tables are made with. */
let making:
  | { readonly circuitId: CircuitId; readonly budgetBytes: number; readonly maker: TableMaker }
  | undefined
const verifiers = new Map<CircuitId, KeyVerifier>()
let field: Field | undefined

const proverOf = (
  { circuitId: id, files }: CircuitGiven,
  tables?: SharedTables[number],
): Promise<CircuitProver> => {
  const prover = provers.get(id) ?? createCircuitProver(files, tableBytes, tables?.tables)
  if (!provers.has(id) && tables !== undefined) copied.set(id, tables.number)
  provers.set(id, prover)
  // What failed once, for want of memory perhaps, is tried again by the next proof.
  prover.catch(() => provers.delete(id))
  return prover
}

/** Gives up copies of tables that there are no more. */
const dropTables = (shared: SharedTables): void => {
  for (const [id, number] of copied)
    if (!shared.some((one) => one.circuitId === id && one.number === number)) {
      copied.delete(id)
      provers.delete(id)
    }
}

const proverWith = async (given: CircuitGiven, shared: SharedTables): Promise<CircuitProver> => {
  const { circuitId: id } = given
  dropTables(shared)
  const tables = shared.find(({ circuitId }) => circuitId === id)
  const prover = await proverOf(given, tables)
  if (tables === undefined) return prover
  if (making?.circuitId === id) making = undefined
  if (!copied.has(id)) {
    copied.set(id, tables.number)
    prover.useTables(tables.tables)
  }
  return prover
}

const tableMakerOf = (
  { circuitId, budgetBytes }: TablesAsked,
  { zkey }: CircuitGiven['files'],
): TableMaker => {
  if (making?.circuitId !== circuitId || making.budgetBytes !== budgetBytes)
    making = { circuitId, budgetBytes, maker: createTableMaker(zkey, budgetBytes) }
  return making.maker
}

const verifierOf = (id: CircuitId): KeyVerifier => {
  const key = verificationKeys.get(id)
  if (key === undefined) throw new RangeError(`There is no circuit ${id}.`)
  const verifier = verifiers.get(id) ?? createKeyVerifier(key)
  verifiers.set(id, verifier)
  return verifier
}

/** Helps another thread with a proof. @throws RangeError where a key doesn't fit memory */
const help = async (asked: HelpAsked, files: CircuitGiven['files']): Promise<void> => {
  const { circuitId, tables, scalars, taken, port } = asked
  try {
    const prover = await proverWith({ circuitId, files }, tables)
    prover.help(scalars, taken, sendSum(port))
  } finally {
    scalars.fill(0)
    port.close()
  }
}

const prove = async ({ circuitId, files, input, tables, helpers, stop }: ProvingTask): Promise<Proved> => {
  const prover = await proverWith({ circuitId, files }, tables)
  const isGivenUp = () => isStopped(stop)
  if (isGivenUp()) throw new ProofStopped()
  if (helpers === 0) return prover.prove(input, isGivenUp)
  const asked = askHelpers(helpers, circuitId, tables)
  try {
    return await prover.proveHelped(input, asked, isGivenUp)
  } finally {
    asked.close()
  }
}

/** The key that came with it is not kept. */
const sign = (asked: SignatureAsked): Uint8Array => {
  try {
    return signMlDsa(asked)
  } finally {
    asked.secretKey.fill(0)
  }
}

const work = async (task: WorkerTask): Promise<WorkerAnswer> => {
  if ('warm' in task) {
    await proverOf(task.warm)
    verifierOf(task.warm.circuitId)
    return undefined
  }
  if ('hashes' in task) {
    field ??= createField()
    return hashAsked(field, task.hashes)
  }
  if ('signature' in task) return sign(task.signature)
  if ('proofs' in task) return verifierOf(task.circuitId).verifyMany(task.proofs)
  if ('asked' in task) {
    const maker = tableMakerOf(task.asked, task.files)
    if (task.slice === undefined) return { bytes: maker.bytes, slices: maker.slices }
    maker.fill(task.slice.number, task.slice.into)
    return undefined
  }
  if ('help' in task) {
    await help(task.help, task.files)
    return undefined
  }
  try {
    return await prove(task)
  } catch (error) {
    // The class of an error doesn't survive the way between threads.
    if (error instanceof WitnessError) return { noWitness: error.message }
    if (error instanceof ProofStopped) return { stopped: true }
    throw error
  }
}

const answer = (message: ThreadAnswer): void => {
  port.postMessage(message)
  Atomics.add(answered, 0, 1)
}

port.on('message', async (task: WorkerTask) => {
  try {
    answer({ value: await work(task) })
  } catch (error) {
    answer({ error })
  }
})
answer({})
