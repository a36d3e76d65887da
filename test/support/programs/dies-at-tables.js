/** A thread that ends when it is to make a slice of tables. */
import { workerData } from 'node:worker_threads'

const { port, answered } = workerData

const answer = (message) => {
  port.postMessage(message)
  Atomics.add(answered, 0, 1)
}

port.on('message', (task) => {
  if ('warm' in task) answer({})
  else if (task.slice === undefined) answer({ value: { bytes: 64, slices: 2 } })
  else process.exit(1)
})
answer({})
