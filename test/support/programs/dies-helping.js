/** The built threads, which end when they are to help with a proof, or when they have begun to. */
import work from '../../../build/circuit-worker.js'

let asked = 0

// biome-ignore lint/style/noDefaultExport: the pool calls the default export
export default (task) => {
  if (!Object.hasOwn(task, 'help')) return work(task)
  asked += 1
  // It holds a sum that nobody else will make then.
  Atomics.store(task.help.claims, 2, 1)
  return process.exit(asked)
}
