/** Messages as they are shown, in the order of their ids, each of them once. @module */
import type { Message } from '../../domain/chat/schemas.ts'
import { make } from '../elements.ts'
import { type MessageActions, type ShownMessage, showMessage } from './message.ts'

export interface MessageList {
  readonly element: HTMLOListElement
  readonly size: number
  has(id: number): boolean
  /** Puts a message where it belongs, unless it is there or was removed. */
  add(message: Message): void
  countReply(id: number): void
  /** Shows that it was removed, and keeps it from coming back. */
  remove(id: number): void
  clear(): void
  /** Lets go what is at the end. @returns the id at the end then, undefined where nothing was let go */
  shorten(size: number): number | undefined
  item(id: number): HTMLElement | undefined
}

const idOf = (item: Element): number => Number((item as HTMLElement).dataset.message)

export const createMessageList = (newestFirst: boolean, actions: MessageActions): MessageList => {
  const element = make('ol', { class: 'messages' })
  const shown = new Map<number, ShownMessage>()
  const removed = new Set<number>()
  const comesAfter = (id: number, other: Element): boolean =>
    newestFirst ? idOf(other) < id : idOf(other) > id

  return {
    element,
    get size() {
      return shown.size
    },
    has: (id) => shown.has(id),
    add(message) {
      const { id } = message
      if (removed.has(id) || shown.has(id)) return
      const item = showMessage(message, actions)
      const { lastElementChild: last } = element
      // Pages continue the end of the list: that is looked at before the rest.
      const isEnd = last === null || !comesAfter(id, last)
      const next = isEnd ? undefined : [...element.children].find((other) => comesAfter(id, other))
      element.insertBefore(item.element, next ?? null)
      shown.set(id, item)
    },
    countReply: (id) => shown.get(id)?.countReply(),
    remove(id) {
      removed.add(id)
      shown.get(id)?.remove()
    },
    clear() {
      shown.clear()
      element.replaceChildren()
    },
    shorten(size) {
      const surplus = [...element.children].slice(size)
      for (const item of surplus) {
        shown.delete(idOf(item))
        item.remove()
      }
      return surplus.length > 0 && element.lastElementChild ? idOf(element.lastElementChild) : undefined
    },
    item: (id) => shown.get(id)?.element,
  }
}
