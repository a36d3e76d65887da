/** All payments as a list: newest first, by state, terminal or merchant. @module */
import type { Knex } from 'knex'

const PAYMENT_LISTS = [
  'ALTER TABLE payments ADD COLUMN accepted_at bigint',
  // A late payment that an operator accepted says so itself, so that no list has to look it up.
  `UPDATE payments SET status = 'accepted', accepted_at = acceptance.accepted_at
    FROM payment_acceptances AS acceptance WHERE acceptance.payment = payments.id`,
  'DROP INDEX payments_to_attend',
  'CREATE INDEX payments_listed ON payments (organisation, received_at, id)',
  'CREATE INDEX payments_by_status ON payments (organisation, status, received_at, id)',
  'CREATE INDEX payments_by_origin ON payments (organisation, origin, received_at, id)',
  'CREATE INDEX payments_by_merchant ON payments (organisation, merchant, received_at, id)',
]

export const paymentListsMigration = {
  name: '0010-payment-lists',
  async up(knex: Knex): Promise<void> {
    for (const statement of PAYMENT_LISTS) await knex.raw(statement)
  },
}
