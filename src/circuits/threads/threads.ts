/**
 * Threads that run tasks, each one at a time. Their answers come as events, once in a turn of the event loop. On a busy server turns are
 * long, and a thread has nothing to do until its answer is taken; `hear` takes those that have come. Node only.
 * @module
 */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Transferable,
  Worker,
} from 'node:worker_threads'
import { AppError } from '../../errors.ts'

/** What a thread has in its `workerData`, besides what `data` says. */
export interface ThreadData {
  /** Brings the tasks. Takes an empty answer first, when the thread can take tasks, and then one for each, in their order. */
  readonly port: MessagePort
  /** One number: how many answers were sent so far. It is raised after each of them. */
  readonly answered: Int32Array
}

/** What the task came to, or what it threw. */
export interface ThreadAnswer {
  readonly value?: unknown
  readonly error?: unknown
}

export interface ThreadsOptions {
  /** How many threads there may be. */
  readonly most: number
  /** File of the program that they run. */
  readonly program: string
  /** What each of them has in its `workerData`. */
  readonly data: object
  /** Most memory of each for what is soon garbage. */
  readonly youngGenerationMib: number
  /** Hears of what a thread sends to its parent. */
  readonly onMessage: (message: unknown) => void
  /** Hears why a thread ended, or could not start. */
  readonly onFailure: (error: unknown) => void
}

export interface Threads {
  /**
   * Starts a thread where none is free and there may be more; waits for one otherwise.
   * @returns what the thread answers
   * @throws AppError unavailable when no thread could start, where the thread ended, and after close; else what it threw
   */
  run(task: unknown, transfer?: readonly Transferable[]): Promise<unknown>
  /** Takes the answers that have come. Never throws, and costs next to nothing where none have. */
  hear(): void
  /** Ends all threads, and what they do. */
  close(): Promise<void>
}

interface Task {
  readonly task: unknown
  readonly transfer: readonly Transferable[]
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface Thread extends ThreadData {
  readonly worker: Worker
  heard: number
  isReady: boolean
  task?: Task | undefined
}

/** Makes threads, none of which is started yet. Close them. */
export const createThreads = ({
  most,
  program,
  data,
  youngGenerationMib,
  onMessage,
  onFailure,
}: ThreadsOptions): Threads => {
  const threads = new Set<Thread>()
  const waiting: Task[] = []
  let isClosed = false

  /** The process lives on for threads that have a task or start, and for no others. @returns false for what can't be sent */
  const give = ({ port }: Thread, { task, transfer, reject }: Task): boolean => {
    try {
      port.postMessage(task, transfer)
    } catch (error) {
      reject(error)
      return false
    }
    port.ref()
    return true
  }
  const assign = (): void => {
    for (const thread of threads) {
      while (thread.isReady && thread.task === undefined) {
        const task = waiting.shift()
        if (task === undefined) return
        if (give(thread, task)) thread.task = task
      }
    }
    const starting = [...threads].filter(({ isReady }) => !isReady).length
    for (let more = waiting.length - starting; more > 0 && threads.size < most; more--) if (!start()) return
  }
  const take = (thread: Thread, answer: ThreadAnswer): void => {
    const { task, isReady } = thread
    thread.heard = (thread.heard + 1) | 0
    thread.isReady = true
    thread.task = undefined
    thread.port.unref()
    if (isReady && 'error' in answer) task?.reject(answer.error)
    else if (isReady) task?.resolve(answer.value)
    assign()
  }
  /** What waits is for the threads that live. Another one would not start now either. */
  const failToStart = (error: unknown): void => {
    onFailure(error)
    if (threads.size > 0) return
    for (const { reject } of waiting.splice(0)) reject(new AppError('unavailable', { cause: error }))
  }
  const lose = (thread: Thread, error: unknown): void => {
    if (!threads.delete(thread)) return
    thread.port.close()
    if (!thread.isReady) {
      failToStart(error)
      return
    }
    onFailure(error)
    thread.task?.reject(new AppError('unavailable', { cause: error }))
    assign()
  }
  /** @returns whether there may be one soon */
  const start = (): boolean => {
    const { port1: port, port2 } = new MessageChannel()
    const answered = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const given: ThreadData = { port: port2, answered }
    let worker: Worker
    try {
      worker = new Worker(program, {
        workerData: { ...data, ...given },
        transferList: [port2],
        // A plain bundle: it needs none of the loaders that this process may run with.
        execArgv: [],
        resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMib },
      })
    } catch (error) {
      // The system has no thread for it.
      port.close()
      failToStart(error)
      return false
    }
    const thread: Thread = { worker, port, answered, heard: 0, isReady: false }
    threads.add(thread)
    port.on('message', (answer: ThreadAnswer) => take(thread, answer))
    // A thread that dies closes its port before it says why.
    port.on('close', () => worker.ref())
    worker.on('message', onMessage)
    worker.on('error', (error) => lose(thread, error))
    worker.on('exit', (code) => lose(thread, new Error(`A thread ended with ${code}.`)))
    worker.unref()
    return true
  }

  return {
    run: (task, transfer = []) =>
      new Promise((resolve, reject) => {
        if (isClosed) reject(new AppError('unavailable'))
        else waiting.push({ task, transfer, resolve, reject })
        assign()
      }),
    hear() {
      for (const thread of threads)
        while (Atomics.load(thread.answered, 0) !== thread.heard) {
          const heard = receiveMessageOnPort(thread.port)
          if (heard === undefined) break
          take(thread, heard.message as ThreadAnswer)
        }
    },
    async close() {
      isClosed = true
      const all = [...threads]
      threads.clear()
      const ended = [...all.flatMap(({ task }) => task ?? []), ...waiting.splice(0)]
      for (const { reject } of ended) reject(new AppError('unavailable'))
      for (const { port } of all) port.close()
      await Promise.all(all.map(({ worker }) => worker.terminate()))
    },
  }
}
