/**
 * Thousands of streams read through raw sockets in a process of its own, which notes when the bytes that it was told to
 * look for reach each of them. Times are of the monotonic clock, which all processes of a machine share.
 * @module
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connections that are opened at a time. */
const OPENING = 100
const HEADERS_END = '\r\n\r\n'

interface Answer {
  readonly times?: number[]
}

type Order = { readonly open: { port: number; path: string; count: number } } | { readonly expect: string }

const open = (port: number, path: string, onData: (socket: Socket, chunk: Buffer) => void): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`)
    socket.on('data', (chunk: Buffer) => {
      if (chunk.includes(HEADERS_END)) resolve(socket)
      onData(socket, chunk)
    })
    socket.once('close', () => reject(new Error('the server closed a stream')))
  })

/** The child: opens what it is told to, and answers each expectation with the times at which it came true. */
const serve = (): void => {
  let marker = ''
  let times: number[] = []
  let waiting = new Set<Socket>()
  const sockets: Socket[] = []
  const onData = (socket: Socket, chunk: Buffer): void => {
    if (marker === '' || !waiting.has(socket) || !chunk.includes(marker)) return
    times.push(Number(process.hrtime.bigint()) / 1e6)
    waiting.delete(socket)
    if (waiting.size === 0) process.send?.({ times })
  }
  process.on('message', async (order: Order) => {
    if ('open' in order) {
      const { port, path, count } = order.open
      while (sockets.length < count) {
        const batch = Math.min(OPENING, count - sockets.length)
        sockets.push(...(await Promise.all(Array.from({ length: batch }, () => open(port, path, onData)))))
      }
      process.send?.({ opened: sockets.length })
    } else {
      marker = order.expect
      times = []
      waiting = new Set(sockets)
      process.send?.({ ready: true })
    }
  })
  process.on('disconnect', () => process.exit(0))
}

export interface Readers {
  /** Opens more streams, up to `count` in all. */
  open(count: number): Promise<void>
  /** Looks for text that has not been sent yet. @returns milliseconds of the monotonic clock, one for each reader */
  expect(text: string): Promise<() => Promise<number[]>>
  end(): Promise<void>
}

/** @param processes children over which the streams are spread */
export const createReaders = async (port: number, path: string, processes: number): Promise<Readers> => {
  const children = Array.from({ length: processes }, () =>
    fork(import.meta.filename, ['--readers'], { serialization: 'advanced' }),
  )
  /** The next answer of every child. */
  const next = (): Promise<Answer[]> =>
    Promise.all(
      children.map(
        (child) =>
          new Promise<Answer>((resolve, reject) => {
            const onExit = () => reject(new Error('a reading process ended'))
            child.once('exit', onExit)
            child.once('message', (answer: Answer) => {
              child.off('exit', onExit)
              resolve(answer)
            })
          }),
      ),
    )
  const order = (what: Order): Promise<Answer[]> => {
    const answers = next()
    for (const child of children) child.send(what)
    return answers
  }
  return {
    async open(count) {
      await order({ open: { port, path, count: count / processes } })
    },
    async expect(text) {
      await order({ expect: text })
      const times = next()
      return async () => (await times).flatMap((answer) => answer.times ?? [])
    },
    async end() {
      await Promise.all(
        children.map(async (child) => {
          const exited = once(child, 'exit')
          child.disconnect()
          await exited
        }),
      )
    },
  }
}

if (process.argv.includes('--readers')) serve()
