/** Threads that make no proof: the one of simple_yesno waits for its helper, who waits until told that others wait for the thread. */
import { MessageChannel, parentPort, workerData } from 'node:worker_threads'

const { port, answered } = workerData
/** As in src/circuits/proving/taken-sums.ts. */
const [WORDS, ENDED] = [5, 4]
const LOOK_MS = 5
const GIVE_UP_MS = 10_000

const answer = (message) => {
  port.postMessage(message)
  Atomics.add(answered, 0, 1)
}
const proved = (signal) => answer({ value: { proof: {}, publicSignals: [signal] } })

const help = ({ taken, port: asker }) => {
  const begunAt = performance.now()
  const looking = setInterval(() => {
    const isTold = Atomics.load(taken, ENDED) === 1
    if (!isTold && performance.now() - begunAt < GIVE_UP_MS) return
    clearInterval(looking)
    asker.postMessage(isTold ? 'told' : 'not told')
    answer({})
  }, LOOK_MS)
}

const askForHelp = (circuitId, tables) => {
  const { port1, port2 } = new MessageChannel()
  const taken = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT))
  const scalars = new Uint8Array(8)
  port1.on('message', (signal) => {
    port1.close()
    proved(signal)
  })
  parentPort.postMessage({ circuitId, tables, scalars, taken, port: port2 }, [scalars.buffer, port2])
}

port.on('message', (task) => {
  if (task.help !== undefined) help(task.help)
  else if (task.circuitId === 'simple_yesno' && task.helpers > 0) askForHelp(task.circuitId, task.tables)
  else proved('alone')
})
answer({})
