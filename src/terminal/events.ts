/** Subscriptions to what happens in a terminal. @module */
import type { TerminalEvents } from './types.ts'

type Listener = (detail: never) => void

export interface Events {
  on<E extends keyof TerminalEvents>(event: E, listener: (detail: TerminalEvents[E]) => void): () => void
  emit<E extends keyof TerminalEvents>(event: E, detail: TerminalEvents[E]): void
}

export const createEvents = (): Events => {
  const listeners = new Map<keyof TerminalEvents, Set<Listener>>()
  return {
    on: (event, listener) => {
      const subscribed = listeners.get(event) ?? new Set<Listener>()
      listeners.set(event, subscribed)
      subscribed.add(listener)
      return () => {
        subscribed.delete(listener)
      }
    },
    emit: (event, detail) => {
      for (const listener of listeners.get(event) ?? []) {
        try {
          ;(listener as (detail: unknown) => void)(detail)
        } catch (error) {
          // A listener's mistake is the application's to see, but must not undo a payment.
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
  }
}
