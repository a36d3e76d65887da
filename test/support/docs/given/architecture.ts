/** docs/architecture.md: its excerpt is compiled, not run. */
import type { Caller } from '../../../../src/caller.ts'
import type { ClaimKind } from '../../../../src/ledger/claim-kinds.ts'
import type { Decide, Held } from '../../../../src/ledger/decision.ts'
import type { Row } from '../../../../src/store/table.ts'

interface Decided {
  readonly status: 'accepted' | 'conflict'
}

export declare const ledger: { append<R>(caller: Caller, decide: Decide<R>): Promise<R> }
export declare const caller: Caller
export declare const TRANSACTION: ClaimKind
export declare const NULLIFIER: ClaimKind
export declare const transactionId: string
export declare const nullifier: string
export declare const paymentId: string
export declare const digest: string
export declare const payments: { row(columns: object): Row }
export declare const repeated: (first: Held) => Decided
