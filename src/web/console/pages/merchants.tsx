/** Merchants: whom payments are for. @module */
import type { Merchant, MerchantCreated, MerchantList } from '../../../domain/accounts/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Field, Form, textIn } from '../parts/form.tsx'
import { LimitFields, LimitsText, limitsIn } from '../parts/limits.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Table } from '../parts/table.tsx'
import { State, Time } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_NAME_CHARACTERS = 100
const ROWS_PER_PAGE = 50

const CreateMerchant = ({ created }: { created(): Promise<void> }) => (
  <details class="box">
    <summary>Create a merchant</summary>
    <Form
      action="Create merchant"
      clears
      submit={async (values) => {
        const body = { name: textIn(values, 'name'), limits: limitsIn(values) }
        await ask<MerchantCreated>('POST', '/console/api/merchants', { body })
        await created()
      }}
    >
      <Field
        name="name"
        label="Name"
        hint="Such as a shop or a stall."
        required
        maxLength={MAX_NAME_CHARACTERS}
      />
      <LimitFields others="each terminal, or the defaults" />
    </Form>
  </details>
)

export const Merchants = ({ me }: PageProps) => {
  const reading = usePages<MerchantList, Merchant>(
    `/console/api/merchants?limit=${ROWS_PER_PAGE}`,
    ({ merchants }) => merchants,
  )
  return (
    <Main
      title="Merchants"
      lead="Payments are taken for a merchant. Terminals that name none take them for the default one."
    >
      {mayChange(me, 'merchant') && <CreateMerchant created={reading.again} />}
      <Loaded of={reading}>
        {(merchants) => (
          <Table
            caption="Merchants"
            rows={merchants}
            keyOf={({ merchantId }) => merchantId}
            empty={<p>There is no merchant yet.</p>}
            columns={[
              {
                title: 'Name',
                cell: ({ name, merchantId }) => (
                  <>
                    <strong>{name}</strong>
                    <br />
                    <code class="quiet">{merchantId}</code>
                  </>
                ),
              },
              { title: 'Limits', cell: ({ limits }) => <LimitsText limits={limits} /> },
              { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
              { title: 'Use', cell: (one) => one.default && <State tone="good">Default</State> },
            ]}
          />
        )}
      </Loaded>
      <More of={reading} />
    </Main>
  )
}
