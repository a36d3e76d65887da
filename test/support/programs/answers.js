/** A thread that counts its tasks in shared memory as it gets them, and does what they say. */
import { workerData } from 'node:worker_threads'

const { port, answered, begun } = workerData

const answer = (message) => {
  port.postMessage(message)
  Atomics.add(answered, 0, 1)
}

port.on('message', ({ echo, fails, ends, endsLater }) => {
  Atomics.add(begun, 0, 1)
  if (ends !== undefined) process.exit(ends)
  if (endsLater !== undefined) setTimeout(() => process.exit(endsLater), 10)
  answer(fails === undefined ? { value: echo } : { error: new Error(fails) })
})
answer({})
