/** A client that asks one thing after the other and tells what became of each: over one connection, or a new one each time. */
import { connect, type Socket } from 'node:net'

const HEAD_END = '\r\n\r\n'

export interface Answers {
  answered: number
  /** Sent, and then the connection was reset. */
  reset: number
  /** Sent, and then the connection ended without an answer. */
  unanswered: number
}

interface Target {
  readonly port: number
  /** A whole request. */
  readonly request: string
  /** Whether the connection is used again. */
  readonly keepsConnection: boolean
  /** Called at the first answer, or when there will be none. */
  readonly onFirst?: () => void
}

type End = 'answered' | 'last' | 'reset' | 'unanswered' | 'refused'

/** Sends the request and waits for its answer. */
const ask = (socket: Socket, request: string): Promise<End> =>
  new Promise((resolve) => {
    let text = ''
    const finish = (end: End) => {
      socket.off('data', onData).off('end', onEnd).off('error', onError)
      resolve(end)
    }
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const head = text.indexOf(HEAD_END)
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1])
      if (text.length < head + HEAD_END.length + length) return
      finish(/connection: close/i.test(text.slice(0, head)) ? 'last' : 'answered')
    }
    const onEnd = () => finish('unanswered')
    const onError = () => finish('reset')
    socket.on('data', onData).on('end', onEnd).on('error', onError)
    socket.write(request)
  })

const open = (port: number): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })

/** Asks until the server accepts no more connections, or has reset one. */
export const askUntilRefused = async ({
  port,
  request,
  keepsConnection,
  onFirst,
}: Target): Promise<Answers> => {
  const answers: Answers = { answered: 0, reset: 0, unanswered: 0 }
  while (true) {
    const socket = await open(port)
    if (socket === undefined) {
      onFirst?.()
      return answers
    }
    let end: End
    do {
      end = await ask(socket, request)
      if (end === 'reset' || end === 'unanswered') answers[end]++
      else answers.answered++
      onFirst?.()
    } while (keepsConnection && end === 'answered')
    socket.on('error', () => undefined).end()
    if (end === 'reset') return answers
  }
}
