/**
 * One thread of the prover: the circuits' artifacts arrive once, in shared memory; what a circuit needs is prepared
 * at its first proof. A program of its own, build/prover-worker.js.
 * @module
 */
import { workerData } from 'piscina'
import { createProofMaker, type Proved, prepareCurve } from './groth16.ts'
import type { ProverTask, ProverWorkerData } from './prover.ts'

const { circuits } = workerData as ProverWorkerData
const makers = new Map<string, ReturnType<typeof createProofMaker>>()

// biome-ignore lint/style/noDefaultExport: the pool calls the default export
export default async (task: ProverTask): Promise<Proved | undefined> => {
  if (task === 'warm') {
    await prepareCurve()
    return undefined
  }
  const { circuitId, input } = task
  const maker = makers.get(circuitId) ?? createProofMaker(circuits[circuitId])
  makers.set(circuitId, maker)
  // What failed once, for want of memory perhaps, is tried again by the next proof.
  maker.catch(() => makers.delete(circuitId))
  return (await maker)(input)
}
