/** What an attack does to a server that runs as a process of its own: its memory, and how long others wait meanwhile. */
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'

const KIBIBYTE = 1024
const PROBE_PAUSE_MS = 5

/** Bytes of memory that a process holds; Linux. */
export const residentBytes = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * KIBIBYTE

/** A connection that asks, and never reads. */
export const unreadConnection = (url: string, request: string): Socket => {
  const { hostname, port } = new URL(url)
  return connect({ host: hostname, port: Number(port) }, function (this: Socket) {
    this.pause()
    this.write(request)
  }).on('error', () => undefined)
}

/** Milliseconds that one GET takes. */
const timeOf = (url: string, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    get(url, { agent }, (answer) => {
      answer.resume().on('end', () => resolve(performance.now() - startedAt))
    }).on('error', reject)
  })

/**
 * Asks /health/live again and again.
 * @returns how to stop, which gives the 99th percentile in milliseconds
 */
export const watchLiveness = (url: string): (() => Promise<{ p99: number; probes: number }>) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      times.push(await timeOf(`${url}/health/live`, agent))
      await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS))
    }
  })()
  return async () => {
    stopped = true
    await watching
    agent.destroy()
    times.sort((a, b) => a - b)
    return { p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN, probes: times.length }
  }
}
