/**
 * One thread of the prover: the circuits' artifacts arrive once, in shared memory; what a circuit needs is prepared
 * at its first proof. A program of its own, build/prover-worker.js.
 * @module
 */
import { workerData } from 'piscina'
import type { CircuitId } from '../catalogue.ts'
import { createProofMaker } from './groth16.ts'
import type { ProverAnswer, ProverTask, ProverWorkerData } from './prover.ts'
import { WitnessError } from './witness.ts'

const { circuits, tableBytes } = workerData as ProverWorkerData
const makers = new Map<CircuitId, ReturnType<typeof createProofMaker>>()
/** What most verifications ask for. Preparing it also gets the code compiled well. */
const WARM: CircuitId = 'yesno'

const makerOf = (id: CircuitId): ReturnType<typeof createProofMaker> => {
  const maker = makers.get(id) ?? createProofMaker(circuits[id], tableBytes)
  makers.set(id, maker)
  // What failed once, for want of memory perhaps, is tried again by the next proof.
  maker.catch(() => makers.delete(id))
  return maker
}

// biome-ignore lint/style/noDefaultExport: the pool calls the default export
export default async (task: ProverTask): Promise<ProverAnswer | undefined> => {
  if (task === 'warm') {
    await makerOf(WARM)
    return undefined
  }
  const make = await makerOf(task.circuitId)
  try {
    return await make(task.input)
  } catch (error) {
    // The class of an error doesn't survive the way between threads.
    if (error instanceof WitnessError) return { noWitness: error.message }
    throw error
  }
}
