/** The states of a pod, and the ways between them. @module */
import { fail } from '../../errors.ts'
import type { PodStatus } from './schemas.ts'

/** Where an operator may take a pod. What is archived stays so. */
const NEXT: Readonly<Record<PodStatus, readonly PodStatus[]>> = {
  PENDING: ['ACTIVE', 'ARCHIVED'],
  ACTIVE: ['SUSPENDED', 'ARCHIVED'],
  SUSPENDED: ['ACTIVE', 'ARCHIVED'],
  ARCHIVED: [],
}

const REFUSALS = {
  PENDING: 'pod_pending',
  SUSPENDED: 'pod_suspended',
  ARCHIVED: 'pod_archived',
} as const

/** The column's own constraint allows no other text. */
export const statusOf = (row: { readonly status: string }): PodStatus => row.status as PodStatus

/**
 * Whether a pod may be changed so. The state that it already has is no step.
 * @param to absent: no step
 * @param names what the change sets
 * @throws AppError conflict for a step that there is not, and for any change of an archived pod
 */
export const requireStep = (from: PodStatus, to: PodStatus | undefined, names: readonly string[]): void => {
  if (from === 'ARCHIVED' && names.some((name) => name !== 'status'))
    fail('conflict', { message: "An ARCHIVED pod can't be changed." })
  if (to === undefined || from === to || NEXT[from].includes(to)) return
  fail('conflict', {
    message: NEXT[from].length
      ? `A pod in state ${from} can become ${NEXT[from].join(' or ')}.`
      : `A pod in state ${from} can't change its state.`,
  })
}

/** @throws AppError pod_pending, pod_suspended, pod_archived */
export const requireActive = (status: PodStatus): void => {
  if (status !== 'ACTIVE') fail(REFUSALS[status])
}
