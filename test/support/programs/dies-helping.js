/** The built threads, which end when they are to help with a proof, or when they have begun to. */
import { workerData } from 'node:worker_threads'

let asked = 0

// It hears of a task before the built program does.
workerData.port.on('message', ({ help }) => {
  if (help === undefined) return
  asked += 1
  // It holds a sum that nobody else will make then.
  Atomics.store(help.taken, 2, 1)
  process.exit(asked)
})
await import('../../../build/circuit-worker.js')
